// Starts tests/accounts_app.py, and reads the code of docs/accounts.md.
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { KEPT, start } from './server.js'

const PAGE = new URL('../../docs/accounts.md', import.meta.url)

export async function startAccounts () {
  const folder = await mkdtemp(join(tmpdir(), 'records-accounts-'))
  const server = await start(
    {
      FLASK_SQLALCHEMY_DATABASE_URI: `sqlite:///${join(folder, 'test.db')}`,
      FLASK_SECRET_KEY: 'only for the tests, 32 bytes long'
    },
    port => ['gunicorn', '-k', 'asgi', '--bind', `127.0.0.1:${port}`, ...KEPT, 'tests.accounts_app:asgi']
  )
  const file = join(folder, 'documented.mjs')
  const [, code] = (await readFile(PAGE, 'utf8')).match(/^```js\n(export .*?)^```/ms)
  await writeFile(file, code)

  return {
    ...server,
    ...await import(pathToFileURL(file)),
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
