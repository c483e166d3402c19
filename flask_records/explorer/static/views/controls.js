// Controls by the kinds of fields. All of them hold text, as a value is written and read.
import { element } from '../dom.js'

const SHORT = 255
const NUMBER = /^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i

class Unreadable extends Error {}

const area = (rows, attributes = {}) => () => element('textarea', { rows, spellcheck: 'false', ...attributes })
const input = attributes => () => element('input', { autocomplete: 'off', ...attributes })
const code = area(4, { class: 'code' })

const KINDS = {
  text: { make: makeText, write: String, read: text => text },
  longtext: { make: area(4, { spellcheck: null }), write: String, read: text => text },
  integer: { make: input({ inputmode: 'numeric' }), write: String, read: readInteger },
  bigint: { make: input({ inputmode: 'numeric' }), write: String, read: text => matched(text, /^[-+]?\d+$/, 'is not a whole number') },
  number: { make: input({ inputmode: 'decimal' }), write: String, read: readNumber },
  decimal: { make: input({ inputmode: 'decimal' }), write: String, read: text => matched(text, NUMBER, 'is not a number') },
  datetime: { make: input({ type: 'datetime-local', step: 0.001 }), write: writeMoment, read: readMoment },
  date: { make: input({ type: 'date' }), write: String, read: text => text },
  time: { make: input({ type: 'time', step: 0.001 }), write: text => text.slice(0, 12), read: text => text },
  json: { make: code, write: writeJson, read: readJson },
  array: { make: code, write: writeJson, read: readList },
  any: { make: code, write: writeJson, read: readJson },
  binary: { make: area(2, { class: 'code' }), write: String, read: text => matched(text.replace(/\s/g, ''), /^[A-Za-z0-9+/_=-]*$/, 'is not base64') }
}

const WORDS = { longtext: 'text', bigint: 'integer', json: 'JSON', any: 'JSON', array: 'list', binary: 'base64', datetime: 'date and time', enum: 'choice' }

// Returns the word for a kind.
export const wordOf = kind => WORDS[kind] ?? kind

const BOOLEANS = [true, false]

// Returns the values to choose from, or null if a value is typed.
export const choicesOf = field =>
  field.kind === 'boolean' ? BOOLEANS : field.kind === 'enum' ? field.options : null

// Returns whether an empty text is a value of a field.
export const isText = field => ['text', 'longtext', 'binary'].includes(field.kind)

// Returns whether null is written as any other value.
export const isJson = field => ['json', 'array', 'any'].includes(field.kind)

// Returns the value that a text stands for. It throws an error with a phrase that follows the name
// of the field.
export function readText (field, text) {
  if (text === '' && !isText(field)) throw new Unreadable('needs a value')
  const value = KINDS[field.kind].read(text)
  const problem = problemOf(value, field)
  if (problem) throw new Unreadable(problem)
  return value
}

// Returns the control of a field that is typed, with `write(value)`, which returns its text,
// and `read()`, which throws an error as `readText` does.
export function makeControl (field) {
  const { make, write } = KINDS[field.kind]
  const control = make(field)
  return Object.assign(control, { write, read: () => readText(field, control.value) })
}

// A short text is one line until it has more. Enter sends it, as in other inputs.
function makeText ({ plain = {}, relation }) {
  if (plain.writeOnly) return element('input', { type: 'password', autocomplete: 'new-password' })
  if (relation?.isKey || plain.format) return element('input', { autocomplete: 'off' })
  const isShort = plain.maxLength <= SHORT
  const onkeydown = event => {
    if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return
    event.preventDefault()
    event.target.form?.requestSubmit()
  }
  return element('textarea', { rows: 1, ...(isShort ? { onkeydown } : {}) })
}

function problemOf (value, { plain: { minimum, maximum, minLength, maxLength } = {} }) {
  const length = typeof value === 'string' ? [...value].length : null
  if (value < minimum) return `is less than ${minimum}`
  if (value > maximum) return `is greater than ${maximum}`
  if (length !== null && length > maxLength) return `has ${length} characters, of at most ${maxLength}`
  if (length !== null && length < minLength) return `has fewer than ${minLength} characters`
}

function matched (text, pattern, problem) {
  if (!pattern.test(text.trim())) throw new Unreadable(problem)
  return text.trim()
}

// An integer that is too great for a number is sent as text, with all its digits.
function readInteger (text) {
  const digits = matched(text, /^[-+]?\d+$/, 'is not a whole number')
  return Number.isSafeInteger(Number(digits)) ? Number(digits) : digits
}

function readNumber (text) {
  return Number(matched(text, NUMBER, 'is not a number'))
}

// Returns a time as the controls of browsers hold it, or an empty text if it is none.
export function writeMoment (text) {
  const moment = new Date(text ?? Number.NaN)
  if (Number.isNaN(moment.getTime())) return ''
  return new Date(moment.getTime() - moment.getTimezoneOffset() * 60_000).toISOString().slice(0, 23)
}

// Returns the time that a control holds as the server reads it. It throws an error, whose
// message is a phrase, if there is no such time.
export function readMoment (text) {
  const moment = new Date(text).toISOString()
  // Clocks that are put forward leave out an hour, which the date takes for the next one.
  if (!writeMoment(moment).startsWith(text.slice(0, 16))) throw new Error('is a time that your zone leaves out')
  return moment
}

// Returns a note that shows the time of a control as it is sent.
export function addMoment ({ kind }, control) {
  if (kind !== 'datetime') return null
  const note = element('span', { class: 'soft', role: 'status' })
  const show = () => {
    const moment = new Date(control.value)
    note.textContent = Number.isNaN(moment.getTime()) ? '' : `${moment.toISOString().replace('T', ' ').replace(/(\.000)?Z$/, '')} UTC`
  }
  control.addEventListener('input', show)
  return note
}

function writeJson (value) {
  return JSON.stringify(value, null, 2)
}

function readJson (text) {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new Unreadable(`is not JSON: ${error.message}`)
  }
}

function readList (text) {
  const value = readJson(text)
  if (!Array.isArray(value)) throw new Unreadable('is not a list, such as ["a", "b"]')
  return value
}
