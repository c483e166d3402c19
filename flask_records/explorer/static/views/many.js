// Changes and removals of many records, where a service has them.
import { announce, askRemoval, attempt, button, dialog, element } from '../dom.js'
import { toText } from '../query.js'
import { bodyFields } from '../schema.js'

const METHODS = ['patch', 'remove']
const MOST_KEYS = 50

// Returns the methods that a caller may use on many records of a service.
const manyMethods = service => METHODS.filter(method => service.methods.includes(method) && service.multi.includes(method))

// Returns buttons that change and remove the selected records, or null if the service
// has neither. `selection()` returns how many are selected, as `count`, and their `query`; and
// with `more`, how many match in all: `selectAll()` selects these. `onDone()` is called after
// the call with its method, and `clear()` ends the selection. `update()` of the node shows how many are selected. More than one call takes go in parts,
// which `find(query)` finds by key if `hasKeys`.
export function manyActions ({ explorer, service, find, hasKeys, selection, selectAll, onDone, clear }) {
  const methods = manyMethods(service)
  if (methods.length === 0) return null
  const count = element('span', { class: 'soft', role: 'status' })
  const open = { patch: openPatch, remove: openRemove }
  const words = { patch: 'Change selected…', remove: 'Remove selected…' }
  const begin = async method => {
    await explorer.connection.open()
    await open[method]({ explorer, service, find }, selection(), number => done(method, number))
  }
  const buttons = methods.map(method => button(words[method], event => attempt(event.target, () => begin(method)),
    method === 'remove' ? { class: 'danger' } : {}))
  const done = (method, number) => {
    announce(sentence(method, number))
    onDone(method)
  }
  const all = button('', selectAll, { hidden: true, 'data-key': 'select matching' })
  const node = element('div', { class: 'row many', role: 'group', 'aria-label': 'Selected records' }, count, all, buttons, button('Select none', clear))
  const update = () => {
    const { count: number, more, elsewhere } = selection()
    const isTooMany = number > service.maxMany && !hasKeys
    count.textContent = number ? `${number.toLocaleString()} selected${elsewhere ? `, ${elsewhere.toLocaleString()} on other pages` : ''}${isTooMany ? `, of at most ${service.maxMany.toLocaleString()} at once` : ''}` : 'None selected'
    all.textContent = `Select all ${more?.toLocaleString()} that match`
    all.hidden = !more
    for (const each of buttons) each.disabled = number === 0 || isTooMany
  }
  update()
  return Object.assign(node, { update })
}

const WORDS = { patch: 'changed', remove: 'removed' }

const sentence = (method, number) => `${records(number)} ${number === 1 ? 'is' : 'are'} ${WORDS[method]}.`

// Calls a method on the chosen records, in parts of as many as one call takes, and returns how many
// there were. It ends with the dialog that `status` is in.
async function callAll ({ explorer, service, find }, method, { count, query }, data, status) {
  const { id, path, maxMany } = service
  const client = explorer.connection.service(path)
  const isOpen = () => status.closest('dialog')?.open
  let done = 0
  try {
    for (let rest = query; isOpen();) {
      const { records: [last] } = count > maxMany ? await find({ ...rest, $select: [id], $sort: { [id]: 1 }, $skip: maxMany - 1, $limit: 1 }) : { records: [] }
      const part = { query: last ? { ...rest, [id]: { ...rest[id], $lte: last[id] } } : rest }
      const { length } = await (method === 'patch' ? client.patch(null, data, part) : client.remove(null, part))
      done += length
      if (!last) break
      rest = { ...query, [id]: { ...query[id], $gt: last[id] } }
      status.textContent = `${done.toLocaleString()} of ${records(count)}`
    }
    return done
  } catch (error) {
    if (done) error.message = `${sentence(method, done)} Then: ${error.message}`
    throw error
  }
}

const partsOf = ({ maxMany }, count) => count > maxMany ? `In parts of ${maxMany.toLocaleString()}. One that is refused ends it; those before it stay.` : null

const records = number => `${number.toLocaleString()} ${number === 1 ? 'record' : 'records'}`

// Which records these are: some of one page, or all that a query finds.
const textOf = ({ count, ids, query }) => ids
  ? `${ids.slice(0, 20).join(', ')}${ids.length > 20 ? ', …' : ''}`
  : `All that match ${decodeURIComponent(toText(query)) || 'without a filter'}: ${count.toLocaleString()} now.`

async function openPatch (view, chosen, done) {
  const { explorer, service } = view
  const { makeForm } = await import('./form.js')
  const status = element('p', { class: 'soft', role: 'status' }, partsOf(service, chosen.count))
  const form = makeForm(explorer, bodyFields(service, 'patch').filter(({ isId }) => !isId), {
    leftOut: 'unchanged',
    submit: `Change ${records(chosen.count)}`,
    cancel: () => opened.close(),
    save: async data => {
      if (Object.keys(data).length === 0) throw new Error('No field is changed yet.')
      const changed = await callAll(view, 'patch', chosen, data, status)
      opened.close()
      done(changed)
    }
  })
  form.classList.remove('card')
  const opened = dialog(`Change ${records(chosen.count)} of ${service.path}`, element('p', { class: 'soft code' }, textOf(chosen)), status, form)
  form.entries[0]?.control.focus()
}

function openRemove (view, chosen, done) {
  const { explorer, service, find } = view
  const status = element('p', { class: 'soft', role: 'status' }, partsOf(service, chosen.count))
  const keys = async () => chosen.ids ?? (await find({ ...chosen.query, $select: [service.id], $limit: MOST_KEYS })).records.map(record => record[service.id])
  askRemoval({
    title: `Remove ${records(chosen.count)} of ${service.path}?`,
    label: `Remove ${records(chosen.count)}`,
    about: element('div', {}, element('p', { class: 'code' }, textOf(chosen)), status),
    remove: async () => done(await callAll(view, 'remove', chosen, null, status)),
    explain: async error => error.code === 409 ? (await import('./related.js')).referrersOf(explorer, service, await keys()) : null
  })
}
