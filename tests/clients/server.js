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

export async function freePort () {
  const listener = createServer().listen(0, '127.0.0.1')
  await once(listener, 'listening')
  const { port } = listener.address()
  listener.close()
  return port
}

export const gunicorn = port =>
  ['gunicorn', '-c', 'instance/gunicorn.conf.py', '--bind', `127.0.0.1:${port}`]
export const granian = port =>
  ['granian', '--interface', 'wsgi', '--port', port, '--workers-kill-timeout', '1s', 'wsgi:app']

export async function start (settings = {}, command = gunicorn) {
  const folder = await mkdtemp(join(tmpdir(), 'records-'))
  const port = await freePort()
  const server = spawn(
    process.env.PYTHON || 'python3',
    ['-m', ...command(port)],
    {
      cwd: ROOT,
      env: {
        ...process.env,
        DATABASE_URL: `sqlite:///${join(folder, 'test.db')}`,
        SECRET_KEY: randomBytes(32).toString('hex'),
        FLASK_RATELIMIT_ENABLED: 'false',
        ...settings
      },
      stdio: ['ignore', 'ignore', 'inherit']
    }
  )
  const base = `http://127.0.0.1:${port}`
  await answers(`${base}/rooms`, server)

  return {
    base,
    async stop () {
      server.kill()
      await once(server, 'exit')
      await rm(folder, { recursive: true })
    }
  }
}

// An OpenID Connect provider, where whoever logs in says who he is.
export async function startProvider (claims) {
  const port = await freePort()
  const provider = spawn(
    process.env.PYTHON || 'python3',
    ['-m', 'oidc_provider_mock', '--port', port, '--user-claims', JSON.stringify(claims)],
    { stdio: 'ignore' }
  )
  const url = `http://127.0.0.1:${port}/.well-known/openid-configuration`
  await answers(url, provider)

  return {
    url,
    async stop () {
      provider.kill()
      await once(provider, 'exit')
    }
  }
}

async function answers (url, server) {
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
