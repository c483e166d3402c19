// A value that is typed, with its state beside it: left out, null, or a value.
import { element } from '../dom.js'
import { addMoment, isJson, isText, makeControl } from './controls.js'
import { addFile } from './files.js'
import { addPicker } from './picker.js'

const WIDE = 80

export class Typed {
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
    const empty = isText(this.field) ? 'empty text' : ''
    this.control.placeholder = this.state === 'value' ? empty : this.states.selectedOptions[0].text
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

const choiceOf = (field, states) => element('select', { class: 'state', 'aria-label': `What is sent as ${field.name}` },
  [...states, ['value', 'value']].map(([value, text]) => element('option', { value }, text)))
