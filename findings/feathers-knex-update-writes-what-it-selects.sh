#!/usr/bin/env bash
# @feathersjs/knex 5.0.50: an update with $select writes the selected fields and no other.
# $select says what is answered, and an update replaces the record. The adapter reads the
# record with the query first, and replaces the fields that it has read.
# Seen: {title: new, text: new} with $select=title is answered as "new"; text stays "old".
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
# PostgreSQL in the process, which compiles nothing. SQLite was seen to do the same.
npm install --silent --no-audit --no-fund @feathersjs/feathers@5.0.50 \
    @feathersjs/knex@5.0.50 knex@3.3.0 knex-pglite@0.14.0 @electric-sql/pglite@0.2.17

cat >run.mjs <<'NODE'
import { feathers } from '@feathersjs/feathers'
import { KnexService } from '@feathersjs/knex'
import knex from 'knex'
import PGlite from 'knex-pglite'

const Model = knex({ client: PGlite, dialect: 'postgres', connection: {} })
await Model.schema.createTable('notes', table => {
  table.increments('id')
  table.string('title')
  table.string('text')
})
const app = feathers()
app.use('notes', new KnexService({ Model, name: 'notes' }))
const notes = app.service('notes')
const { id } = await notes.create({ title: 'old', text: 'old' })
const query = { $select: ['title'] }
const answer = await notes.update(id, { title: 'new', text: 'new' }, { query })
const stored = await notes.get(id)
console.log(`answered ${answer.title}, stored ${stored.title} and ${stored.text}`)
process.exit()
NODE
seen=$(node run.mjs)
echo "$seen"
[ "$seen" = "answered new, stored new and old" ]
