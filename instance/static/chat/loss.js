// Errors in place of calls that get no answer: too large ones, and those under way when
// the connection is lost. This hook is next to the connection, so this module comes last.
import { client, socket } from './client.js'

// What surrounds the data in a message.
const ENVELOPE = 1000

let limit = Infinity

let loss = nextLoss()

function nextLoss () {
  let reject
  const promise = new Promise((resolve, refuse) => { reject = refuse })
  promise.catch(() => {})
  return { promise, reject }
}

socket.on('disconnect', () => {
  const { reject } = loss
  loss = nextLoss()
  const words = 'The connection was lost before the answer came. See whether it is there.'
  reject(Object.assign(new Error(words), { code: null }))
})

client.hooks([async (context, next) => {
  checkSize(context.data)
  await Promise.race([next(), loss.promise])
}])

// The server says in its first packet what it takes.
function readLimit () {
  socket.io.engine.once('handshake', ({ maxPayload }) => { limit = maxPayload - ENVELOPE })
}

readLimit()
socket.io.on('reconnect_attempt', () => setTimeout(readLimit))

// The server would close the connection instead of answering.
function checkSize (data) {
  const size = new Blob([JSON.stringify(data ?? null)]).size
  if (size > limit) throw new Error(`This is too large: ${size} bytes, where ${limit} are allowed.`)
}
