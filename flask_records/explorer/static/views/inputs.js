// Controls for the values of conditions.
import { element } from '../dom.js'
import { cast } from '../query.js'
import { readMoment, writeMoment } from './controls.js'

const TYPES = { integer: 'number', number: 'number', datetime: 'datetime-local', date: 'date', time: 'time' }
const MISSING = 'Enter a value.'

// Returns `{ node, read }` for one value. Reading throws if there is none that fits.
export function oneInput (field, value, { mayBeEmpty = false, label = 'Value' } = {}) {
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
export function listInput (field, values = []) {
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
export function pairInput (field, values = []) {
  const [first, second] = [oneInput(field, values[0], { label: 'From' }), oneInput(field, values[1], { label: 'To' })]
  return { node: element('div', { class: 'pair' }, first.node, element('span', { class: 'soft' }, 'and'), second.node), read: () => [first.read(), second.read()] }
}
