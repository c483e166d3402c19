// The module that `flask records types` makes, in a front end as those of FeathersJS.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { cp, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { newLogin } from './clients.js'
import { startPage } from './documented.js'

const run = promisify(execFile)
const HERE = fileURLToPath(new URL('.', import.meta.url))
const TSC = join(HERE, 'node_modules', 'typescript', 'bin', 'tsc')
const OPTIONS = { strict: true, skipLibCheck: true, target: 'es2022', types: [] }

let folder
let server

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'records-module-'))
  server = await startPage('front-ends.md')
  await server.flask('records', 'types', '--output', join(folder, 'api.ts'))
  await cp(join(HERE, 'module'), folder, { recursive: true })
  await symlink(join(HERE, 'node_modules'), join(folder, 'node_modules'))
  await writeFile(join(folder, 'package.json'), '{"type": "module"}')
})

after(async () => {
  await server.stop()
  await rm(folder, { recursive: true })
})

async function compile (options) {
  const config = { compilerOptions: { ...OPTIONS, ...options }, files: ['chat.ts'] }
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify(config))
  const compiled = run(process.execPath, [TSC], { cwd: folder })
  return compiled.then(() => '', error => error.stdout)
}

test('a front end compiles and runs with the module', async () => {
  assert.equal(await compile({ module: 'esnext', moduleResolution: 'bundler' }), '')
  const { Chat } = await import(pathToFileURL(join(folder, 'chat.js')))
  const [ann, ben] = [new Chat(server.base), new Chat(server.base)]
  const id = await ann.signUp(newLogin('ann'))
  await ben.signUp(newLogin('ben'))
  const seen = ben.next()

  await ann.write('Hello')

  await seen
  const [line] = ben.lines()
  await ben.load()
  assert.equal(ann.user.id, id)
  assert.deepEqual([line.email, line.text], [ann.user.email, 'Hello'])
  assert.deepEqual(ben.lines(), [line])
  assert.deepEqual(ben.users, [ann.user, ben.user])

  await ben.leave()
  assert.equal(ben.user, null)
  ann.close()
  ben.close()
})

test('a front end compiles as Create React App has it', async () => {
  const compiled = await compile({
    target: 'es5',
    lib: ['dom', 'dom.iterable', 'esnext'],
    module: 'esnext',
    moduleResolution: 'node',
    esModuleInterop: true,
    isolatedModules: true,
    noEmit: true
  })

  assert.equal(compiled, '')
})
