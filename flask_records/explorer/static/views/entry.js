// One field of a form: left out, null, or a value, which is chosen or typed.
import { announce, button, element, field as labelled, replace } from '../dom.js'
import { binary } from '../values.js'
import { addMoment, choicesOf, isJson, isText, makeControl, wordOf } from './controls.js'
import { addPicker } from './picker.js'

const WIDE = 80
const ZONE = Intl.DateTimeFormat().resolvedOptions().timeZone

// Returns an entry: a node with `isChanged()`, `isSent()`, `read()`, `renew(value)` and
// `showError(text)`.
// - `value`: what it begins with; undefined if it is left out until it is typed.
// - `leftOut`: the word for leaving it out, or null if it has to be sent.
export function makeEntry (explorer, field, { value, leftOut }) {
  const states = [leftOut && ['out', leftOutOf(field, leftOut)], field.isNullable && ['null', 'null']].filter(Boolean)
  const input = choicesOf(field) ? new Choice(field, states) : new Typed(explorer, field, states)
  const node = draw(field, input)
  input.write(value)
  let before = input.snapshot()
  return Object.assign(node, {
    name: field.name,
    isChanged: () => input.snapshot() !== before,
    snapshot: () => input.snapshot(),
    text: () => input.state === 'null' ? 'null' : input.state === 'out' ? leftOut : input.control.selectedOptions?.[0].text ?? input.control.value,
    isSent: () => input.state !== 'out',
    read: () => input.state === 'null' ? null : input.read(),
    renew: value => {
      const typed = input.snapshot() === before ? null : input.snapshot()
      input.write(value)
      before = input.snapshot()
      if (typed !== null) input.restore(typed)
    }
  })
}

function draw (field, input) {
  const node = labelled(field.label, input.control, hintOf(field))
  const about = element('span', { class: 'row about' }, element('span', { class: 'soft' }, aboutOf(field)), input.states)
  node.classList.add('entry')
  if (field.isRequired) input.control.setAttribute('aria-required', 'true')
  node.querySelector('label').after(about)
  input.control.after(...input.extras)
  // Tab goes from control to control, and Shift+Tab from one to its state.
  for (const [event, tabIndex] of input.states ? [['focusin', 0], ['focusout', -1]] : []) {
    node.addEventListener(event, () => { input.states.tabIndex = tabIndex })
  }
  return node
}

const leftOutOf = (field, word) =>
  word === 'default' && field.default !== undefined && field.default !== null ? `default: ${JSON.stringify(field.default)}` : word

function aboutOf ({ kind, plain = {}, relation, isRequired }) {
  const limit = plain.maxLength ? `, at most ${plain.maxLength.toLocaleString()}` : ''
  const from = relation?.isKey ? `, of ${relation.path}` : ''
  return `${wordOf(kind)}${limit}${from}${isRequired ? ', required' : ''}`
}

const hintOf = ({ kind, hint }) =>
  [hint, kind === 'datetime' && `In your zone, ${ZONE}. It is sent as UTC.`].filter(Boolean).join(' ') || null

const textOf = value => typeof value === 'string' ? value || '(empty text)' : JSON.stringify(value)

// A choice of values, with null and being left out among its options.
class Choice {
  // `states` are pairs of a state, 'out' or 'null', and its word.
  constructor (field, states) {
    this.choices = choicesOf(field)
    this.start = states.some(([state]) => state === 'out') ? 'out' : ''
    const values = this.choices.map((value, index) => [String(index), textOf(value)])
    const options = [...(this.start === '' ? [['', 'Choose…']] : []), ...states, ...values]
    this.control = element('select', {}, options.map(([value, text]) => element('option', { value }, text)))
    this.states = null
    this.extras = []
  }

  get state () {
    return ['null', 'out'].includes(this.control.value) ? this.control.value : 'value'
  }

  snapshot () {
    return this.control.value
  }

  restore (snapshot) {
    this.control.value = snapshot
  }

