// A table of records, whose rows stay as long as their records do.
import { element, moveByArrows, replace } from '../dom.js'
import { recordLink } from '../links.js'
import { isKey, valueOf } from '../schema.js'
import { show } from '../values.js'

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
    const keys = records.map((record, index) => keyOf(record, this.view.service, index))
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
const keyOf = (record, { id }, index) => isKey(record[id]) ? String(record[id]) : `#${index}`

// Places rows, without moving those that are there.
function place (body, rows) {
  const isThere = rows.length === body.children.length && rows.every((row, index) => row === body.children[index])
  if (!isThere) body.replaceChildren(...rows)
}
