// The side pane that shows calls and events.
import { clone, find } from './dom.js'
import { curl, entries, onEntry } from './wire.js'

const pane = find('#wire')
const list = find('#wire ol')
const button = find('#show-wire')
const lines = new WeakMap()

const SIGNS = { call: '→', event: '←' }
const isWide = window.matchMedia('(min-width: 75rem)')

function toggle (isShown) {
  pane.hidden = !isShown
  button.ariaExpanded = String(isShown)
  list.replaceChildren(...(isShown ? entries.map(made) : []))
  scrollDown()
}

const scrollDown = () => { list.scrollTop = list.scrollHeight }

function made (entry) {
  const line = clone('entry')
  const copy = find('button', line)
  find('.sign', line).textContent = SIGNS[entry.kind]
  find('.kind', line).textContent = entry.kind
  line.dataset.kind = entry.kind
  copy.hidden = entry.kind === 'event'
  copy.addEventListener('click', () => copyText(copy, find('pre', line), curl(entry)))
  lines.set(entry, line)
  return fill(line, entry)
}

function fill (line, entry) {
  const { path, method, id, query, data, ms, size, count, error } = entry
  find('b', line).textContent = [path, method].join(' ')
  const parts = [id, count !== undefined && (count === 1 ? '1 record' : `${count} records`), size !== undefined && bytes(size), ms !== undefined && `${ms} ms`]
  find('.figures', line).textContent = error ?? parts.filter(part => part || part === 0).join(' · ')
  line.classList.toggle('failed', Boolean(error))
  const isEmpty = !query || Object.keys(query).length === 0
  const shown = { ...(isEmpty ? {} : { query }), ...(data === undefined ? {} : { data }) }
  find('pre', line).textContent = JSON.stringify(shown, null, 2)
  return line
}

const bytes = size => size < 1000 ? `${size} B` : `${(size / 1000).toFixed(1)} kB`

// Without a clipboard, as over plain HTTP, the text is shown and selected.
async function copyText (copy, place, text) {
  try {
    await navigator.clipboard.writeText(text)
    copy.textContent = 'Copied'
  } catch {
    place.textContent = text
    window.getSelection().selectAllChildren(place)
    copy.textContent = 'Press Ctrl+C to copy'
  }
}

onEntry(entry => {
  if (pane.hidden) return
  const line = lines.get(entry)

  if (line?.isConnected) {
    fill(line, entry)
    return
  }

  const isAtEnd = list.scrollHeight - list.scrollTop - list.clientHeight < 40
  list.append(made(entry))
  while (list.children.length > entries.length) list.firstElementChild.remove()
  if (isAtEnd) scrollDown()
})

button.addEventListener('click', () => toggle(pane.hidden))
find('#hide-wire').addEventListener('click', () => {
  toggle(false)
  button.focus()
})
button.hidden = false
toggle(isWide.matches)
