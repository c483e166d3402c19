// Starts the application that a page of the documentation begins with.
import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { KEPT, start } from './server.js'

const run = promisify(execFile)

const CODE = /^```python\n(.*?)^```$/ms

export async function startPage (page) {
  const text = await readFile(new URL(`../../docs/${page}`, import.meta.url), 'utf8')
  const folder = await mkdtemp(join(tmpdir(), 'records-page-'))
  await writeFile(join(folder, 'page.py'), text.match(CODE)[1])
  const settings = { FLASK_SQLALCHEMY_DATABASE_URI: `sqlite:///${join(folder, 'test.db')}` }
  const server = await start(
    settings,
    port => [
      'gunicorn', '-k', 'asgi', '--chdir', folder,
      '--bind', `127.0.0.1:${port}`, ...KEPT, 'page:create_asgi()'
    ]
  )

  return {
    ...server,
    // Runs a command of the application.
    flask: (...args) => run(
      process.env.PYTHON || 'python3',
      ['-m', 'flask', '--app', 'page:create_app', ...args],
      { cwd: folder, env: { ...process.env, ...settings } }
    ),
    async stop () {
      await server.stop()
      await rm(folder, { recursive: true })
    }
  }
}
