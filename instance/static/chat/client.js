// The official client: one connection, which makes all calls and gets all events.
const { root } = document.documentElement.dataset

// Applications at other paths of this address have tokens of their own.
export const storageKey = `feathers-jwt${root}`

export const address = path => `${location.origin}${root}/${path}`

// With several workers, polling requests would reach different ones. A server without
// WebSockets has one worker, and the page polls.
export const socket = window.io({
  path: `${root}/socket.io`,
  transports: ['websocket', 'polling'],
  tryAllTransports: true
})

const connection = window.feathers.socketio(socket)

export const client = window.feathers()
client.configure(connection)
client.configure(window.feathers.authentication({
  storage: window.localStorage,
  storageKey,
  // Only login.js reads the fragment of the address. This pattern matches nothing.
  locationKey: '(?!)',
  locationErrorKey: '(?!)'
}))
