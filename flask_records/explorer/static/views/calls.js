// The last calls: a list that grows, and one of them with its steps, statements and warnings.
import { button, element, replace } from '../dom.js'
import { address } from '../main.js'
import { inDigits, showCall } from './call.js'

const INTERVAL = 2000
const MAX_ROWS = 200

export async function show (place, explorer, { parts: [id] }, signal) {
  if (id !== undefined) await showCall(place, await load(explorer, `calls/${encodeURIComponent(id)}.json`, signal))
  else await new CallList(place, explorer, signal).begin()
}

async function load ({ connection }, path, signal) {
  const response = await connection.http(`${connection.base}${path}`, { signal })
  const answer = await response.json().catch(() => ({}))
  if (!response.ok) throw new Error(answer.message ?? `The server answered ${response.status}.`)
  return answer
}

class CallList {
  constructor (place, explorer, signal) {
    this.explorer = explorer
    this.signal = signal
    this.last = 0
    this.isPaused = false
    this.rows = element('tbody')
    this.note = element('p', { class: 'soft', role: 'status' })
    this.pause = button('Pause', () => this.toggle(), { 'aria-pressed': 'false' })
    replace(place, element('h1', { tabindex: -1 }, 'Calls'),
      element('p', { class: 'soft' }, 'The last calls of services in this process, newest first. Open one for its hooks, statements and warnings.'),
      element('div', { class: 'row' }, this.pause, this.note),
      table('The last calls', ['Call', 'Time', 'Through', 'Result', 'ms', 'Statements', 'Warnings', 'Fields'], this.rows))
  }

  async begin () {
    const timer = setInterval(() => this.poll(), INTERVAL)
    this.signal.addEventListener('abort', () => clearInterval(timer))
    document.addEventListener('visibilitychange', () => this.poll(), { signal: this.signal })
    await this.poll()
  }

  toggle () {
    this.isPaused = !this.isPaused
    this.pause.setAttribute('aria-pressed', String(this.isPaused))
    this.tell()
    this.poll()
  }

  async poll () {
    if (this.isPaused || this.isLoading || document.hidden) return
    this.isLoading = true
    try {
      this.add(await load(this.explorer, `calls.json?after=${this.last}`, this.signal))
      this.tell()
    } catch (error) {
      this.tell(`${error.message} It is tried again.`)
    } finally {
      this.isLoading = false
    }
  }

  add ({ calls, last }) {
    if (this.isPaused || this.signal.aborted) return
    // The server has started anew, and counts from one.
    if (last < this.last) return this.forget()
    this.last = last
    this.rows.prepend(...calls.map(row))
    while (this.rows.children.length > MAX_ROWS) this.rows.lastElementChild.remove()
  }

  forget () {
    this.last = 0
    replace(this.rows)
  }

  // Words are changed only if they differ, since a change is read aloud.
  tell (problem) {
    const words = this.isPaused ? 'Paused.' : this.rows.children.length === 0 ? 'There are no calls yet.' : 'New calls show as they are made.'
    const text = problem ?? words
    if (this.note.textContent !== text) this.note.textContent = text
  }
}

function row ({ id, path, method, provider, status, error, at, milliseconds, data, query, statements, warnings }) {
  const time = new Date(at)
  return element('tr', {},
    element('th', { scope: 'row' }, element('a', { href: address('calls', [String(id)]) }, `${path}.${method}`)),
    element('td', {}, element('time', { datetime: at, title: at }, time.toLocaleTimeString())),
    element('td', {}, provider ?? 'Python'),
    element('td', { class: error ? 'failed' : null }, error ? `${status} ${error}` : String(status)),
    element('td', { class: 'number' }, inDigits(milliseconds)),
    element('td', { class: 'number' }, String(statements)),
    element('td', { class: warnings ? 'number warned' : 'number' }, String(warnings)),
    element('td', { class: 'soft' }, [...data, ...query].join(', ')))
}

function table (caption, heads, rows) {
  const head = element('thead', {}, element('tr', {}, heads.map(text => element('th', { scope: 'col' }, text))))
  return element('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': caption },
    element('table', { class: 'calls' }, element('caption', {}, caption), head, rows))
}
