// The table of records: its columns, and its rows, which stay as long as their records do.
import { button, element, moveByArrows, replace } from '../dom.js'
import { keyOf } from '../requests.js'
import { described, isKey, valueOf } from '../schema.js'
import { recordLink, show } from '../values.js'

const NUMBERS = ['integer', 'number', 'bigint', 'decimal']

export class Table {
  constructor (view) {
    this.view = view
    this.head = element('tr')
    this.body = element('tbody')
    this.caption = element('caption', {}, 'Loading …')
    this.rows = new Map()
    this.layout = ''
    const table = element('table', {}, this.caption, element('thead', {}, this.head), this.body)
    moveByArrows(this.head, '.sort', '.sort', ['ArrowLeft', 'ArrowRight'])
    this.node = element('div', { class: 'scroll records', tabindex: '0', role: 'region', 'aria-label': `Records of ${view.service.path}` }, table)
  }

  // Draws records. Those that are not as before are marked if asked.
  draw (columns, records, { isMarked, caption, nothing }) {
    const width = columns.length + (this.view.many ? 1 : 0)
    const layout = JSON.stringify(columns.map(({ name, relation }) => [name, relation]))
    const before = layout === this.layout ? this.rows : new Map()
    this.layout = layout
    this.caption.textContent = caption
    replace(this.head, this.all(records), columns.map(column => this.header(column)))
    // Tab goes to one of them, and arrow keys to the others.
    this.head.querySelectorAll('.sort').forEach((each, index) => { each.tabIndex = index ? -1 : 0 })
    const keys = records.map((record, index) => rowKey(record, this.view.service, index))
    this.rows = new Map(records.map((record, index) => [keys[index], this.row(columns, record, before.get(keys[index]), isMarked)]))
    const rows = [...this.rows.values()].map(({ node }) => node)
    place(this.body, rows.length ? rows : [element('tr', {}, element('td', { colspan: width, class: 'nothing' }, nothing))])
  }

  header (column) {
    if (!column.isSortable) return element('th', { scope: 'col', title: column.hint, class: classOf(column) }, column.name)
    const way = this.view.query.$sort?.[column.name]
    const sort = { 1: 'ascending', '-1': 'descending' }[way] ?? 'none'
    const control = element('button', { type: 'button', class: 'quiet sort', title: column.hint, 'data-key': `sort ${column.name}`, onclick: event => this.view.sort(column.name, event.shiftKey) },
      column.name, element('span', { 'aria-hidden': 'true', class: 'way' }, { 1: '↑', '-1': '↓' }[way] ?? '↕'))
    return element('th', { scope: 'col', 'aria-sort': sort, class: classOf(column) }, control)
  }

  row (columns, record, before, isMarked) {
    const text = JSON.stringify(record)
    if (before?.text === text) {
      before.node.classList.remove('changed')
      for (const cell of before.node.querySelectorAll('.changed')) cell.classList.remove('changed')
      return before
    }
    const isChanged = ({ name }) => isMarked && before && JSON.stringify(valueOf(before.record, name)) !== JSON.stringify(valueOf(record, name))
    const cells = columns.map(column => this.cell(column, record, isChanged(column)))
    return { text, record, node: element('tr', { class: isMarked && !before ? 'changed' : null }, this.box(record), cells) }
  }

  // A box that selects a record, if something can be done with many.
  box (record) {
    const { service, selected, many } = this.view
    if (!many) return null
    const id = record[service.id]
    const onchange = event => {
      this.view.select(id, event.target.checked)
      this.drawAll()
    }
    return element('td', { class: 'box' }, element('input', { type: 'checkbox', 'aria-label': `Select ${id}`, checked: selected.has(id), disabled: !isKey(id), 'data-key': `select ${id}`, onchange }))
  }

  all (records) {
    const { service, many } = this.view
    if (!many) return null
    const onchange = ({ target }) => {
      for (const record of records) this.view.select(record[service.id], target.checked)
      for (const box of this.body.querySelectorAll('.box input:enabled')) box.checked = target.checked
    }
    this.ofAll = element('input', { type: 'checkbox', 'aria-label': 'Select all on this page', 'data-key': 'select', onchange })
    this.drawAll()
    return element('td', { class: 'box' }, this.ofAll)
  }

  drawAll () {
    const { selected, records } = this.view
    const keys = records.filter(record => isKey(record[this.view.service.id]))
    const chosen = keys.filter(record => selected.has(record[this.view.service.id])).length
    this.ofAll.checked = chosen > 0 && chosen === keys.length
    this.ofAll.indeterminate = chosen > 0 && chosen < keys.length
  }

  cell (column, record, isChanged) {
    const { explorer, service } = this.view
    const value = valueOf(record, column.name)
    const shown = column.isId && isKey(value) ? recordLink(service, value, String(value), { 'data-key': `row ${value}` }) : show(shortOf(value, column), column, explorer)
    const names = [classOf(column), isChanged ? 'changed' : null].filter(Boolean).join(' ')
    return element(column.isId ? 'th' : 'td', { scope: column.isId ? 'row' : null, class: names || null, title: shortOf(value, column) === value ? null : value }, shown)
  }
}

const classOf = ({ kind, relation, isId }) => NUMBERS.includes(kind) && !relation && !isId ? 'numbers' : null

// Returns a floating-point number with six digits, or one after the point.
function shortOf (value, { kind }) {
  if (kind !== 'number' || typeof value !== 'number') return value
  return Math.abs(value) < 1e5 ? Number(value.toPrecision(6)) : Math.round(value * 10) / 10
}

// Records without a key of their own are known by their place.
const rowKey = (record, { id }, index) => isKey(record[id]) ? String(record[id]) : `#${index}`

// Places rows, without moving those that are there.
function place (body, rows) {
  const isThere = rows.length === body.children.length && rows.every((row, index) => row === body.children[index])
  if (!isThere) body.replaceChildren(...rows)
}

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

// Returns a choice of the reader for a service, or another value. This browser remembers them.
export function remembered (name, path, other) {
  try {
    return JSON.parse(localStorage.getItem(keyOf(`${name} ${path}`))) ?? other
  } catch {
    return other
  }
}

export function remember (name, path, value) {
  try {
    localStorage.setItem(keyOf(`${name} ${path}`), JSON.stringify(value))
  } catch {
    // The choice lasts as long as the view.
  }
}
