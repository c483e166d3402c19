// A server of FeathersJS with a service of things in memory.
import express, { errorHandler, json, rest } from '@feathersjs/express'
import { feathers } from '@feathersjs/feathers'
import { MemoryService } from '@feathersjs/memory'
import socketio from '@feathersjs/socketio'
import { once } from 'node:events'

const OPTIONS = { paginate: { default: 10, max: 50 }, multi: true, startId: 1 }

// The values of a query string are text, which is JSON but for texts and times.
function valued (value) {
  if (typeof value !== 'string') return mapped(value)
  if (value === '') return null

  try {
    return JSON.parse(value)
  } catch {
    return value
  }
}

const mapped = values => Array.isArray(values)
  ? values.map(valued)
  : Object.fromEntries(Object.entries(values).map(([name, value]) => [name, valued(value)]))

function readQuery ({ params }) {
  if (params.provider === 'rest') params.query = mapped(params.query)
}

export async function startFeathers () {
  const app = express(feathers()).use(json()).configure(rest()).configure(socketio())
  app.use('things', new MemoryService(OPTIONS))
  app.service('things').hooks({ before: { all: [readQuery] } })
  app.on('connection', connection => app.channel('anonymous').join(connection))
  app.publish(() => app.channel('anonymous'))
  app.use(errorHandler({ logger: false }))
  const server = await app.listen(0, '127.0.0.1')
  if (!server.listening) await once(server, 'listening')
  return { base: `http://127.0.0.1:${server.address().port}`, stop: () => app.teardown() }
}
