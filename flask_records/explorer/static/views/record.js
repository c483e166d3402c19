// One record: its fields, a form that changes it, and its removal.
import { absence, announce, askRemoval, attempt, button, dialog, element, replace, table } from '../dom.js'
import { answerOf, BASE, request } from '../requests.js'
import { bodyFields, described, fieldsOf, isKey, isRounded, ROUNDED } from '../schema.js'
import { address } from '../paths.js'
import { homeOf, Names, show as showValue, titleOf, wayBack } from '../values.js'
import { wordOf } from './controls.js'
import { makeForm } from './form.js'
import { referrersOf, relatedRecords } from './related.js'

const GUARDS = ['text', 'longtext', 'integer', 'decimal', 'boolean', 'enum']
const LONGEST = 200
// What this tab has changed last in each record: `{ method, before, after }`.
const changes = new Map()
// The URL of a record with one of these is that of all records.
const UNNAMED = [undefined, '', '.', '..']

export async function show (place, explorer, route, signal) {
  const [path, id] = route.parts
  const service = explorer.services.get(path)
  if (UNNAMED.includes(id)) throw absence(`No URL has the identifier '${id ?? ''}'.`)
  const client = explorer.connection.service(path)
  const read = readerOf(service, client, id)
  if (!read) throw absence(`No record of ${path} can be read alone.`)
  const state = { explorer, service, client, id, read, record: await read(), names: new Names(explorer), form: null, isBusy: false }
  if (!state.record) throw absence(`No record ${id} of ${path} is there for you.`)
  state.notice = element('div', { class: 'stack' })
  state.body = element('div')
  state.name = element('p', { class: 'soft record-name' })
  state.tools = element('div', { class: 'row' })
  replace(place, drawHead(state), state.notice, state.body, relatedRecords(explorer, service, state.record, signal))
  showFields(state)
  explorer.connection.addEventListener('event', ({ detail }) => takeEvent(state, detail), { signal })
}

// Returns a function that reads the record, or null if the caller may not.
function readerOf (service, client, id) {
  if (service.methods.includes('get')) return () => client.get(id)
  if (!service.methods.includes('find') || !service.query?.properties?.[service.id]) return null
  return async () => {
    const found = await client.find({ query: { [service.id]: id, $limit: 1 } })
    return (found.data ?? found)[0]
  }
}

function drawHead ({ service, id, name, tools }) {
  return element('div', { class: 'record-head' },
    wayBack(service, 'record'),
    element('h1', { tabindex: -1 }, `${service.path} ${id}`),
    name,
    tools)
}

// Returns the method that changes a record. A replacement would send rounded numbers back.
function methodOf ({ id, methods }, record) {
  const ways = Object.values(record).some(value => isRounded(value)) ? ['patch'] : ['patch', 'update']
  return isKey(record[id]) ? ways.find(method => methods.includes(method)) : undefined
}

// Shows the fields. Those that differ from an earlier record are marked.
function showFields (state, before = state.record) {
  const { service, record, explorer } = state
  state.form = null
  const marked = new Set(differences(before, record))
  const fields = new Map(fieldsOf(service).map(field => [field.name, field]))
  const names = [...new Set([...fields.keys(), ...Object.keys(record)])].filter(name => Object.hasOwn(record, name))
  const rows = names.map(name => {
    const field = fields.get(name) ?? described(name, {})
    const value = element('dd', { class: marked.has(name) ? 'changed' : null }, showValue(record[name], field, explorer))
    return [
      element('dt', {}, name, element('span', { class: 'soft' }, field.isId ? 'identifier' : wordOf(field.kind))),
      value
    ]
  })
  state.name.textContent = titleOf(record) ?? ''
  replace(state.body, element('dl', { class: 'card details' }, rows))
  state.names.fill(state.body)
  replace(state.tools,
    methodOf(service, record) ? button('Edit', () => showForm(state), { class: 'main', id: 'edit' }) : null,
    formerOf(state) ? button('Undo my change', event => attempt(event.target, () => undo(state))) : null,
    mayLogOut(state) ? button('Log out everywhere', event => attempt(event.target, () => logOut(state))) : null,
    passwordOf(state) ? button('Set a password…', () => setPassword(state, passwordOf(state))) : null,
    service.methods.includes('remove') && isKey(record[service.id]) ? button('Remove…', () => confirmRemoval(state), { class: 'danger' }) : null)
}

