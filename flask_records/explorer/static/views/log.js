// The log of events: a list that grows, is paused, filtered and cleared.
import { button, element, replace } from '../dom.js'
import { eventLogOf } from '../eventlog.js'
import { nameOf, recordLink } from '../values.js'

const SIZE = 500

// Returns a log of the events that `isWanted(entry)` accepts, with `filter(isWanted)`.
export function makeLog (explorer, signal, isWanted = () => true) {
  const events = eventLogOf(explorer.connection)
  const list = element('ol', { class: 'log' })
  const empty = element('p', { class: 'soft no-events' })
  const count = element('span', { class: 'soft', role: 'status' })
  let isPaused = false
  let missed = 0
  const mark = () => {
    empty.hidden = list.childElementCount > 0
    empty.textContent = explorer.connection.hasEvents ? 'No event yet. Events appear here as they come.' : 'This server sends no events.'
    count.textContent = isPaused ? `Paused, ${missed} new` : `${list.childElementCount} ${list.childElementCount === 1 ? 'event' : 'events'}`
    pause.textContent = isPaused ? 'Go on' : 'Pause'
    pause.setAttribute('aria-pressed', isPaused)
  }
  const draw = () => {
    missed = 0
    replace(list, events.entries.filter(isWanted).map(entry => line(explorer, entry)))
    mark()
  }
  const pause = button('Pause', () => {
    isPaused = !isPaused
    if (!isPaused) draw()
    mark()
  })
  events.addEventListener('entry', ({ detail }) => {
    if (!isWanted(detail)) return
    if (isPaused) missed += 1
    else {
      const made = line(explorer, detail)
      made.classList.add('changed')
      list.prepend(made)
      while (list.childElementCount > SIZE) list.lastElementChild.remove()
    }
    mark()
  }, { signal })
  events.addEventListener('clear', draw, { signal })
  draw()
  const node = element('div', { class: 'stack' }, element('div', { class: 'row' }, pause, button('Clear', () => events.clear()), count), empty, element('div', { role: 'log', 'aria-label': 'Events' }, list))
  return Object.assign(node, { filter: wanted => { isWanted = wanted; draw() } })
}

const CHANGES = ['created', 'updated', 'patched', 'removed']

function line (explorer, { service, event, data, time }) {
  const id = data?.[explorer.services.get(service)?.id]
  const isThere = id !== undefined && id !== null && CHANGES.includes(event)
  const name = isThere ? `${service} ${id}` : service
  const about = isThere && event !== 'removed' ? recordLink(explorer.services.get(service), id, name) : name
  return element('li', { class: 'card' },
    element('div', { class: 'row' },
      element('time', { datetime: time.toISOString(), title: time.toISOString(), class: 'soft' }, time.toLocaleTimeString()),
      element('span', { class: `badge ${CHANGES.includes(event) ? event : 'custom'}` }, event),
      about,
      isThere ? element('span', { class: 'soft summary' }, nameOf(data)) : null),
    element('details', { open: !CHANGES.includes(event) }, element('summary', {}, 'Data'), element('pre', { tabindex: 0 }, JSON.stringify(data, null, 2))))
}
