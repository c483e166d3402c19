// The events of all services, as they come.
import { element, field, replace } from '../dom.js'
import { parse } from '../query.js'
import { makeLog } from './log.js'

export async function show (place, explorer, route, signal) {
  const { connection, services } = explorer
  const state = element('p', { role: 'status', class: 'connection' })
  const drawState = () => {
    const isLive = connection.isLive
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
