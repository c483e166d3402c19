// One field of a form: left out, null, or a value.
import { element, field as labelled } from '../dom.js'
import { Choice } from './choice.js'
import { choicesOf, wordOf } from './controls.js'
import { Typed } from './typed.js'

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
