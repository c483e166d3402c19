// Clients that generators make of the OpenAPI document of the example.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { cp, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { newLogin } from './clients.js'
import { start } from './server.js'

const run = promisify(execFile)
const HERE = fileURLToPath(new URL('.', import.meta.url))
const PYTHON = process.env.PYTHON || 'python3'
const OPTIONS = { strict: true, skipLibCheck: true, target: 'es2022', module: 'nodenext', moduleResolution: 'nodenext', types: [] }

// Node needs the ends of the names of files.
const SDK = { input: 'openapi.json', output: { path: 'sdk', importFileExtension: '.js' } }

let folder, server

const bin = (name, ...args) => run(process.execPath, [join(HERE, 'node_modules', name), ...args], { cwd: folder })

before(async () => {
  server = await start()
  folder = await mkdtemp(join(tmpdir(), 'records-generators-'))
  const env = { ...process.env, DATABASE_URL: 'sqlite://' }
  const { stdout } = await run(PYTHON, ['-m', 'flask', '--app', 'wsgi', 'records', 'openapi'], { cwd: join(HERE, '../..'), env })
  await writeFile(join(folder, 'openapi.json'), stdout)
  await writeFile(join(folder, 'package.json'), '{"type": "module"}')
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions: OPTIONS, files: ['generated.ts'] }))
  await symlink(join(HERE, 'node_modules'), join(folder, 'node_modules'))
  await cp(join(HERE, 'types', 'generated.ts'), join(folder, 'generated.ts'))
  await bin('openapi-typescript/bin/cli.js', 'openapi.json', '-o', 'schema.d.ts')
  await writeFile(join(folder, 'openapi-ts.config.js'), `export default ${JSON.stringify(SDK)}`)
  await bin('@hey-api/openapi-ts/bin/run.js')
})

after(async () => {
  await server?.stop()
  await rm(folder, { recursive: true })
})

test('clients of two generators compile and make calls', async () => {
  const compiled = await bin('typescript/bin/tsc').then(() => '', error => error.stdout)
  assert.equal(compiled, '')
  const { fetched, called } = await import(pathToFileURL(join(folder, 'generated.js')))

  for (const call of [fetched, called]) {
    assert.deepEqual(await call(server.base, newLogin()), { total: 2, texts: ['c'], error: 'NotFound' })
  }
})
