// The document that `flask records asyncapi` prints, against the schema of AsyncAPI.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import Ajv from 'ajv'

const run = promisify(execFile)
const require = createRequire(import.meta.url)
const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const SCHEMA = require('@asyncapi/specs/schemas/3.0.0-without-$id.json')

let folder, made

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'records-asyncapi-'))
  const { stdout } = await run(
    process.env.PYTHON || 'python3',
    ['-m', 'flask', '--app', 'wsgi', 'records', 'asyncapi'],
    {
      cwd: ROOT,
      env: { ...process.env, DATABASE_URL: `sqlite:///${join(folder, 'test.db')}` },
      maxBuffer: 16 * 1024 * 1024
    }
  )
  made = JSON.parse(stdout)
})

after(() => rm(folder, { recursive: true }))

// The schema has words that only other tools know.
const validate = new Ajv({ strict: false, validateFormats: false }).compile(SCHEMA)

test('the document is valid', () => {
  assert.ok(validate(made), JSON.stringify(validate.errors))
})

test('a document with a mistake is not', () => {
  const wrong = structuredClone(made)
  wrong.operations.findMessages.action = 'find'

  assert.ok(!validate(wrong))
})

test('the schemas are valid for validators of JSON', () => {
  const ajv = new Ajv({ strict: false, validateFormats: false })
  const $ref = '#/components/messages/createMessages/payload'
  const call = ajv.compile({ $ref, components: made.components })

  assert.ok(call(['create', 'messages', { text: 'Hi' }, null]))
  assert.ok(!call(['create', 'messages', { text: 3 }, null]))
})
