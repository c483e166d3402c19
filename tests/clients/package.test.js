// The package that `flask records types` makes, in a front end as those of FeathersJS.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
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
const PACKAGES = [
  '@feathersjs/authentication-client', '@feathersjs/feathers', '@feathersjs/rest-client',
  '@feathersjs/socketio-client', 'socket.io-client'
]
const OPTIONS = { strict: true, skipLibCheck: true, target: 'es2022', types: [] }

let folder
let server

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'records-package-'))
  server = await startPage('front-ends.md')
  await server.flask('records', 'types', '--package', 'chat-client', '--output', join(folder, 'client.tgz'))
  await cp(join(HERE, 'package'), folder, { recursive: true })
  const versions = await Promise.all(PACKAGES.map(installed))
  const manifest = { type: 'module', dependencies: Object.fromEntries(versions) }
  await writeFile(join(folder, 'package.json'), JSON.stringify(manifest))
  await npm('install', './client.tgz')
})

after(async () => {
  await server.stop()
  await rm(folder, { recursive: true })
})

// The packages of all tests, so that npm has them in its cache.
async function installed (name) {
  const manifest = await readFile(join(HERE, 'node_modules', name, 'package.json'), 'utf8')
  return [name, JSON.parse(manifest).version]
}

const npm = (...args) => run('npm', [...args, '--prefer-offline', '--no-audit', '--no-fund'], { cwd: folder })

async function compile (options) {
  const config = { compilerOptions: { ...OPTIONS, ...options }, files: ['chat.ts'] }
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify(config))
  const compiled = run(process.execPath, [TSC], { cwd: folder })
  return compiled.then(() => '', error => error.stdout)
}

test('a front end compiles and runs with the package', async () => {
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

test('scripts without modules require the package', async () => {
  const script = `
    const { createClient } = require('chat-client')
    const rest = require('@feathersjs/rest-client')
    createClient(rest('${server.base}').fetch(fetch)).service('messages').find()
      .catch(error => console.log(error.code))`

  const { stdout } = await run(process.execPath, ['--input-type=commonjs', '-e', script], { cwd: folder })

  assert.equal(stdout, '401\n')
})

test('a package is as fresh as its services', async () => {
  const { stdout } = await server.flask('records', 'types', '--check', join(folder, 'client.tgz'))

  assert.equal(stdout, `${join(folder, 'client.tgz')} is up to date.\n`)
})
