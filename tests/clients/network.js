// A network between a client and a server, which can be cut, or refuse WebSockets, or be slower
// with what they bring, by some milliseconds.
import { once } from 'node:events'
import { connect, createServer } from 'node:net'

export async function startNetwork (base, { refusesWebSockets = false, delay = 0 } = {}) {
  const target = new URL(base)
  const sockets = new Set()
  let isCut = false
  let isPaused = false

  const network = createServer(client => {
    if (isCut) return client.destroy()
    sockets.add(client)
    client.on('close', () => sockets.delete(client)).on('error', () => {})
    client.once('data', start => {
      const isWebSocket = /^upgrade: *websocket/im.test(start)
      if (refusesWebSockets && isWebSocket) {
        return client.end('HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n')
      }
      const server = connect(Number(target.port), target.hostname)
      server.on('error', () => client.destroy())
      server.write(start)
      client.on('data', data => { if (!isPaused) server.write(data) })
      client.on('end', () => server.end())
      if (isWebSocket && delay) server.on('data', data => setTimeout(() => client.write(data), delay))
      else server.pipe(client)
      client.on('close', () => server.destroy())
    })
  }).listen(0, '127.0.0.1')

  await once(network, 'listening')

  return {
    base: `http://127.0.0.1:${network.address().port}`,
    cut () {
      isCut = true
      for (const socket of sockets) socket.destroy()
    },
    mend () {
      isCut = isPaused = false
    },
    // What the browser sends is lost on the way.
    pause () {
      isPaused = true
    },
    stop () {
      this.cut()
      network.close()
    }
  }
}