// Returns the field of a user's password, if the caller may patch it.
const passwordOf = ({ explorer, service }) =>
  service.path === explorer.description.userPath && service.methods.includes('patch') &&
    bodyFields(service, 'patch').find(({ plain }) => plain.writeOnly)

function setPassword ({ service, client, id }, field) {
  const form = makeForm(null, [{ ...field, isRequired: true, isNullable: false }], {
    submit: 'Set the password',
    cancel: () => opened.close(),
    save: async data => {
      await client.patch(id, data)
      opened.close()
      announce(`The password of ${service.path} ${id} is set.`)
    }
  })
  const opened = dialog('Set a password', element('div', { class: 'stack' }, element('p', {}, 'The user is logged out everywhere.'), form))
}

// Returns whether the logins of a user can be ended: by those who may patch the user.
const mayLogOut = ({ explorer: { description }, service }) =>
  description.endsLogins && service.path === description.userPath && service.methods.includes('patch')

async function logOut ({ service, id }) {
  await answerOf(await request(`${BASE}logins/${encodeURIComponent(id)}`, undefined, { method: 'DELETE' }))
  announce(`${service.path} ${id} is logged out everywhere.`)
}

const keyOf = ({ service, id }) => `${service.path} ${id}`

// Returns the values before the change of this tab, or null if there is none, or someone has changed
// the record since.
function formerOf (state) {
  const { service, record } = state
  const { method, before, after } = changes.get(keyOf(state)) ?? {}
  if (!method || clashes(service, method, after, record).length) return null
  const names = method === 'patch' ? clashes(service, method, before, after) : bodyFields(service, method).map(({ name }) => name)
  const pairs = names.filter(name => Object.hasOwn(before, name)).map(name => [name, before[name]])
  return pairs.length && !pairs.some(([, value]) => isRounded(value)) ? Object.fromEntries(pairs) : null
}

// Writes the values before the change of this tab back, into the record that is shown and no other.
async function undo (state) {
  const { explorer: { connection }, service, id } = state
  const url = `${connection.address(service.path)}/${encodeURIComponent(id)}`
  const send = async (method, headers, body) => {
    const response = await request(url, undefined, { method, headers, body })
    return [await answerOf(response), response.headers.get('ETag')]
  }
  const { method } = changes.get(keyOf(state))
  const [now, tag] = await send('GET')
  const before = state.record
  state.record = now
  const former = formerOf(state)
  if (former) [state.record] = await send({ patch: 'PATCH', update: 'PUT' }[method], { 'If-Match': tag, 'Content-Type': 'application/json' }, JSON.stringify(former))
  changes.delete(keyOf(state))
  showFields(state, before)
  announce(former ? `${service.path} ${id} is as before.` : 'Someone has changed this record since: nothing is undone.', former ? 'info' : 'error')
  document.getElementById('edit')?.focus()
}

function showForm (state) {
  const { explorer, service } = state
  const method = methodOf(service, state.record)
  const leave = () => {
    replace(state.notice)
    showFields(state)
    document.getElementById('edit')?.focus()
  }
  const fields = bodyFields(service, method).filter(({ isId }) => !isId)
  const shown = fields.length ? fields : Object.keys(state.record).filter(name => name !== service.id).map(name => described(name, {}))
  const entered = shown.map(field => isRounded(state.record[field.name], field) ? { ...field, hint: ROUNDED } : field)
  state.form = makeForm(explorer, entered, {
    record: state.record,
    leftOut: method === 'patch' ? 'unchanged' : 'default',
    isPartial: method === 'patch',
    submit: 'Save',
    cancel: leave,
    save: data => saveForm(state, method, data, leave)
  })
  replace(state.tools)
  replace(state.body, state.form)
  state.form.entries[0]?.control.focus()
}

