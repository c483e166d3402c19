// The client that `flask records types` prints, compiled with the official v5 client.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { cp, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { MemoryStorage } from '@feathersjs/authentication-client'
import rest from '@feathersjs/rest-client'
import socketio from '@feathersjs/socketio-client'
import { io } from 'socket.io-client'
import { newLogin, next } from './clients.js'
import { start, uvicorn } from './server.js'

const run = promisify(execFile)
const HERE = fileURLToPath(new URL('.', import.meta.url))
const ROOT = join(HERE, '..', '..')
const TSC = join(HERE, 'node_modules', 'typescript', 'bin', 'tsc')
const OPTIONS = {
  strict: true,
  noEmit: true,
  skipLibCheck: true,
  target: 'es2022',
  module: 'esnext',
  moduleResolution: 'bundler',
  // Packages of other tests have types of older clients.
  types: []
}

let folder

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'records-types-'))
  const { stdout } = await run(
    process.env.PYTHON || 'python3',
    ['-m', 'flask', '--app', 'tests.typed_app', 'records', 'types'],
    { cwd: ROOT, env: { ...process.env, DATABASE_URL: `sqlite:///${join(folder, 'test.db')}` } }
  )
  await writeFile(join(folder, 'types.ts'), stdout)
  await writeFile(join(folder, 'package.json'), '{"type": "module"}')
  await symlink(join(HERE, 'node_modules'), join(folder, 'node_modules'))
  await cp(join(HERE, 'types'), folder, { recursive: true })
})

after(() => rm(folder, { recursive: true }))

async function compile (files, options) {
  const config = { compilerOptions: { ...OPTIONS, ...options }, files }
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify(config))
  const compiled = run(process.execPath, [TSC], { cwd: folder })
  return compiled.then(() => '', error => error.stdout)
}

const RESOLUTIONS = { bundler: {}, nodenext: { module: 'nodenext', moduleResolution: 'nodenext' } }

for (const [resolution, options] of Object.entries(RESOLUTIONS)) {
  test(`calls of the official client compile by ${resolution}, and wrong ones do not`, async () => {
    // Each wrong call has a comment that makes a line without an error one.
    assert.equal(await compile(['right.ts', 'wrong.ts', 'version6.ts'], options), '')
  })
}

test('the clients of both versions make calls, custom ones too, and get events', async t => {
  assert.equal(await compile(['types.ts', 'version6.ts'], { noEmit: false }), '')
  const { createClient } = await import(pathToFileURL(join(folder, 'types.js')))
  const server = await start({}, port => uvicorn(port, 'tests.typed_app:asgi'))
  const socket = io(server.base)
  t.after(() => {
    socket.close()
    return server.stop()
  })
  const login = newLogin()
  const connections = [rest(server.base).fetch(fetch), socketio(socket)]
  const [ann, live] = connections.map(each => createClient(each, { storage: new MemoryStorage() }))
  const { id: userId } = await ann.service('users').create(login)
  const [{ accessToken }] = await Promise.all([ann, live].map(client => client.authenticate({ strategy: 'local', ...login })))
  const room = await ann.service('rooms').create({ name: 'Lobby' })
  const seen = next(live.service('messages'), 'created')

  const message = await ann.service('messages').create({ text: 'Hello', roomId: room.id })
  const typing = await ann.service('typists').tell({ roomId: room.id })

  assert.deepEqual(await seen, message)
  assert.deepEqual(typing, { roomId: room.id, userId })
  assert.deepEqual(await live.service('typists').tell({ roomId: room.id }), typing)
  assert.equal((await live.service('messages').find({ query: { roomId: null } })).total, 0)
  const { call } = await import(pathToFileURL(join(folder, 'version6.js')))
  assert.deepEqual(await call(server.base, accessToken), { total: 1, text: 'Hi', error: 'NotFound' })
})
