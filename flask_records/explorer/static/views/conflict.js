// A record that someone else changes while it is edited here.
import { button, element, table } from '../dom.js'
import { bodyFields, described, fieldsOf } from '../schema.js'
import { show as showValue } from '../values.js'

const GUARDS = ['text', 'longtext', 'integer', 'decimal', 'boolean', 'enum']
const LONGEST = 200

// The record is no longer the one that is edited.
export class Conflict extends Error {
  constructor (record) {
    super('Someone has changed this record meanwhile.')
    this.record = record
  }
}

const isSame = (one, other) => JSON.stringify(one) === JSON.stringify(other)

// Returns the names of the fields in which two records differ.
export const differences = (before, now) =>
  [...new Set([...Object.keys(before), ...Object.keys(now)])].filter(name => !isSame(before[name], now[name]))

// Returns those that a method writes. What is computed may differ at any time.
export function clashes (service, method, before, now) {
  const written = new Set(bodyFields(service, method).map(({ name }) => name))
  return differences(before, now).filter(name => written.size === 0 || written.has(name))
}

// Returns whether a record, or a part of it, differs from an earlier one.
export const changed = (before, part) => Object.keys(part).some(name => !isSame(before[name], part[name]))

// Changes a record with the method, and returns it.
// It throws a conflict if the record is another one than at first. The server looks once
// more: the query of the call has the former values of the fields that are changed.
export async function save ({ service, client, id, read, record }, method, data) {
  const expectSame = async () => {
    const now = await read()
    if (now && clashes(service, method, record, now).length) throw new Conflict(now)
  }
  await expectSame()
  const query = guardOf(service, record, data)
  try {
    return await client[method](id, data, { query })
  } catch (error) {
    if (error.code !== 404 || Object.keys(query).length === 0) throw error
    await expectSame()
    // A value that the database compares in its own way is not found again.
    return await client[method](id, data)
  }
}

function guardOf (service, record, data) {
  const isGuard = ({ name, kind, isQueried }) =>
    isQueried && GUARDS.includes(kind) && [data, record].every(each => Object.hasOwn(each, name)) && String(record[name]).length <= LONGEST
  return Object.fromEntries(fieldsOf(service).filter(isGuard).map(({ name }) => [name, record[name]]))
}

// Returns what differs, with a button that takes up the new record.
export function showConflict ({ service, record, form, explorer }, now, takeUp) {
  const fields = new Map(fieldsOf(service).map(field => [field.name, field]))
  const valueOf = (record, name) => Object.hasOwn(record, name) ? showValue(record[name], fields.get(name) ?? described(name, {}), explorer) : '–'
  const entries = new Map(form.entries.map(entry => [entry.name, entry]))
  const mine = name => entries.get(name)?.isChanged() ? element('strong', {}, entries.get(name).text()) : 'The new value'
  const rows = differences(record, now).map(name => [name, valueOf(record, name), valueOf(now, name), mine(name)])
  return element('div', { class: 'problem stack', role: 'alert' },
    element('p', {}, 'Someone has changed this record meanwhile. Nothing is saved yet.'),
    table('Differences', ['Field', 'Was', 'Is now', 'In the form'], rows, { caption: null }),
    element('div', { class: 'row' }, button('Load the new values, keep mine', takeUp, { class: 'main' })))
}
