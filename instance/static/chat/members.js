// The members of the current room. Its owner adds and removes them; others can leave.
import { client } from './client.js'
import { attempt, clone, find, onSubmit, say } from './dom.js'
import { ask } from './question.js'
import { close, currentRoom, onClose } from './rooms.js'
import { session } from './session.js'
import { remember, showImage, showName } from './users.js'

const PAGE = 50

const dialog = find('#members')
const list = find('ul', dialog)
const form = find('form', dialog)
const alert = find('[role=alert]', dialog)
const more = find('#more-members')
const service = client.service('members')
const members = new Map()

const isOwner = () => currentRoom()?.userId === session.user?.id

export async function showMembers () {
  const room = currentRoom()
  members.clear()
  say(alert)
  find('.room-name', dialog).textContent = room.name
  find('.explanation', dialog).textContent = room.private
    ? 'Only members see this room.'
    : 'Everyone who is logged in sees this room.'
  form.hidden = find('#remove-room').hidden = !isOwner()
  show()
  if (!dialog.open) dialog.showModal()
  await attempt(more, alert, loadMore)
}

async function loadMore () {
  const room = currentRoom()
  const query = { roomId: room.id, $sort: { id: 1 }, $limit: PAGE, $skip: members.size, $populate: 'user' }
  const page = await service.find({ query })
  if (room.id !== currentRoom()?.id) return

  for (const member of page.data) {
    remember(member.user)
    members.set(member.id, member)
  }

  more.hidden = members.size >= page.total
  show()
}

function show () {
  list.replaceChildren(...[...members.values()].map(item))
  find('#no-members').hidden = members.size > 0
}

function item (member) {
  const line = clone('member')
  const button = find('button', line)
  const isMe = member.userId === session.user.id
  const isRoomOwner = member.userId === currentRoom().userId
  showName(find('.name', line), member.userId)
  showImage(find('img', line), member.userId)
  find('.owner', line).hidden = !isRoomOwner
  button.hidden = isRoomOwner || !(isOwner() || isMe)
  find('.verb', button).textContent = isMe ? 'Leave' : 'Remove'
  showName(find('.whom', button), member.userId)
  button.addEventListener('click', () => remove(button, member, isMe))
  return line
}

async function remove (button, member, isMe) {
  if (isMe && currentRoom().private && !await ask('Leave this room? Only its owner can add you again.', 'Leave')) return
  await attempt(button, alert, async () => {
    await service.remove(member.id)
    drop(member)
    if (dialog.open) find('h2', dialog).focus()
  })
}

function drop (member) {
  members.delete(member.id)
  if (dialog.open && currentRoom()) show()
}

onSubmit(form, alert, async ({ person }) => {
  const text = person.trim()
  const query = { $or: [{ email: text.normalize('NFKC').toLowerCase() }, { name: text }], $limit: 2 }
  const page = await client.service('users').find({ query })
  if (page.total === 0) throw new Error('There is no user with this email or name.')
  if (page.total > 1) throw new Error('Several users have this name. Type the email instead.')
  remember(page.data[0])
  const member = await service.create({ roomId: currentRoom().id, userId: page.data[0].id })
  members.set(member.id, member)
  form.reset()
  show()
})

more.addEventListener('click', () => attempt(more, alert, loadMore))
find('#show-members').addEventListener('click', showMembers)

find('#remove-room').addEventListener('click', async event => {
  const room = currentRoom()
  if (!await ask(`Remove “${room.name}” with all of its messages?`, 'Remove')) return
  await attempt(event.target, alert, async () => {
    await client.service('rooms').remove(room.id)
    close(room.id)
  })
})

onClose(() => dialog.close())
service.on('created', member => {
  if (!dialog.open || member.roomId !== currentRoom()?.id) return
  members.set(member.id, member)
  show()
})
service.on('removed', drop)