async function saveForm (state, method, data, leave) {
  if (!state.form.isChanged()) {
    announce('Nothing is changed.')
    return leave()
  }
  const before = state.record
  state.isBusy = true
  try {
    state.record = await save(state, method, data)
  } catch (error) {
    if (!(error instanceof Conflict)) throw error
    return meetConflict(state, error.record)
  } finally {
    state.isBusy = false
  }
  changes.set(keyOf(state), { method, before, after: state.record })
  replace(state.notice)
  showFields(state, before)
  announce(`${state.service.path} ${state.id} is saved.`)
  document.getElementById('edit')?.focus()
}

// Shows what someone else has changed, and offers to take it up.
function meetConflict (state, now) {
  const { form, notice } = state
  const notTaken = showConflict(state, now, () => {
    form.renew(now)
    state.record = now
    replace(notice)
    const entry = form.entries.find(each => each.isChanged()) ?? form.entries[0]
    entry?.control.focus()
  })
  replace(notice, notTaken)
}

function takeEvent (state, { service, event, data }) {
  const isMine = service === state.service.path && isKey(state.record[state.service.id]) && String(data?.[state.service.id]) === String(state.record[state.service.id])
  if (!isMine || state.isBusy) return
  if (event === 'removed') return showRemoval(state)
  if (!['patched', 'updated'].includes(event) || !changed(state.record, data)) return
  const now = { ...state.record, ...data }
  const isClash = clashes(state.service, methodOf(state.service, state.record), state.record, now).length > 0
  if (state.form?.isChanged() && isClash) return meetConflict(state, now)
  const before = state.record
  state.record = now
  if (state.form) state.form.renew(now)
  else showFields(state, before)
}

// Asks, removes the record, and goes to the others.
const confirmRemoval = state => askRemoval({
  title: `Remove a record of ${state.service.path}?`,
  label: 'Remove',
  about: element('p', { class: 'record-name' }, element('code', {}, state.id), ' ', titleOf(state.record)),
  remove: async () => {
    state.isBusy = true
    try {
      await state.client.remove(state.id)
    } catch (error) {
      state.isBusy = false
      throw error
    }
    announce(`${state.service.path} ${state.id} is removed.`)
    state.explorer.go(homeOf(state.service))
  },
  explain: async error => error.code === 409 ? referrersOf(state.explorer, state.service, [state.record[state.service.id]]) : null
})

function showRemoval (state) {
  replace(state.notice, element('p', { class: 'problem', role: 'alert' }, 'Someone has removed this record.'))
  replace(state.tools)
}

// The record is no longer the one that is edited.
class Conflict extends Error {
  constructor (record) {
    super('Someone has changed this record meanwhile.')
    this.record = record
  }
}

const isSame = (one, other) => JSON.stringify(one) === JSON.stringify(other)

// Returns the names of the fields in which two records differ.
const differences = (before, now) =>
  [...new Set([...Object.keys(before), ...Object.keys(now)])].filter(name => !isSame(before[name], now[name]))

// Returns those that a method writes. What is computed may differ at any time.
function clashes (service, method, before, now) {
  const written = new Set(bodyFields(service, method).map(({ name }) => name))
  return differences(before, now).filter(name => written.size === 0 || written.has(name))
}

// Returns whether a record, or a part of it, differs from an earlier one.
const changed = (before, part) => Object.keys(part).some(name => !isSame(before[name], part[name]))

// Changes a record with the method, and returns it.
// It throws a conflict if the record is another one than at first. The server looks once
// more: the query of the call has the former values of the fields that are changed.
async function save ({ service, client, id, read, record }, method, data) {
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
function showConflict ({ service, record, form, explorer }, now, takeUp) {
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
