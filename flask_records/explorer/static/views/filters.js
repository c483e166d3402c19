// The builder of filters, which knows the types and operators of fields.
import { button, element, replace } from '../dom.js'
import { cast, isPair, labelOf, readConditions, toText, writeConditions } from '../query.js'
import { text } from '../values.js'
import { readMoment, writeMoment } from './controls.js'
import { phrase } from './problems.js'

const TYPES = { integer: 'number', number: 'number', datetime: 'datetime-local', date: 'date', time: 'time' }
const MISSING = 'Enter a value.'
const OF_BOOLEANS = ['$eq', '$ne', '$null']
const WITH_EMPTY = ['text', 'longtext', 'binary']

// Returns the form of a query's conditions. It applies a query without the others.
export function filterForm (view, apply, { isOpened = false } = {}) {
  const { queried: fields, service } = view
  const found = readConditions(view.conditions, fields)
  const groups = [group('All of these hold', fields, found.all)]
  const hasAny = Object.hasOwn(service.query?.properties ?? {}, '$or')
  if (hasAny) groups.push(group('And one of these holds', fields, found.any))
  if (isOpened && !found.all.length) groups[0].add()
  const form = element('form', { class: 'filters stack', novalidate: true }, groups.map(each => each.node),
    element('div', { class: 'row' },
      element('button', { type: 'submit', class: 'main', 'data-key': 'apply' }, 'Apply'),
      button('Clear', () => apply({}), { 'data-key': 'clear' })))
  form.addEventListener('submit', event => {
    event.preventDefault()
    const [all, any = found.any] = groups.map(each => each.read())
    if (all && any) apply(writeConditions({ all, any, rest: found.rest }))
  })
  return form
}

function group (title, fields, conditions) {
  const filterable = fields.filter(each => operatorsOf(each).length)
  const list = element('ul', { class: 'stack' })
  const rows = new Set()
  const add = (condition = first(filterable), hasFocus = true) => {
    if (!condition) return
    const row = conditionRow(filterable, condition, () => {
      rows.delete(row)
      row.node.remove()
      more.focus()
    })
    rows.add(row)
    list.append(row.node)
    if (hasFocus) row.node.querySelector('select').focus()
  }
  const more = button('Add a condition', () => add(), { disabled: filterable.length === 0 })
  for (const condition of conditions) add(condition, false)
  const node = element('fieldset', {}, element('legend', {}, title), list, more)
  const read = () => {
    const read = [...rows].map(row => row.read())
    return read.every(Boolean) ? read : null
  }
  return { node, read, add }
}

const first = fields => fields.length ? { field: fields[0], operator: operatorsOf(fields[0])[0].name } : null

// Returns the operators that a field can have in this builder.
function operatorsOf (field) {
  if (!field.isQueried) return []
  const fitting = field.operators.filter(({ name }) => field.kind !== 'boolean' || OF_BOOLEANS.includes(name))
  const own = fitting.length ? fitting : [{ name: '$eq', schema: field.schema, kind: field.kind, isList: false }]
  const isTold = own.some(({ name }) => name === '$null') || WITH_EMPTY.includes(field.kind)
  const nulls = field.isNullable && !isTold ? ['$eq', '$ne'].filter(name => own.some(each => each.name === name)) : []
  return [...own, ...nulls.map(name => ({ name, isNull: true }))]
}

const titleOf = ({ name, isNull }, field) => isNull ? `${labelOf(name, field)} null` : `${labelOf(name, field) ?? 'fits'} (${name})`

function conditionRow (fields, condition, remove) {
  const names = element('select', { 'aria-label': 'Field' }, fields.map(({ name }) => element('option', { value: name, selected: name === condition.field.name }, name)))
  const operators = element('select', { 'aria-label': 'Operator' })
  const place = element('div', { class: 'value' })
  const error = element('p', { class: 'field-error', role: 'alert' })
  let input
  const field = () => fields[names.selectedIndex]
  const operator = () => operatorsOf(field())[operators.selectedIndex]
  const drawInput = value => {
    input = inputFor(field(), operator(), value)
    replace(place, input.node)
  }
  const drawOperators = ({ operator: name, value }) => {
    const isNull = value === null
    replace(operators, operatorsOf(field()).map(each => element('option', { selected: each.name === name && Boolean(each.isNull) === isNull }, titleOf(each, field()))))
    drawInput(value)
  }
  names.addEventListener('change', () => drawOperators({ operator: operatorsOf(field())[0].name }))
  operators.addEventListener('change', () => drawInput())
  drawOperators(condition)
  const read = () => {
    error.textContent = ''
    try {
      return { field: field(), operator: operator().name, value: input.read() }
    } catch ({ message }) {
      error.textContent = phrase(field().name, message)
      place.querySelector('input, select, textarea')?.focus()
    }
  }
  const node = element('li', { class: 'condition' }, names, operators, place, button('×', remove, { class: 'quiet', 'aria-label': 'Remove the condition' }), error)
  return { node, read }
}

