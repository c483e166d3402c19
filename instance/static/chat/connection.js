// The state of the connection, in words, and what to do once it is back.
import { socket } from './client.js'
import { find } from './dom.js'
import { renewed } from './session.js'

const place = find('#connection')
const restorers = []
let wasLost = false

export const onRestore = action => restorers.push(action)

const show = words => {
  place.textContent = words
  place.hidden = !words
}

socket.on('connect', async () => {
  show('')
  if (!wasLost) return
  wasLost = false
  await renewed()
  for (const action of restorers) await action()
})

socket.on('disconnect', reason => {
  wasLost = true
  show('The connection is lost. Reconnecting …')
  // The client tries again by itself, unless the server has closed the connection.
  if (reason === 'io server disconnect') setTimeout(() => socket.connect(), 1000)
})

socket.on('connect_error', error => {
  wasLost = true
  const reason = navigator.onLine ? error.message : 'You are offline.'
  show(`The server can’t be reached (${reason}). Trying again …`)
})

window.addEventListener('online', () => socket.connect())
