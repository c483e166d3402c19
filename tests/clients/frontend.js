// A front end on a server of its own, whose users come back from a provider.
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { once } from 'node:events'
import { MODULE } from './logins.js'

const read = path => readFile(new URL(`../../${path}`, import.meta.url), 'utf8')
const STATIC = 'flask_records/http/static'

const page = api => `<!doctype html>
<p role="status"></p>
<p role="alert"></p>
<a href="${api}/oauth/google">Log in with Google</a>
<script src="/socket.io.min.js"></script>
<script src="/feathers.min.js"></script>
<script type="module" src="/main.js"></script>`

const main = api => `
import { enter, startLogin } from './login.js'

const api = '${api}'
const client = feathers()
Object.assign(window, { api, client })
const usesSockets = localStorage.getItem('transport') === 'socket'
client.configure(usesSockets
  ? feathers.socketio(io(api, { transports: ['websocket'] }))
  : feathers.rest(api).fetch(window.fetch.bind(window)))
client.configure(feathers.authentication({ storage: window.localStorage }))
const link = document.querySelector('a')
link.addEventListener('click', event => {
  event.preventDefault()
  startLogin(\`\${link.href}?redirect=\${encodeURIComponent(location.origin + '/')}\`)
})
const show = (role, text) => { document.querySelector(\`[role=\${role}]\`).textContent = text }

enter(client).then(
  user => show('status', user ? \`Hello, \${user.name}\` : 'Nobody'),
  error => show('alert', error.message)
)`

// Returns the front end, whose scripts come from the package.
export async function startFrontEnd (port) {
  const files = {
    '/login.js': MODULE,
    '/feathers.min.js': await read(`${STATIC}/feathers.min.js`),
    '/socket.io.min.js': await read(`${STATIC}/socket.io.min.js`)
  }
  const requests = []
  const server = createServer((request, response) => {
    const [path] = request.url.split('?')
    requests.push(request.url)
    const script = path === '/main.js' ? main(frontEnd.api) : files[path]
    response.setHeader('Content-Type', script ? 'text/javascript' : 'text/html')
    response.end(script || page(frontEnd.api))
  }).listen(port, '127.0.0.1')
  await once(server, 'listening')

  const frontEnd = {
    // The address of the services, which a test sets.
    api: '',
    requests,
    async stop () {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    }
  }
  return frontEnd
}
