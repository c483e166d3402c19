// One field of a form: left out, null, or a value.
import { element, field as labelled } from '../dom.js'
import { choicesOf, isJson, isText, makeControl, wordOf } from './controls.js'
import { addFile } from './files.js'
import { addPicker } from './picker.js'

const WIDE = 80
const ZONE = Intl.DateTimeFormat().resolvedOptions().timeZone

// Returns an entry: a node with `isChanged()`, `isSent()`, `read()`, `renew(value)` and
// `showError(text)`.
// - `value`: what it begins with; undefined if it is left out until it is typed.
// - `leftOut`: the word for leaving it out, or null if it has to be sent.
export function makeEntry (explorer, field, { value, leftOut }) {
  const choices = choicesOf(field)
  const states = [leftOut && ['out', leftOutOf(field, leftOut)], field.isNullable && ['null', 'null']].filter(Boolean)
  const parts = choices ? choice(field, choices, states) : typed(explorer, field, states)
  const node = labelled(field.label, parts.control, hintOf(field))
  node.classList.add('entry')
  if (field.isRequired) parts.control.setAttribute('aria-required', 'true')
  node.querySelector('label').after(element('span', { class: 'row about' }, element('span', { class: 'soft' }, aboutOf(field)), parts.state))
  parts.control.after(...parts.extras)
  parts.write(value)
  let before = parts.snapshot()
  return Object.assign(node, {
    name: field.name,
    isChanged: () => parts.snapshot() !== before,
    isSent: () => parts.stateOf() !== 'out',
    read: () => parts.stateOf() === 'null' ? null : parts.read(),
    renew: value => {
      const mine = parts.snapshot() === before ? null : parts.keep()
      parts.write(value)
      before = parts.snapshot()
      mine?.()
    }
  })
}

// A choice has null, and being left out, among its options.
function choice (field, choices, states) {
  const values = choices.map((value, index) => [String(index), typeof value === 'string' ? value || '(empty text)' : JSON.stringify(value)])
  const options = states.some(([state]) => state === 'out') ? [...states, ...values] : [['', 'Choose…'], ...states, ...values]
  const control = element('select', {}, options.map(([value, text]) => element('option', { value }, text)))
  return {
    control,
    state: null,
    extras: [],
    snapshot: () => control.value,
    keep: () => { const kept = control.value; return () => { control.value = kept } },
    stateOf: () => ['null', 'out'].includes(control.value) ? control.value : 'value',
    write: value => {
      const wanted = value === null ? 'null' : value === undefined ? options[0][0] : String(choices.indexOf(value))
      control.value = wanted
      // The value of a record may be none of those that are written.
      if (control.selectedIndex === -1) control.value = options[0][0]
    },
    read: () => {
      if (control.value === '') throw new Error('needs a value')
      return choices[Number(control.value)]
    }
  }
}

// What is typed has its state beside it, so that null and an empty text are told apart.
function typed (explorer, field, states) {
  const control = makeControl(field)
  const state = states.length ? stateChoice(field, states) : null
  const mark = () => {
    const isEmpty = control.value === ''
    control.placeholder = !state || state.value === 'value' ? (isEmpty && isText(field) ? 'empty text' : '') : state.selectedOptions[0].text
    control.classList.toggle('left-out', Boolean(state) && state.value !== 'value')
  }
  const change = () => {
    if (state) state.value = control.value !== '' || isText(field) ? 'value' : states[0][0]
    mark()
  }
  control.addEventListener('input', change)
  state?.addEventListener('change', () => {
    if (state.value !== 'value') control.value = ''
    else control.focus()
    mark()
  })
  const write = value => {
    if (value === undefined || (value === null && !(isJson(field) && !field.isNullable))) control.value = ''
    else control.write(value)
    control.classList.toggle('wide', control.value.length > WIDE || control.value.includes('\n'))
    if (state) state.value = value === undefined ? states[0][0] : value === null ? 'null' : 'value'
    mark()
  }
  return {
    control,
    state,
    extras: [addPicker(explorer, field, control), addFile(field, control, change)].filter(Boolean),
    snapshot: () => `${state?.value ?? 'value'}:${control.value}`,
    keep: () => {
      const [text, kind] = [control.value, state?.value]
      return () => {
        control.value = text
        if (state) state.value = kind
        mark()
      }
    },
    stateOf: () => state?.value ?? 'value',
    write,
    read: () => control.read()
  }
}

const stateChoice = (field, states) => element('select', { class: 'state', 'aria-label': `What is sent as ${field.name}` },
  [...states, ['value', 'value']].map(([value, text]) => element('option', { value }, text)))

const leftOutOf = (field, word) =>
  word === 'default' && field.default !== undefined && field.default !== null ? `default: ${JSON.stringify(field.default)}` : word

function aboutOf ({ kind, plain = {}, relation, isRequired }) {
  const limit = plain.maxLength ? `, at most ${plain.maxLength.toLocaleString()}` : ''
  const from = relation?.isKey ? `, of ${relation.path}` : ''
  return `${wordOf(kind)}${limit}${from}${isRequired ? ', required' : ''}`
}

const hintOf = ({ kind, hint }) =>
  [hint, kind === 'datetime' && `In your zone, ${ZONE}. It is sent as UTC.`].filter(Boolean).join(' ') || null
