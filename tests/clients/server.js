// Starts the example application on a free port with an empty database, and stops it.
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

const PYTHON = process.env.PYTHON || 'python3'

export async function freePort () {
  const listener = createServer().listen(0, '127.0.0.1')
  await once(listener, 'listening')
  const { port } = listener.address()
  listener.close()
  return port
}

// A connection that the server closes while a client writes a request is an error of
// that client, so that idle ones are kept for longer than the tests run.
export const KEPT = ['--keep-alive', '600']

export const gunicorn = port =>
  ['gunicorn', '-c', 'instance/gunicorn.conf.py', '--bind', `127.0.0.1:${port}`, ...KEPT]
const granian = port =>
  ['granian', '--interface', 'asgi', '--port', port, '--workers-kill-timeout', '1s', 'wsgi:asgi']
export const uvicorn = (port, app = 'wsgi:asgi') =>
  ['uvicorn', '--port', port, '--log-level', 'warning', '--ws', 'wsproto', app]

// The server of the tests may be named by the environment.
const SERVERS = { gunicorn, granian, uvicorn }

export async function start (settings = {}, command = SERVERS[process.env.SERVER ?? 'gunicorn']) {
  const folder = await mkdtemp(join(tmpdir(), 'records-'))
  const database = await newDatabase(folder)
  const port = await freePort()
  const base = `http://127.0.0.1:${port}`
  const env = {
    ...process.env,
    DATABASE_URL: database.url,
    SECRET_KEY: randomBytes(32).toString('hex'),
    FLASK_RATELIMIT_ENABLED: 'false',
    ...settings
  }
  let log = ''
  let server

  const run = async () => {
    const options = { cwd: ROOT, env, stdio: ['ignore', 'ignore', 'pipe'] }
    server = spawn(PYTHON, ['-m', ...command(port)], options)
    server.stderr.setEncoding('utf8').on('data', text => {
      log += text
      process.stderr.write(text)
    })
    await answers(`${base}/rooms`, server)
  }

  const end = async () => {
    server.kill()
    await once(server, 'exit')
  }

  await run()

  return {
    base,
    // Returns what the server has logged.
    log: () => log,
    async restart () {
      await end()
      await run()
    },
    async stop () {
      await end()
      await database.drop()
      await rm(folder, { recursive: true })
    }
  }
}

// An empty database: a file in a folder, or one on the server that the environment names.
async function newDatabase (folder) {
  const { TEST_DATABASE_URL: url } = process.env
  if (!url) return { url: `sqlite:///${join(folder, 'test.db')}`, drop: async () => {} }
  const owner = spawn(PYTHON, ['-m', 'tests.servers.database', url], { cwd: ROOT, stdio: ['pipe', 'pipe', 'inherit'] })
  const [line] = await once(owner.stdout.setEncoding('utf8'), 'data')
  return {
    url: line.trim(),
    async drop () {
      owner.stdin.end()
      await once(owner, 'exit')
    }
  }
}

// Returns the first group of the last of as many matches as a server logs, or will.
export async function logged (server, pattern, number = 1) {
  for (let tries = 0; tries < 100; tries++) {
    const matches = [...server.log().matchAll(new RegExp(pattern, 'g'))]
    if (matches.length >= number) return matches.at(-1)[1]
    await delay(50)
  }

  throw new Error(`The server has not logged ${pattern}.`)
}

// An OpenID Connect provider, whose users log in with a button.
export async function startProvider (...users) {
  const port = await freePort()
  const provider = spawn(
    process.env.PYTHON || 'python3',
    [
      '-m', 'oidc_provider_mock', '--port', port,
      ...users.flatMap(claims => ['--user-claims', JSON.stringify(claims)])
    ],
    { stdio: 'ignore' }
  )
  const url = `http://127.0.0.1:${port}/.well-known/openid-configuration`
  await answers(url, provider)

  return {
    url,
    // The settings of the example that make it the provider of "Log in with Google".
    settings: {
      FLASK_RECORDS_AUTHENTICATION__oauth__google__key: 'example',
      FLASK_RECORDS_AUTHENTICATION__oauth__google__secret: 'example-secret',
      FLASK_RECORDS_AUTHENTICATION__oauth__google__discovery_url: url
    },
    async stop () {
      provider.kill()
      await once(provider, 'exit')
    }
  }
}

export async function answers (url, server) {
  for (let tries = 0; tries < 300; tries++) {
    if (server.exitCode !== null) throw new Error('The server has stopped.')

    try {
      await fetch(url)
      return
    } catch {
      await delay(100)
    }
  }

  throw new Error('The server does not answer.')
}
