// The clients that `flask records types --lang py` prints, checked by pyright. Those of
// tests/python_client check them with mypy, and call with them.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const run = promisify(execFile)
const HERE = fileURLToPath(new URL('.', import.meta.url))
const ROOT = join(HERE, '..', '..')
const PYRIGHT = join(HERE, 'node_modules', 'pyright', 'index.js')
const PYTHON = process.env.PYTHON || 'python3'
const APPS = { client: 'wsgi', tasks: 'tests.python_client.tasks_app' }
// A comment on a line without an error is one.
const OPTIONS = { typeCheckingMode: 'standard', reportUnnecessaryTypeIgnoreComment: 'error' }

let folder

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'records-python-'))
  const env = { ...process.env, DATABASE_URL: `sqlite:///${join(folder, 'test.db')}` }
  for (const [name, app] of Object.entries(APPS)) {
    const args = ['-m', 'flask', '--app', app, 'records', 'types', '--lang', 'py']
    const { stdout } = await run(PYTHON, args, { cwd: ROOT, env, maxBuffer: 2 ** 24 })
    await writeFile(join(folder, `${name}.py`), stdout)
  }
  await writeFile(join(folder, 'pyrightconfig.json'), JSON.stringify(OPTIONS))
  await cp(join(ROOT, 'tests', 'python_client', 'typed'), folder, { recursive: true })
})

after(() => rm(folder, { recursive: true }))

test('right uses have no errors, and wrong uses have one each', async () => {
  const { stdout: python } = await run(PYTHON, ['-c', 'import sys; print(sys.executable)'])
  const args = [PYRIGHT, '--outputjson', '--pythonpath', python.trim()]
  const checked = run(process.execPath, args, { cwd: folder, maxBuffer: 2 ** 24 })
  const { stdout } = await checked.catch(error => error)
  const { generalDiagnostics, summary } = JSON.parse(stdout)

  assert.deepEqual(generalDiagnostics.map(each => `${each.file}:${each.range.start.line + 1} ${each.message}`), [])
  assert.equal(summary.filesAnalyzed, 6)
})
