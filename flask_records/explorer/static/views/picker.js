// Records to choose from, for a field with the key of another record.
import { element } from '../dom.js'
import { isKey } from '../schema.js'
import { mayBeKey, searchOf, withSearch } from '../search.js'
import { nameOf } from '../values.js'

const SIZE = 20
let numbers = 0

const relatedTo = (explorer, { relation }) => {
  const related = relation?.isKey ? explorer.services.get(relation.path) : null
  return related?.methods.includes('find') && !related.placeholders.length ? related : null
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
  // The text that was looked for last, and the promise of its records.
  let asked = [null]
  const look = async () => {
    const text = control.value
    if (!known.has(text)) {
      if (text !== asked[0]) asked = [text, lookFor(explorer, related, text)]
      for (const record of await asked[1]) if (isKey(record[related.id])) known.set(String(record[related.id]), record)
      list.replaceChildren(...[...known].map(([value, record]) => element('option', { value, label: `${nameOf(record)} (${value})` })))
    }
    chosen.textContent = known.has(control.value) ? nameOf(known.get(control.value)) : ''
  }
  // A name that one record has stands for its key.
  const resolve = async () => {
    await look()
    const named = [...known].filter(([, record]) => nameOf(record).toLowerCase() === control.value.trim().toLowerCase())
    if (known.has(control.value) || named.length !== 1) return
    control.value = named[0][0]
    control.dispatchEvent(new Event('input'))
  }
  control.setAttribute('list', id)
  control.placeholder ||= 'Key or name'
  control.addEventListener('change', resolve)
  for (const event of ['focus', 'input']) control.addEventListener(event, look)
  // The value is written once the entry is whole.
  queueMicrotask(() => { if (control.value !== '') look() })
  return element('span', { class: 'picker' }, list, chosen)
}

// Returns the first records, or those that a text is the key or in a text of.
async function lookFor (explorer, related, text) {
  const { connection } = explorer
  await connection.load(related.path)
  const ways = [
    text === '' && {},
    text !== '' && mayBeKey(related, text) && { [related.id]: text },
    text !== '' && searchOf(related) && withSearch(related, { $search: text })
  ].filter(Boolean)
  const find = query => connection.service(related.path).find({ query: { ...query, $limit: SIZE } })
  const answers = await Promise.all(ways.map(query => find(query).then(found => found.data ?? found, () => [])))
  return answers.flat()
}
