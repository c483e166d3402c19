// The events of all services, as they come: a log that grows, is paused, filtered and cleared.
import { button, element, field, replace } from '../dom.js'
import { CHANGES } from '../eventlog.js'
import { parse } from '../query.js'
import { nameOf, recordLink } from '../values.js'

const SIZE = 500

export async function show (place, explorer, route, signal) {
  const { connection, services } = explorer
  const state = element('p', { role: 'status', class: 'connection' })
  const drawState = () => {
    const { isLive } = connection
    state.textContent = !connection.hasEvents ? 'This server sends no events.' : isLive ? 'Connected: events come as they happen.' : 'Not connected. It is tried again.'
    state.classList.toggle('live', isLive)
  }
  connection.addEventListener('state', drawState, { signal })
  drawState()
  const paths = [...services.values()].filter(({ events }) => events.length).map(({ path }) => path)
  const log = makeLog(explorer, signal)
  const filter = () => log.filter(entry => (!service.value || entry.service === service.value) && (!event.value || entry.event === event.value))
  const service = choice('All services', paths, filter)
  const event = choice('All events', namesOf(services), filter)
  service.value = paths.includes(parse(route.query).service) ? parse(route.query).service : ''
  filter()
  replace(place, element('h1', { tabindex: -1 }, 'Events'), state,
    element('div', { class: 'row filters' }, field('Service', service), field('Event', event)), log)
}

const choice = (all, values, onchange) =>
  element('select', { onchange }, element('option', { value: '' }, all), values.map(value => element('option', { value }, value)))

const namesOf = services => [...new Set([...services.values()].flatMap(({ events }) => events))]

// Returns a log of the events that `isWanted(entry)` accepts, with `filter(isWanted)`.
export function makeLog (explorer, signal, isWanted = () => true) {
  const events = explorer.log
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
