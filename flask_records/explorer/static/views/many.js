// Changes and removals of many records in one call, where a service has them.
import { announce, askRemoval, button, dialog, element } from '../dom.js'
import { toText } from '../query.js'
import { bodyFields } from '../schema.js'
import { makeForm } from './form.js'

const METHODS = ['patch', 'remove']

// Returns the methods that a caller may use on many records of a service.
const manyMethods = service => METHODS.filter(method => service.methods.includes(method) && service.multi.includes(method))

// Returns buttons that change and remove the selected records, or null if the service
// has neither. `selection()` returns how many are selected, as `count`, and their `query`; and
// with `more`, how many match in all: `selectAll()` selects these. `onDone()` is called after
// the call. `update()` of the node shows how many are selected.
export function manyActions ({ explorer, service, selection, selectAll, onDone }) {
  const methods = manyMethods(service)
  if (methods.length === 0) return null
  const count = element('span', { class: 'soft', role: 'status' })
  const open = { patch: openPatch, remove: openRemove }
  const words = { patch: 'Change selected…', remove: 'Remove selected…' }
  const buttons = methods.map(method => button(words[method],
    () => open[method](explorer, service, selection(), found => done(method, found)),
    method === 'remove' ? { class: 'danger' } : {}))
  const done = (method, { length }) => {
    announce(`${records(length)} ${length === 1 ? 'is' : 'are'} ${method === 'patch' ? 'changed' : 'removed'}.`)
    onDone()
  }
  const all = button('', selectAll, { hidden: true, 'data-key': 'select matching' })
  const node = element('div', { class: 'row many', role: 'group', 'aria-label': 'Selected records' }, count, all, buttons)
  const update = () => {
    const { count: number, more } = selection()
    count.textContent = number ? `${number.toLocaleString()} selected` : 'None selected'
    all.textContent = `Select all ${more?.toLocaleString()} that match`
    all.hidden = !more
    for (const each of buttons) each.disabled = number === 0
  }
  update()
  return Object.assign(node, { update })
}

const records = number => `${number.toLocaleString()} ${number === 1 ? 'record' : 'records'}`

// Which records these are: some of one page, or all that a query finds.
const textOf = ({ count, ids, query }) => ids
  ? `${ids.slice(0, 20).join(', ')}${ids.length > 20 ? ', …' : ''}`
  : `All that match ${decodeURIComponent(toText(query)) || 'without a filter'}: ${count.toLocaleString()} now.`

function openPatch (explorer, service, chosen, done) {
  const form = makeForm(explorer, bodyFields(service, 'patch').filter(({ isId }) => !isId), {
    leftOut: 'unchanged',
    submit: `Change ${records(chosen.count)}`,
    cancel: () => opened.close(),
    save: async data => {
      if (Object.keys(data).length === 0) throw new Error('No field is changed yet.')
      const changed = await explorer.connection.service(service.path).patch(null, data, { query: chosen.query })
      opened.close()
      done(changed)
    }
  })
  form.classList.remove('card')
  const opened = dialog(`Change ${records(chosen.count)} of ${service.path}`, element('p', { class: 'soft code' }, textOf(chosen)), form)
  form.entries[0]?.control.focus()
}

function openRemove (explorer, service, chosen, done) {
  askRemoval({
    title: `Remove ${records(chosen.count)} of ${service.path}?`,
    label: `Remove ${records(chosen.count)}`,
    about: element('p', { class: 'code' }, textOf(chosen)),
    remove: async () => done(await explorer.connection.service(service.path).remove(null, { query: chosen.query }))
  })
}
