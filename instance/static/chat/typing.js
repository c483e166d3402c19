// Who is typing in the current room: a custom event, which is forgotten after some seconds.
import { client, socket } from './client.js'
import { find } from './dom.js'
import { currentRoom } from './rooms.js'
import { session } from './session.js'
import { showName } from './users.js'

const INTERVAL = 2000
const LIFETIME = 5000

const place = find('#typing')
const service = client.service('messages')
const typists = new Map()
let told = 0

// Tells the others, every two seconds at most. Nothing depends on it.
export function tellTyping (room) {
  if (Date.now() - told < INTERVAL || !socket.connected) return
  told = Date.now()
  service.typing({ roomId: room.id }).catch(() => {})
}

function show () {
  const names = [...typists.keys()].slice(0, 3).flatMap((id, index) => {
    const name = document.createElement('b')
    showName(name, id)
    return index === 0 ? [name] : [', ', name]
  })
  const rest = typists.size > 3 ? [' and others'] : []
  const verb = typists.size === 1 ? ' is typing …' : ' are typing …'
  place.replaceChildren(...(typists.size ? [...names, ...rest, verb] : []))
}

function forget (id) {
  clearTimeout(typists.get(id))
  if (typists.delete(id)) show()
}

export function forgetTypists () {
  told = 0
  for (const id of typists.keys()) forget(id)
}

service.on('typing', ({ roomId, userId }) => {
  if (roomId !== currentRoom()?.id || userId === session.user?.id) return
  clearTimeout(typists.get(userId))
  const isNew = !typists.has(userId)
  typists.set(userId, setTimeout(() => forget(userId), LIFETIME))
  if (isNew) show()
})

service.on('created', ({ userId }) => forget(userId))
