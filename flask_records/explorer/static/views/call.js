// One call: its steps in order, its statements with their plans, and warnings.
import { element, replace } from '../dom.js'
import { address } from '../main.js'

const INDENT = 1.25
const MIN_WIDTH = 0.5
const MAX_NUMBERS = 12

export function showCall (place, call) {
  replace(place,
    element('h1', { tabindex: -1 }, `${call.path}.${call.method}`),
    element('p', {}, element('a', { href: address('calls') }, 'All calls')),
    summary(call), warnings(call), steps(call), statements(call))
}

function summary ({ provider, status, error, at, milliseconds, data, query }) {
  const pairs = [
    ['Result', error ? `${status} ${error}` : String(status)],
    ['Time', `${inWords(milliseconds)}, at ${new Date(at).toLocaleString()}`],
    ['Through', provider ?? 'Python'],
    ['Fields in data', data.join(', ')],
    ['Names in query', query.join(', ')]
  ]
  const shown = pairs.filter(([, text]) => text !== '')
  return element('dl', { class: 'pairs card' }, shown.map(([name, text]) => [element('dt', {}, name), element('dd', {}, text)]))
}

// Returns a time with as many digits as tell something.
export const inDigits = milliseconds => milliseconds.toFixed(milliseconds < 10 ? 2 : 1)

const inWords = milliseconds => milliseconds === null ? 'not ended' : `${inDigits(milliseconds)} ms`

function warnings ({ warnings }) {
  const found = warnings.map(({ text, statements }) => element('li', {}, text, ' ', numbers(statements)))
  const text = found.length ? element('ul', { class: 'warnings' }, found) : element('p', { class: 'soft' }, 'There are none.')
  return element('section', { class: 'stack part', 'aria-label': 'Warnings' }, element('h2', {}, 'Warnings'), text)
}

function numbers (places) {
  if (places.length === 0) return null
  const shown = places.slice(0, MAX_NUMBERS).map(place => place + 1).join(', ')
  const word = places.length === 1 ? 'Statement' : 'Statements'
  return element('span', { class: 'soft' }, `${word} ${shown}${places.length > MAX_NUMBERS ? ' …' : ''}`)
}

function steps (call) {
  const rows = call.parts.flatMap(part => flat(part, 0)).map(([part, depth]) => step(part, depth, call))
  const heads = ['Step', 'Function', 'ms', 'Statements', 'From begin to end'].map(text => element('th', { scope: 'col' }, text))
  const caption = 'The steps of the call, in their order'
  return element('section', { class: 'stack part', 'aria-label': 'Steps' }, element('h2', {}, 'Steps'),
    element('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': caption },
      element('table', { class: 'calls' }, element('caption', {}, caption), element('thead', {}, element('tr', {}, heads)), element('tbody', {}, rows))),
    leftOut(call.partsLeftOut, 'steps'))
}

const flat = (part, depth) => [[part, depth], ...part.parts.flatMap(each => flat(each, depth + 1))]

function step ({ phase, name, error, start, milliseconds, statements }, depth, call) {
  const title = element('td', { class: 'code' }, name, error ? element('span', { class: 'failed' }, ` ${error}`) : null)
  title.style.paddingInlineStart = `${0.75 + depth * INDENT}rem`
  return element('tr', {},
    element('th', { scope: 'row' }, phase), title,
    element('td', { class: 'number' }, milliseconds === null ? '–' : inDigits(milliseconds)),
    element('td', { class: 'number' }, String(statements)),
    element('td', { class: 'bars' }, bar(start, milliseconds ?? 0, call.milliseconds)))
}

function bar (start, milliseconds, all) {
  const made = element('span', { class: 'bar', 'aria-hidden': 'true' })
  const width = Math.max(100 * milliseconds / all, MIN_WIDTH)
  made.style.marginInlineStart = `${Math.min(100 * start / all, 100 - MIN_WIDTH)}%`
  made.style.inlineSize = `${Math.min(width, 100)}%`
  return made
}

function statements (call) {
  const list = call.statements.length
    ? element('ol', { class: 'statements stack' }, call.statements.map(statement))
    : element('p', { class: 'soft' }, 'The call has run none.')
  return element('section', { class: 'stack part', 'aria-label': 'Statements' },
    element('h2', {}, 'Statements'), list, leftOut(call.statementsLeftOut, 'statements'))
}

function statement ({ sql, milliseconds, rows, phase, name, origin, plan }, index) {
  const words = [
    milliseconds === null ? 'failed' : inWords(milliseconds),
    rows === null ? null : rows === 1 ? '1 row' : `${rows} rows`,
    phase && `in ${phase} ${name}`
  ].filter(Boolean)
  return element('li', { class: 'card stack' },
    element('p', {}, element('strong', {}, `Statement ${index + 1}`), ` ${words.join(', ')}`),
    origin ? element('p', { class: 'soft' }, 'For ', element('code', {}, origin)) : null,
    element('pre', { tabindex: 0, 'aria-label': `SQL of statement ${index + 1}` }, sql),
    plan ? planOf(plan, index) : null)
}

function planOf ({ lines, problem }, index) {
  if (problem) return element('p', { class: 'soft' }, `No plan: ${problem}`)
  if (lines.length === 0) return element('p', { class: 'soft' }, 'The database has no plan for it.')
  return element('details', {}, element('summary', {}, 'Plan'),
    element('pre', { tabindex: 0, 'aria-label': `Plan of statement ${index + 1}` }, lines.join('\n')))
}

const leftOut = (number, things) => number > 0
  ? element('p', { class: 'soft' }, `${number.toLocaleString()} more ${things} are not kept.`)
  : null