function inputFor (field, { name, schema, kind, isList, isNull }, value) {
  if (isNull) return { node: element('span'), read: () => null }
  if (isPair(schema)) return pairInput(field, Array.isArray(value) ? value : [])
  const compared = { ...field, kind, options: kind === 'enum' ? field.options : [] }
  if (isList) return listInput(compared, Array.isArray(value) ? value : [])
  return oneInput(compared, value, { mayBeEmpty: WITH_EMPTY.includes(kind) && ['$eq', '$ne'].includes(name) })
}

// Returns the conditions in short, each of which can be removed.
export function filterSummary (view, apply) {
  const found = readConditions(view.conditions, view.queried)
  const chip = (label, without) => element('li', { class: 'chip' }, element('span', {}, label),
    button('×', () => apply(writeConditions(without)), { class: 'quiet', 'aria-label': `Remove the condition ${label}` }))
  const chips = ['all', 'any'].flatMap(name => found[name].map(condition =>
    chip(`${name === 'any' ? 'or: ' : ''}${described(condition)}`, { ...found, [name]: found[name].filter(each => each !== condition) })))
  const rest = Object.entries(found.rest).map(([name, value]) => {
    const { [name]: gone, ...others } = found.rest
    return chip(decodeURIComponent(toText({ [name]: value })), { ...found, rest: others })
  })
  return chips.length + rest.length ? element('ul', { class: 'chips', 'aria-label': 'Conditions' }, chips, rest) : null
}

function described ({ field, operator, value }) {
  const shown = [value].flat().map(each => each === '' ? 'empty text' : text(each, field)).join(operator === '$between' ? ' and ' : ', ')
  return `${field.name} ${labelOf(operator, field) ?? operator} ${shown}`
}

// Returns `{ node, read }` for one value. Reading throws if there is none that fits.
function oneInput (field, value, { mayBeEmpty = false, label = 'Value' } = {}) {
  const { kind } = field
  const control = choices(field) ? choice(field, value, label) : plain(kind, value, label)
  const read = () => {
    const text = control.value
    if (control.validity.badInput || (text === '' && !mayBeEmpty)) throw new Error(MISSING)
    if (kind === 'datetime' && text) return readMoment(text)
    return control.tagName === 'SELECT' ? choices(field)[control.selectedIndex] : cast(kind, text)
  }
  return { node: control, read }
}

const choices = ({ kind, options }) => kind === 'boolean' ? [true, false] : kind === 'enum' ? options : null

function choice (field, value, label) {
  const options = choices(field).map(each => element('option', { selected: each === value }, String(each)))
  return element('select', { 'aria-label': label }, options)
}

function plain (kind, value, label) {
  const isCode = ['json', 'array', 'any', 'binary'].includes(kind)
  return element('input', {
    type: TYPES[kind] ?? 'text',
    step: TYPES[kind] ? (kind === 'integer' ? 1 : 'any') : null,
    inputmode: kind === 'bigint' ? 'numeric' : null,
    class: isCode ? 'code' : null,
    placeholder: ['json', 'array'].includes(kind) ? 'JSON' : kind === 'binary' ? 'base64' : null,
    spellcheck: 'false',
    autocomplete: 'off',
    'aria-label': label,
    value: kind === 'datetime' ? writeMoment(value) : value ?? ''
  })
}

// Returns `{ node, read }` for a list of values.
function listInput (field, values = []) {
  return choices(field) ? checks(field, values) : lines(field, values)
}

function checks (field, values) {
  const boxes = choices(field).map(option => element('input', { type: 'checkbox', checked: values.includes(option) }))
  const labels = choices(field).map((option, index) => element('label', { class: 'check' }, boxes[index], String(option)))
  const read = () => filled(choices(field).filter((_, index) => boxes[index].checked))
  return { node: element('div', { class: 'checks', role: 'group', 'aria-label': 'Values' }, labels), read }
}

function lines (field, values) {
  const control = element('textarea', { rows: Math.min(6, Math.max(2, values.length)), 'aria-label': 'Values, one on each line', placeholder: 'One on each line', spellcheck: 'false' })
  control.value = values.join('\n')
  const read = () => filled(control.value.split('\n').filter(line => line.trim()).map(line => cast(field.kind, line.trim())))
  return { node: control, read }
}

function filled (values) {
  if (values.length === 0) throw new Error(MISSING)
  return values
}

// Returns `{ node, read }` for two values.
function pairInput (field, values = []) {
  const [first, second] = [oneInput(field, values[0], { label: 'From' }), oneInput(field, values[1], { label: 'To' })]
  return { node: element('div', { class: 'pair' }, first.node, element('span', { class: 'soft' }, 'and'), second.node), read: () => [first.read(), second.read()] }
}