  // The value of a record may be none of those that are written.
  write (value) {
    this.control.value = value === undefined ? this.start : value === null ? 'null' : String(this.choices.indexOf(value))
    if (this.control.selectedIndex === -1) this.control.value = this.start
  }

  read () {
    if (this.control.value === '') throw new Error('needs a value')
    return this.choices[Number(this.control.value)]
  }
}

// A value that is typed, with its state beside it.
class Typed {
  // `states` are pairs of a state, 'out' or 'null', and its word.
  constructor (explorer, field, states) {
    this.field = field
    this.first = states[0]?.[0]
    this.control = makeControl(field)
    this.states = states.length ? choiceOf(field, states) : null
    this.extras = [addPicker(explorer, field, this.control), addFile(field, this.control, () => this.type()), addMoment(field, this.control)].filter(Boolean)
    this.control.addEventListener('input', () => this.type())
    this.states?.addEventListener('change', () => this.choose())
  }

  get state () {
    return this.states?.value ?? 'value'
  }

  // What is typed is a value. An empty control is one only of a text.
  type () {
    if (this.states) this.states.value = this.control.value !== '' || isText(this.field) ? 'value' : this.first
    this.mark()
  }

  choose () {
    if (this.state === 'value') this.control.focus()
    else this.control.value = ''
    this.mark()
  }

  mark () {
    // What stands in the choice beside it is not said again.
    this.control.placeholder = this.states && this.state === 'value' && isText(this.field) ? 'empty text' : ''
    this.control.classList.toggle('left-out', this.state !== 'value')
  }

  snapshot () {
    return JSON.stringify([this.state, this.control.value])
  }

  restore (snapshot) {
    const [state, text] = JSON.parse(snapshot)
    this.put(state, text)
  }

  write (value) {
    const isNull = value === null && !(isJson(this.field) && !this.field.isNullable)
    if (value === undefined) this.put(this.first, '')
    else if (isNull) this.put('null', '')
    else this.put('value', this.control.write(value))
    this.control.classList.toggle('wide', this.control.value.length > WIDE || this.control.value.includes('\n'))
  }

  put (state, text) {
    this.control.value = text
    if (this.states) this.states.value = state
    if (this.states?.selectedIndex === -1) this.states.value = this.first
    this.mark()
  }

  read () {
    return this.control.read()
  }
}

const choiceOf = (field, states) => element('select', { class: 'state', tabIndex: -1, 'aria-label': `What is sent as ${field.name}` },
  [...states, ['value', 'value']].map(([value, text]) => element('option', { value }, text)))

// Returns a button that reads a file into a control as base64, or null for other fields.
function addFile ({ kind, name }, control, change) {
  if (kind !== 'binary') return null
  const preview = element('span')
  const draw = () => {
    const text = control.value.trim()
    replace(preview, /^[A-Za-z0-9+/]+=*$/.test(text) && text.length % 4 === 0 ? binary(text, { name }) : null)
  }
  control.addEventListener('input', draw)
  // The value is written once the entry is whole.
  queueMicrotask(draw)
  const size = element('span', { class: 'soft', role: 'status' })
  const chooser = element('input', {
    type: 'file',
    hidden: true,
    onchange: async () => {
      const [file] = chooser.files
      if (!file) return
      try {
        control.value = await base64(file)
        size.textContent = `${file.name}, ${file.size.toLocaleString()} bytes`
        change()
        draw()
      } catch (error) {
        announce(error.message, 'error')
      }
    }
  })
  return element('span', { class: 'row' }, preview, button('Choose a file…', () => chooser.click(), { 'aria-label': `Choose a file for ${name}` }), size, chooser)
}

const base64 = file => new Promise((resolve, reject) => {
  const reader = new FileReader()
  reader.addEventListener('load', () => resolve(reader.result.slice(reader.result.indexOf(',') + 1)))
  reader.addEventListener('error', () => reject(reader.error))
  reader.readAsDataURL(file)
})
