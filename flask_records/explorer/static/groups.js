// Lists of services: all of a few, and of many a search and groups by the first part of a path.
import { element, replace } from './dom.js'

const MANY = 20
const MOST = 50

const groupOf = ({ path }) => path.split('/')[0]

// Returns a list of services, of which `draw(service)` returns the items, each of them once.
// `reveal(path)` of the node opens the group of a service.
export function servicesList (services, draw, { label }) {
  const items = new Map()
  const item = service => items.get(service.path) ?? items.set(service.path, element('li', {}, draw(service))).get(service.path)
  const list = found => element('ul', {}, found.map(item))
  if (services.length <= MANY) return Object.assign(list(services), { reveal: () => {} })
  const groups = [...Map.groupBy(services, groupOf)].map(([name, members]) => group(name, members, list))
  const place = element('div', { class: 'groups' }, groups)
  const search = () => {
    const text = box.value.trim().toLowerCase()
    const found = services.filter(({ path }) => path.toLowerCase().includes(text))
    const note = found.length > MOST ? `${(found.length - MOST).toLocaleString()} more` : found.length ? null : 'No service has such a path.'
    if (text) replace(place, list(found.slice(0, MOST)), note && element('p', { class: 'soft' }, note))
    else replace(place, groups.map(each => each.isOpen() ? each.fill() : each))
  }
  const box = element('input', { type: 'search', placeholder: 'Search services', autocomplete: 'off', spellcheck: 'false', 'aria-label': label, oninput: search })
  const reveal = path => groups.find(({ names }) => names.includes(path))?.fill()
  return Object.assign(element('div', { class: 'stack' }, box, place), { reveal })
}

// A group of services, whose items are drawn once it is opened.
function group (name, members, list) {
  if (members.length === 1) return Object.assign(list(members), { names: [], fill: () => null, isOpen: () => false })
  const place = element('div')
  const node = element('details', { class: 'group', ontoggle: () => node.open && node.fill() },
    element('summary', {}, name, ' ', element('span', { class: 'soft' }, members.length.toLocaleString())), place)
  const fill = () => {
    node.open = true
    replace(place, list(members))
    return node
  }
  return Object.assign(node, { names: members.map(({ path }) => path), fill, isOpen: () => node.open })
}
