// A choice of values, with null and being left out among its options.
import { element } from '../dom.js'
import { choicesOf } from './controls.js'

const textOf = value => typeof value === 'string' ? value || '(empty text)' : JSON.stringify(value)

export class Choice {
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
