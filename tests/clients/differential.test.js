// Random calls, over HTTP and over sockets, of the server of FeathersJS and of ours: each
// answer is the same, and so are the events and the records at the end.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { closeSockets, restClient, socketClient } from './clients.js'
import { startFeathers } from './feathers.js'
import { start, uvicorn } from './server.js'

const SEED = Number(process.env.SEED ?? Date.now() % 2 ** 31)
const CALLS = Number(process.env.CALLS ?? 1000)
const EVENTS = ['created', 'updated', 'patched', 'removed']

let servers

before(async () => {
  const ours = await start({}, port => uvicorn(port, 'tests.differential_app:asgi'))
  servers = [ours, await startFeathers()]
})

after(async () => {
  closeSockets()
  for (const server of servers) await server.stop()
})

// The numbers below 1 of a generator that begins with the seed.
let state = SEED
const random = () => (state = (state * 1664525 + 1013904223) % 2 ** 32) / 2 ** 32
const often = chance => random() < chance
const below = number => Math.floor(random() * number)
const one = list => list[below(list.length)]
const some = make => Array.from({ length: 1 + below(2) }, () => make())

const VALUES = {
  text: () => one(['a', 'b', 'hello', 'süß']),
  isNew: () => often(0.5),
  size: () => below(6),
  madeAt: () => new Date(1700000000000 + below(9) * 86400000).toISOString()
}
const FIELDS = Object.keys(VALUES)
const ORDERED = ['$gt', '$gte', '$lt', '$lte']

const record = () => Object.fromEntries(FIELDS.map(field => [field, VALUES[field]()]))

// A query string has no null for texts.
function condition () {
  const field = one(FIELDS)
  const value = () => often(0.1) && field !== 'text' ? null : VALUES[field]()
  const operator = one(['', '$ne', '$in', '$nin', ...ORDERED])
  if (operator === '') return { [field]: value() }
  if (ORDERED.includes(operator)) return { [field]: { [operator]: VALUES[field]() } }
  return { [field]: { [operator]: operator === '$ne' ? value() : some(value) } }
}

const all = () => Object.assign({}, ...some(condition).slice(below(2)))

// Express reads five levels of names.
const conditions = () => ({
  ...all(),
  ...(often(0.2) ? { $or: some(all) } : {}),
  ...(often(0.2) ? { $and: some(condition) } : {})
})

const select = () => often(0.2) ? { $select: ['id', one(FIELDS)] } : {}

const page = () => ({
  $sort: { [one(FIELDS)]: one([1, -1]), id: one([1, -1]) },
  ...(often(0.5) ? { $limit: one([0, 1, 5, 50, 100]), $skip: below(4) } : {})
})

const changes = () => Object.fromEntries(
  some(() => one(FIELDS)).map(field => [field, often(0.1) ? null : VALUES[field]()])
)

const few = id => ({ query: { id: { $in: [id, id + 1, id + 3] }, ...conditions(), ...select() } })

// An update with a query fails there if its record does not match any more.
const ARGUMENTS = {
  find: () => [{ query: { ...conditions(), ...select(), ...page() } }],
  get: id => [id, { query: { ...conditions(), ...select() } }],
  create: () => [often(0.2) ? some(record) : record(), { query: select() }],
  update: id => [id, record()],
  patch: id => often(0.2) ? [null, changes(), few(id)] : [id, changes(), { query: conditions() }],
  remove: id => often(0.2) ? [null, few(id)] : [id, { query: conditions() }]
}

const METHODS = ['find', 'find', 'find', 'get', 'create', 'create', 'update', 'patch', 'patch', 'remove']

const answer = (client, method, args) =>
  client.service('things')[method](...args).catch(({ name, code, className }) => ({ name, code, className }))

test(`${CALLS} calls have the same answers, events and records, SEED=${SEED}`, async () => {
  const clients = servers.map(({ base }) => {
    const [http, socket, events] = [restClient(base), socketClient(base), []]
    EVENTS.forEach(event => socket.service('things').on(event, ({ id }) => events.push(`${event} ${id}`)))
    return { http, socket, events }
  })
  const both = async (transport, method, args) => {
    const answers = clients.map(client => answer(client[transport], method, args))
    const [ours, theirs] = await Promise.all(answers)
    assert.deepEqual(ours, theirs, `${transport} ${method} ${JSON.stringify(args)}`)
    return [theirs].flat().length
  }
  let count = await both('socket', 'create', [Array.from({ length: 20 }, record)])

  for (let number = 0; number < CALLS; number++) {
    const method = one(METHODS)
    const length = await both(one(['http', 'socket']), method, ARGUMENTS[method](1 + below(count)))
    if (method === 'create') count += length
  }

  await both('socket', 'find', [{ query: { $sort: { id: 1 }, $limit: 50 } }])
  const [ours, theirs] = clients.map(({ events }) => events)
  while (ours.length < theirs.length) await new Promise(resolve => setTimeout(resolve, 50))
  assert.deepEqual(ours, theirs)
})
