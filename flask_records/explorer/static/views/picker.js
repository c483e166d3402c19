// Records to choose from, for a field with the key of another record.
import { element } from '../dom.js'
import { described, kindOf } from '../schema.js'
import { nameOf } from '../main.js'

const SIZE = 20
const NAMES = ['name', 'title', 'username', 'email', 'label', 'text']
let numbers = 0

// Returns a list of records that a control offers, and the name of the chosen one, or
// null if the field is no key or the related service may not be read.
export function addPicker (explorer, field, control) {
  const related = field.relation?.isKey && explorer.services.get(field.relation.path)
  if (!related?.methods.includes('find')) return null
  const id = `records-${++numbers}`
  const known = new Map()
  const list = element('datalist', { id })
  const chosen = element('span', { class: 'soft', role: 'status' })
  const showChosen = () => { chosen.textContent = known.has(control.value) ? nameOf(known.get(control.value)) : '' }
  let asked = null
  const look = async () => {
    const query = queryFor(related, control.value)
    const text = JSON.stringify(query)
    if (text === asked) return showChosen()
    asked = text
    const found = await explorer.connection.service(related.path).find({ query }).catch(() => [])
    if (text !== asked) return
    for (const record of found.data ?? found) known.set(String(record[related.id]), record)
    list.replaceChildren(...[...known].map(([value, record]) => element('option', { value, label: `${nameOf(record)} (${value})` })))
    showChosen()
  }
  control.setAttribute('list', id)
  control.addEventListener('focus', look)
  control.addEventListener('input', look)
  queueMicrotask(() => { if (control.value !== '') look() })
  return element('span', { class: 'picker' }, list, chosen)
}

// A text that is no identifier is looked for in the names of the records.
function queryFor (related, text) {
  const isId = text === '' || fits(text, related)
  const name = NAMES.find(each => related.query?.properties?.[each])
  if (isId) return text === '' ? { $limit: SIZE } : { [related.id]: text, $limit: 1 }
  return name && allowsSearch(related.query.properties[name]) ? { [name]: { $search: text }, $limit: SIZE } : { $limit: SIZE }
}

const fits = (text, related) =>
  described(related.id, related.record?.properties?.[related.id]).kind === 'integer' ? /^-?\d+$/.test(text) : kindOf(related.record?.properties?.[related.id]) !== 'any' && text.length >= 8

const allowsSearch = schema => (schema.anyOf ?? []).some(way => way.properties?.$search)
