// The messages of the current room. An event changes one line; scrolling up loads older ones.
import { client } from './client.js'
import { attempt, clone, find, say, time } from './dom.js'
import { ask } from './question.js'
import { currentRoom } from './rooms.js'
import { session } from './session.js'
import { known, nameOf, remember, showImage, showName } from './users.js'

const PAGE = 30
const LONGEST_PAGE = 50
// Beyond this, the oldest lines leave the page. Scrolling up loads them again.
const MOST_LINES = 300
const SAME_TURN = 5 * 60_000

const service = client.service('messages')
const pane = find('#messages')
const list = find('ol', pane)
const older = find('#older')
const toEnd = find('#to-end')
const empty = find('#no-messages')
const live = find('#live')
const alert = find('#room [role=alert]')
const lines = new Map()

let search = ''
let loading = Promise.resolve()
let generation = 0

export const searched = () => search

// Shows the newest messages of a room, or those that contain a text.
export function showMessages (text = '') {
  search = text
  generation += 1
  lines.clear()
  list.replaceChildren()
  empty.hidden = true
  older.hidden = true
  toEnd.hidden = true
  loading = loadPage(generation)
  return loading
}

const inRoom = extra => ({
  roomId: currentRoom().id, ...(search && { text: { $search: search } }), ...extra
})

const findPage = extra => service.find({
  query: inRoom({ ...extra, $sort: { id: -1 }, $limit: PAGE, $populate: 'user' })
})

async function loadPage (mine) {
  const page = await findPage()
  // Another room may have been opened in the meantime.
  if (mine !== generation) return
  show(page)
  scrollToEnd()
}

function show (page) {
  page.data.forEach(message => remember(message.user))
  page.data.forEach(put)
  older.hidden = page.total <= page.data.length
  empty.textContent = search ? 'No message contains this.' : 'No messages yet.'
  empty.hidden = lines.size > 0
}

function loadOlder () {
  const first = list.firstElementChild
  if (older.hidden || !first) return

  return attempt(older, alert, async () => {
    const mine = generation
    const page = await findPage({ id: { $lt: Number(first.dataset.id) } })
    if (mine !== generation) return
    // The lines that are visible stay where they are.
    const below = pane.scrollHeight - pane.scrollTop
    show(page)
    pane.scrollTop = pane.scrollHeight - below
  })
}

// Loads what came, changed or went while there was no connection.
export function catchUp () {
  const room = currentRoom()
  if (!room) return
  const mine = generation
  loading = reload(mine)
  return loading
}

async function reload (mine) {
  const first = Number(list.firstElementChild?.dataset.id ?? 0)
  const wasAtEnd = isAtEnd()
  const found = new Set()
  let page
  let below

  do {
    const id = { $gte: first, ...(below && { $lt: below }) }
    const query = inRoom({ id, $sort: { id: -1 }, $limit: LONGEST_PAGE, $populate: 'user' })
    page = await service.find({ query })
    if (mine !== generation) return
    if (page.total > MOST_LINES) return showMessages(search)

    for (const message of page.data) {
      remember(message.user)
      put(message)
      found.add(message.id)
      below = message.id
    }
  } while (page.total > page.data.length)

  for (const id of [...lines.keys()]) if (!found.has(id)) drop({ id })
  if (wasAtEnd) scrollToEnd()
}

// Adds a message in its place, or replaces its line.
function put (message) {
  const old = lines.get(message.id)
  const line = old ?? clone('message')
  if (!old) make(line, message)
  fill(line, message)
  if (!old) insert(line, message.id)
  group(line)
  group(line.nextElementSibling)
}

function insert (line, id) {
  let next = null
  let before = list.lastElementChild
  // Most messages are the newest or the oldest.
  if (list.firstElementChild && Number(list.firstElementChild.dataset.id) > id) {
    next = list.firstElementChild
  } else {
    while (before && Number(before.dataset.id) > id) [next, before] = [before, before.previousElementSibling]
  }
  list.insertBefore(line, next)
  lines.set(id, line)
}

function make (line, message) {
  line.dataset.id = message.id
  line.dataset.userId = message.userId
  line.dataset.at = message.createdAt
  const at = new Date(message.createdAt)
  const place = find('time', line)
  place.dateTime = message.createdAt
  place.textContent = time(at)
  place.title = at.toLocaleString()
  showName(find('.author', line), message.userId)
  showImage(find('img', line), message.userId)
  find('.actions', line).hidden = message.userId !== session.user.id
}

