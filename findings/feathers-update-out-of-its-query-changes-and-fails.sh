#!/usr/bin/env bash
# feathers 5.0.50: an update that takes a record out of its query changes it, and fails.
# The adapter looks the record up by the query again to answer: the caller gets NotFound,
# as for a record that is not there, and no event is sent. A patch answers the record.
# Seen: the update stores "done" and raises NotFound; the patch answers "done".
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund @feathersjs/feathers@5.0.50 \
    @feathersjs/memory@5.0.50

cat >run.mjs <<'NODE'
import { feathers } from '@feathersjs/feathers'
import { MemoryService } from '@feathersjs/memory'

const app = feathers()
app.use('tasks', new MemoryService())
const tasks = app.service('tasks')
const open = { query: { state: 'open' } }
let events = 0

for (const event of ['updated', 'patched']) tasks.on(event, () => { events += 1 })

for (const method of ['update', 'patch']) {
  const { id } = await tasks.create({ state: 'open' })
  events = 0
  const call = tasks[method](id, { state: 'done' }, open)
  const answer = await call.then(task => task.state, error => error.name)
  const { state } = await tasks.get(id)
  console.log(`${method}: ${answer}, the record is ${state}, ${events} events`)
}
NODE
seen=$(node run.mjs)
echo "$seen"
[ "$seen" = "update: NotFound, the record is done, 0 events
patch: done, the record is done, 1 events" ]
