// The columns of a table: which there are, and which are shown.
import { button, element } from '../dom.js'
import { described } from '../schema.js'
import { remember, remembered } from '../storage.js'

// Returns the columns of records: the fields of the service, what else is in the records,
// and the relationships that were loaded, beside their keys.
export function columnsOf (service, fields, query, records) {
  const known = new Map(fields.map(field => [field.name, field]))
  for (const name of [service.id, ...records.flatMap(Object.keys)]) {
    if (!known.has(name)) known.set(name, { ...described(name, {}), isId: name === service.id })
  }
  const relations = service.relations ?? {}
  for (const name of query.$populate ?? []) {
    if (Object.hasOwn(relations, name)) known.set(name, { ...described(name, {}), relation: { ...relations[name], name, isKey: false } })
  }
  const selected = query.$select && new Set([service.id, ...query.$select, ...query.$populate ?? []])
  return ordered([...known.values()].filter(({ name }) => !selected || selected.has(name)), relations)
}

// The identifier comes first, and what was loaded beside its key.
function ordered (columns, relations) {
  const place = column => {
    const key = Object.hasOwn(relations, column.name) ? columns.findIndex(({ name }) => name === relations[column.name].field) : -1
    return column.isId ? -1 : key < 0 ? columns.indexOf(column) : key + 0.5
  }
  return columns.toSorted((a, b) => place(a) - place(b))
}

export function isShown (service, { name, isId }) {
  return Boolean(isId) || !remembered('hidden columns', service.path, []).includes(name)
}

// Returns the choice of columns and of relationships.
export function columnsPanel (view) {
  const { service } = view
  const boxes = view.columns.filter(({ isId }) => !isId).map(column => {
    const control = element('input', { type: 'checkbox', checked: isShown(service, column) })
    return { control, name: column.name, node: element('label', { class: 'check' }, control, column.name) }
  })
  const keep = () => {
    remember('hidden columns', service.path, boxes.filter(({ control }) => !control.checked).map(({ name }) => name))
    view.draw()
  }
  const setAll = checked => () => {
    for (const { control } of boxes) control.checked = checked
    keep()
  }
  for (const { control } of boxes) control.addEventListener('change', keep)
  return element('div', { class: 'stack' },
    element('fieldset', {}, element('legend', {}, 'Columns'), element('div', { class: 'checks' }, boxes.map(({ node }) => node)),
      element('div', { class: 'row' }, button('Show all', setAll(true)), button('Hide all', setAll(false)))),
    relationsChoice(view))
}

function relationsChoice (view) {
  const names = view.service.query?.properties?.$populate?.items?.enum ?? []
  if (names.length === 0) return null
  const boxes = names.map(name => element('input', { type: 'checkbox', checked: view.query.$populate?.includes(name) ?? false, 'data-key': `populate ${name}` }))
  const choose = () => {
    const chosen = names.filter((_, index) => boxes[index].checked)
    view.go({ ...view.query, $populate: chosen.length ? chosen : undefined })
  }
  for (const box of boxes) box.addEventListener('change', choose)
  const labels = names.map((name, index) => element('label', { class: 'check' }, boxes[index], name))
  return element('fieldset', {}, element('legend', {}, 'Load related records'), element('div', { class: 'checks' }, labels))
}