function fill (line, message) {
  find('.text', line).textContent = message.text
  line.dataset.text = message.text
}

// Messages that follow each other have one author and one day above them.
function group (line) {
  if (!line) return
  const previous = line.previousElementSibling
  const at = new Date(line.dataset.at)
  const before = previous && new Date(previous.dataset.at)
  const isNewDay = before?.toDateString() !== at.toDateString()
  const isTurn = isNewDay || previous.dataset.userId !== line.dataset.userId || at - before > SAME_TURN
  line.classList.toggle('follows', !isTurn)
  if (isNewDay) line.dataset.day = at.toLocaleDateString(undefined, { dateStyle: 'full' })
  else delete line.dataset.day
}

function drop ({ id }) {
  const line = lines.get(id)
  if (!line) return
  const next = line.nextElementSibling
  if (line.contains(document.activeElement)) find('#text').focus()
  line.remove()
  lines.delete(id)
  empty.hidden = lines.size > 0
  group(next)
}

const isAtEnd = () => pane.scrollHeight - pane.scrollTop - pane.clientHeight < 60

export function scrollToEnd () {
  pane.scrollTop = pane.scrollHeight
  toEnd.hidden = true
}

function append (message) {
  if (message.roomId !== currentRoom()?.id || search) return
  const wasAtEnd = isAtEnd()
  put(message)
  empty.hidden = true
  if (wasAtEnd || message.userId === session.user?.id) scrollToEnd()
  else toEnd.hidden = false
  if (wasAtEnd) shorten()
  if (message.userId !== session.user?.id) announce(message)
}

function shorten () {
  while (lines.size > MOST_LINES) {
    drop({ id: Number(list.firstElementChild.dataset.id) })
    older.hidden = false
  }
}

// Screen readers get one sentence for all messages of a second.
let heard = []

function announce (message) {
  if (heard.length === 0) setTimeout(tell, 1000)
  heard.push(message)
}

function tell () {
  const [{ text, userId }] = heard
  live.textContent = heard.length === 1
    ? `${nameOf(known(userId))}: ${text}`
    : `${heard.length} new messages`
  heard = []
}

// What is sent at the same time as a page is loaded, is shown after it.
const afterLoading = action => record => {
  const mine = generation
  loading.catch(() => {}).then(() => { if (mine === generation) action(record) })
}

const change = message => {
  if (message.roomId !== currentRoom()?.id) drop(message)
  else if (lines.has(message.id)) put(message)
}

service.on('created', afterLoading(append))
service.on('updated', afterLoading(change))
service.on('patched', afterLoading(change))
service.on('removed', afterLoading(drop))

export async function send (text) {
  const message = await service.create({ text, roomId: currentRoom().id })
  append(message)
  scrollToEnd()
}

function edit (line) {
  const id = Number(line.dataset.id)
  const form = clone('edit')
  const field = find('textarea', form)
  const stop = () => {
    form.remove()
    line.classList.remove('editing')
    find('.edit', line).focus()
  }
  field.value = line.dataset.text
  line.classList.add('editing')
  line.append(form)
  field.focus()
  find('[type=button]', form).addEventListener('click', stop)
  field.addEventListener('keydown', event => {
    if (event.key === 'Escape') stop()
    if (event.key === 'Enter' && !event.shiftKey && !event.isComposing) {
      event.preventDefault()
      form.requestSubmit()
    }
  })
  form.addEventListener('submit', event => {
    event.preventDefault()
    attempt(form, find('[role=alert]', form), async () => {
      put(await service.patch(id, { text: field.value }))
      stop()
    })
  })
}

async function remove (line) {
  if (!await ask('Remove this message?', 'Remove')) return
  attempt(line, alert, async () => drop(await service.remove(Number(line.dataset.id))))
}

list.addEventListener('click', event => {
  const line = event.target.closest('li')
  if (event.target.closest('.edit') && !find('form', line)) edit(line)
  if (event.target.closest('.remove')) remove(line)
})

older.addEventListener('click', loadOlder)
new window.IntersectionObserver(([entry]) => { if (entry.isIntersecting) loadOlder() }, {
  root: pane, rootMargin: '200px 0px 0px'
}).observe(older)

pane.addEventListener('scroll', () => { if (isAtEnd()) toEnd.hidden = true })
toEnd.addEventListener('click', scrollToEnd)

export function forgetMessages () {
  generation += 1
  lines.clear()
  list.replaceChildren()
  say(alert)
}
