// Starts tests/accounts_app.py.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { KEPT, start } from './server.js'

export async function startAccounts (settings = {}) {
  const folder = await mkdtemp(join(tmpdir(), 'records-accounts-'))
  const server = await start(
    {
      FLASK_SQLALCHEMY_DATABASE_URI: `sqlite:///${join(folder, 'test.db')}`,
      FLASK_SECRET_KEY: 'only for the tests, 32 bytes long',
      ...settings
    },
    port => ['gunicorn', '-k', 'asgi', '--bind', `127.0.0.1:${port}`, ...KEPT, 'tests.accounts_app:asgi']
  )
  return {
    ...server,
    async stop () {
      await server.stop()
      await rm(folder, { recursive: true })
    }
  }
}

// The storage of a browser.
export class LocalStorage extends Map {
  getItem (key) { return this.get(key) ?? null }
  setItem (key, value) { this.set(key, value) }
  removeItem (key) { this.delete(key) }
}
