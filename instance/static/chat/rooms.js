// The list of rooms, with what is new in them.
import { client } from './client.js'
import { attempt, clone, find, onSubmit } from './dom.js'
import { ask } from './question.js'
import { session } from './session.js'

const PAGE = 50
const MOST_MISSED = 200

const list = find('#rooms ol')
const more = find('#more-rooms')
const dialog = find('#new-room')
const notice = find('#notice')
const removal = find('#remove-room')
const rooms = new Map()
const unread = new Map()
const openers = []
const closers = []
const renamers = []
let loaded = 0
let current = null
let newest = 0

export const onOpen = action => openers.push(action)
export const onClose = action => closers.push(action)
export const onRename = action => renamers.push(action)
export const currentRoom = () => current

const service = client.service('rooms')

export const loadRooms = () => load(0)

async function load (skip) {
  const query = { $sort: { name: 1, id: 1 }, $limit: PAGE, $skip: skip }
  const page = await service.find({ query })
  if (skip === 0) rooms.clear()
  loaded = skip + page.data.length
  more.hidden = loaded >= page.total
  for (const room of page.data) rooms.set(room.id, room)
  if (current && !rooms.has(current.id)) await fetchRoom(current.id).catch(closeIfGone)
  show()
}

function closeIfGone (error) {
  if (error.code !== 404) throw error
  close(current.id)
}

async function fetchRoom (id) {
  const room = await service.get(id)
  rooms.set(room.id, room)
  return room
}

export const firstRoom = () => sorted()[0]

const sorted = () => [...rooms.values()].sort((a, b) => a.name.localeCompare(b.name) || a.id - b.id)

function show () {
  const focused = document.activeElement?.closest?.('#rooms ol a')?.dataset.id
  list.replaceChildren(...sorted().map(item))
  find('#no-rooms').hidden = rooms.size > 0
  if (focused) find(`a[data-id="${focused}"]`, list)?.focus()
  showTitle()
}

function item (room) {
  const line = clone('room')
  const link = find('a', line)
  const count = unread.get(room.id) ?? 0
  link.href = `?room=${room.id}`
  link.dataset.id = room.id
  find('.name', line).textContent = room.name
  find('.unread', line).hidden = count === 0
  find('.unread b', line).textContent = count >= MOST_MISSED ? `${count}+` : count
  if (room.id === current?.id) link.ariaCurrent = 'page'
  return line
}

function showTitle () {
  const count = [...unread.values()].reduce((sum, number) => sum + number, 0)
  const parts = [count ? `(${count})` : '', current?.name ?? '', current ? '·' : '', 'Chat']
  document.title = parts.filter(Boolean).join(' ')
}

// Opens a room, whose address becomes that of the page.
export async function openRoom (id, { isHistory = false } = {}) {
  const room = rooms.get(id) ?? await fetchRoom(id)
  current = room
  removal.hidden = room.userId !== session.user?.id
  unread.delete(id)
  if (!isHistory) history.pushState(null, '', `?room=${id}`)
  show()
  for (const action of openers) await action(room)
}

// Shows no room, because the current one is gone, or nobody is logged in.
export function close (id) {
  rooms.delete(id)
  unread.delete(id)
  if (current?.id === id) {
    const { name } = current
    current = null
    for (const action of closers) action(name)
  }
  show()
}

export function forgetRooms () {
  rooms.clear()
  unread.clear()
  current = null
  newest = 0
  show()
}

function count (message) {
  newest = Math.max(newest, message.id)
  if (message.roomId === current?.id || !rooms.has(message.roomId)) return
  unread.set(message.roomId, (unread.get(message.roomId) ?? 0) + 1)
  updateBadge(message.roomId)
}

// A burst of messages changes one number.
function updateBadge (id) {
  const link = find(`a[data-id="${id}"]`, list)
  link?.closest('li').replaceWith(item(rooms.get(id)))
  showTitle()
}

// Remembers which message is the newest, so that missed ones can be counted.
export async function noteNewest () {
  const query = { $sort: { id: -1 }, $limit: 1, $select: ['roomId'] }
  const page = await client.service('messages').find({ query })
  newest = page.data[0]?.id ?? 0
}

// Counts the messages of other rooms that came while there was no connection.
export async function countMissed () {
  for (let missed = 0; missed < MOST_MISSED;) {
    const query = { id: { $gt: newest }, $sort: { id: 1 }, $limit: PAGE, $select: ['roomId'] }
    const page = await client.service('messages').find({ query })
    page.data.forEach(count)
    missed += page.data.length
    if (page.total <= page.data.length) return
  }
}

const put = room => {
  rooms.set(room.id, room)
  if (current?.id === room.id) {
    current = room
    for (const action of renamers) action(room)
  }
  show()
}

for (const event of ['created', 'updated', 'patched']) service.on(event, put)
service.on('removed', room => close(room.id))
client.service('messages').on('created', count)
list.addEventListener('click', event => {
  const link = event.target.closest('a')
  const isNewTab = event.ctrlKey || event.metaKey || event.shiftKey
  if (!link || isNewTab) return
  event.preventDefault()
  attempt(link, notice, () => openRoom(Number(link.dataset.id)))
})

more.addEventListener('click', () => attempt(more, notice, () => load(loaded)))
find('#create-room').addEventListener('click', () => dialog.showModal())

removal.addEventListener('click', async () => {
  const room = current
  if (!await ask(`Remove “${room.name}” with all of its messages?`, 'Remove')) return
  await attempt(removal, notice, async () => {
    await service.remove(room.id)
    close(room.id)
  })
})

onSubmit(find('form', dialog), find('[role=alert]', dialog), async ({ name }) => {
  if (!name.trim()) throw new Error('A room needs a name.')
  const room = await service.create({ name: name.trim() })
  find('form', dialog).reset()
  dialog.close()
  rooms.set(room.id, room)
  await openRoom(room.id)
})
