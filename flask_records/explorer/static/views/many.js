// Changes and removals of many records in one call, where a service has them.
import { announce, attempt, button, dialog, element } from '../dom.js'
import { bodyFields } from '../schema.js'
import { makeForm } from './form.js'

const METHODS = ['patch', 'remove']

// Returns the methods that a caller may use on many records of a service.
const manyMethods = service => METHODS.filter(method => service.methods.includes(method) && service.multi.includes(method))

// Returns buttons that change and remove the selected records, or null if the service
// has neither. `selected()` returns the identifiers, and `onDone(method, records)` is
// called after the call. `update()` of the node shows how many are selected.
export function manyActions ({ explorer, service, selected, onDone }) {
  const methods = manyMethods(service)
  if (methods.length === 0) return null
  const count = element('span', { class: 'soft', role: 'status' })
  const open = { patch: openPatch, remove: openRemove }
  const words = { patch: 'Change selected…', remove: 'Remove selected…' }
  const buttons = methods.map(method => button(words[method],
    () => open[method](explorer, service, selected(), records => done(method, records)),
    method === 'remove' ? { class: 'danger' } : {}))
  const done = (method, records) => {
    announce(`${records.length} ${records.length === 1 ? 'record is' : 'records are'} ${method === 'patch' ? 'changed' : 'removed'}.`)
    onDone?.(method, records)
  }
  const node = element('div', { class: 'row many', role: 'group', 'aria-label': 'Selected records' }, count, buttons)
  const update = () => {
    const number = selected().length
    count.textContent = number ? `${number} selected` : 'None selected'
    for (const each of buttons) each.disabled = number === 0
  }
  update()
  return Object.assign(node, { update })
}

const queryOf = (service, ids) => ({ [service.id]: { $in: ids } })

const records = number => number === 1 ? '1 record' : `${number} records`

function openPatch (explorer, service, ids, done) {
  const form = makeForm(explorer, bodyFields(service, 'patch').filter(({ isId }) => !isId), {
    leftOut: 'unchanged',
    submit: `Change ${records(ids.length)}`,
    cancel: () => opened.close(),
    save: async data => {
      if (Object.keys(data).length === 0) throw new Error('No field is changed yet.')
      const changed = await explorer.connection.service(service.path).patch(null, data, { query: queryOf(service, ids) })
      opened.close()
      done(changed)
    }
  })
  form.classList.remove('card')
  const opened = dialog(`Change ${records(ids.length)} of ${service.path}`, form)
  form.entries[0]?.control.focus()
}

function openRemove (explorer, service, ids, done) {
  const problem = element('p', { class: 'problem', role: 'alert', hidden: true })
  const remove = button(`Remove ${records(ids.length)}`, () => attempt(remove, async () => {
    const removed = await explorer.connection.service(service.path).remove(null, { query: queryOf(service, ids) })
    opened.close()
    done(removed)
  }, error => {
    problem.textContent = error.message
    problem.hidden = false
  }), { class: 'danger' })
  const opened = dialog(`Remove ${records(ids.length)} of ${service.path}?`,
    element('div', { class: 'stack' }, problem, element('p', {}, 'They can’t be brought back.'),
      element('p', { class: 'soft code' }, `${service.id}: ${ids.slice(0, 20).join(', ')}${ids.length > 20 ? ', …' : ''}`),
      element('div', { class: 'row' }, remove, button('Cancel', () => opened.close(), { autofocus: true }))))
}
