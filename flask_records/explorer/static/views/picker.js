// Records to choose from, for a field with the key of another record.
import { element } from '../dom.js'
import { isKey, kindOf } from '../schema.js'
import { nameOf } from '../values.js'

const SIZE = 20
const NAMES = ['name', 'title', 'username', 'email', 'label', 'text']
let numbers = 0

const relatedTo = (explorer, { relation }) => {
  const related = relation?.isKey ? explorer.services.get(relation.path) : null
  return related?.methods.includes('find') && !related.placeholders.length ? related : null
}

const listOf = (explorer, { path }, query) =>
  explorer.connection.service(path).find({ query }).then(found => found.data ?? found, () => [])

// Returns the name of the record that a key leads to, or null if it is not known.
export async function nameRelated (explorer, field, key) {
  const related = relatedTo(explorer, field)
  if (!related || !isKey(key)) return null
  const [record] = await listOf(explorer, related, { [related.id]: key, $limit: 1 })
  return record ? nameOf(record) : null
}

// Returns a list of records that a control offers, and the name of the chosen one, or
// null if the field is no key or the related service may not be read.
export function addPicker (explorer, field, control) {
  const related = relatedTo(explorer, field)
  if (!related) return null
  const id = `records-${++numbers}`
  const known = new Map()
  const list = element('datalist', { id })
  const chosen = element('span', { class: 'soft', role: 'status' })
  let asked = null
  const look = async () => {
    const text = control.value
    if (text !== asked && !known.has(text)) {
      asked = text
      for (const record of await lookFor(explorer, related, text)) if (isKey(record[related.id])) known.set(String(record[related.id]), record)
      list.replaceChildren(...[...known].map(([value, record]) => element('option', { value, label: `${nameOf(record)} (${value})` })))
    }
    chosen.textContent = known.has(control.value) ? nameOf(known.get(control.value)) : ''
  }
  control.setAttribute('list', id)
  for (const event of ['focus', 'input']) control.addEventListener(event, look)
  // The value is written once the entry is whole.
  queueMicrotask(() => { if (control.value !== '') look() })
  return element('span', { class: 'picker' }, list, chosen)
}

// Returns the first records, or those that a text is the key or in the name of.
async function lookFor (explorer, related, text) {
  await explorer.connection.load(related.path)
  for (const query of queriesFor(related, text)) {
    const records = await listOf(explorer, related, { ...query, $limit: SIZE })
    if (records.length) return records
  }
  return []
}

function queriesFor (related, text) {
  if (text === '') return [{}]
  const { properties = {} } = related.query ?? {}
  const name = NAMES.find(each => properties[each]?.anyOf?.some(way => way.properties?.$search))
  const mayBeKey = kindOf(properties[related.id]) !== 'integer' || /^-?\d+$/.test(text)
  return [mayBeKey && { [related.id]: text }, name && { [name]: { $search: text } }].filter(Boolean)
}
