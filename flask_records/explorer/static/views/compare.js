// What nobody, or another user, may do and see, beside what the caller may.
import { button, element, field, replace, table } from '../dom.js'
import { answerOf, BASE, request } from '../requests.js'
import { address, encoded } from '../paths.js'
import { isKey } from '../schema.js'
import { nameOf, recordLink } from '../values.js'
import { parse } from '../query.js'
import { addPicker } from './picker.js'

export async function show (place, explorer, { parts: [path, user], query }, signal) {
  const service = explorer.services.get(path)
  const other = user ? `user ${user}` : 'nobody'
  const title = service ? `${path}: as ${other}, and as me` : 'As nobody, and as me'
  replace(place, element('h1', { tabindex: -1 }, title), ...loginHint(explorer))
  if (service) await showRecords(place, explorer, service, { user, query, names: [`As ${other}`, 'As me'] }, signal)
  else place.append(methodsTable([...explorer.services.values()], true))
}

const loginHint = ({ connection }) => connection.user
  ? []
  : [element('p', {}, 'You are not logged in, so that both sides are the same. ', element('a', { href: address('login') }, 'Log in'), ' to compare.')]

const mark = isSeen => element('span', { class: isSeen ? 'yes' : 'no' }, isSeen ? 'yes' : 'no')

function methodsTable (services, isLinked) {
  const rows = services.map(({ path, methods, customMethods, publicMethods }) =>
    [path, [...methods, ...customMethods].map(method => [method, publicMethods.includes(method)])])
  return table('The methods that nobody, and that you may call', ['Service', 'As nobody', 'As me'], rows.map(([path, methods]) => [
    isLinked ? element('a', { href: address('compare', [path]) }, path) : path,
    names(methods.filter(([, isPublic]) => isPublic)),
    names(methods)
  ]))
}

const names = methods => methods.length
  ? element('ul', { class: 'chips' }, methods.map(([name, isPublic]) => element('li', { class: isPublic ? null : 'mine' }, name)))
  : element('span', { class: 'soft' }, 'none')

async function showRecords (place, explorer, service, { user, query, names }, signal) {
  const answers = element('div', { class: 'view', 'aria-live': 'polite' }, element('p', { class: 'soft' }, 'Loading …'))
  place.append(user ? '' : methodsTable([service]), queryForm(explorer, service, user, query), answers)
  const { connection } = explorer
  const { path, methods, publicMethods } = service
  const findAs = (client, methods) => methods.includes('find') ? client.find({ query: parse(query) }) : Promise.reject(new Error('find may not be called.'))
  const sides = await Promise.all([
    user ? findBy(user, path, query) : findAs(connection.nobody(path), publicMethods),
    findAs(connection.service(path), methods)
  ].map(sideOf))
  if (signal.aborted) return
  replace(answers, summaries(names, sides), fieldsTable(names, sides), ...recordsTable(service, names, sides))
}

function queryForm (explorer, { path }, user, query) {
  const text = element('input', { class: 'code', value: decoded(query), autocomplete: 'off', spellcheck: 'false' })
  const submit = event => {
    event.preventDefault()
    explorer.go(address('compare', [path, other.value].filter(Boolean), text.value.replace(/^\?/, '')))
  }
  const { hasOthers, userPath } = explorer.description
  const other = element('input', { autocomplete: 'off', value: user ?? '' })
  const picked = hasOthers ? field('As the user', other, 'A key or a name. Empty: as nobody.') : null
  picked?.append(addPicker(explorer, { relation: { path: userPath, isKey: true } }, other) ?? '')
  return element('form', { class: 'card stack', onsubmit: submit },
    picked,
    field('Query of both', text, 'As in a URL, such as archived=false&$sort[id]=-1'),
    element('p', { class: 'row' }, button('Compare', null, { type: 'submit', class: 'main' }),
      element('a', { href: address('records', [path], query) }, 'Show as a table')))
}

// Brackets are easier to read as they are; what else is encoded stays so.
const decoded = query => query.replace(/%5B/gi, '[').replace(/%5D/gi, ']').replace(/%24/g, '$')

// Returns what another user finds.
const findBy = async (user, path, query) =>
  answerOf(await request(`${BASE}found-by/${encodeURIComponent(user)}/${encoded(path)}?${query}`))

// Returns the records of an answer that is under way: `{ total, records, error }`.
async function sideOf (answer) {
  try {
    const result = await answer
    const records = Array.isArray(result) ? result : result.data ?? []
    return { total: result.total ?? records.length, records }
  } catch (error) {
    return { total: null, records: [], error }
  }
}

function summaries (names, sides) {
  const parts = sides.map(({ total, records, error }, index) => element('section', { class: 'card stack', 'aria-label': names[index] },
    element('h2', {}, names[index]),
    error
      ? element('p', {}, error.code ? [element('strong', {}, `${error.code} ${error.name}`), ' '] : null, error.message)
      : element('p', {}, element('strong', { class: 'count' }, total.toLocaleString()), total === 1 ? ' record' : ' records',
        records.length < total ? `, of which ${records.length} are compared` : '')))
  return element('div', { class: 'sides' }, parts)
}

function fieldsTable (names, sides) {
  const seen = sides.map(({ records }) => new Set(records.flatMap(Object.keys)))
  const all = [...new Set(seen.flatMap(each => [...each]))]
  if (all.length === 0) return null
  return table('The fields that each sees', ['Field', ...names], all.map(name => [name, ...seen.map(each => mark(each.has(name)))]))
}

function recordsTable (service, names, sides) {
  const { id } = service
  const seen = sides.map(({ records }) => new Map(records.filter(record => isKey(record[id])).map(record => [record[id], record])))
  const all = [...new Set([...seen[1].keys(), ...seen[0].keys()])]
  const isPartial = sides.some(({ records }, index) => records.length > seen[index].size)
  const note = isPartial ? element('p', { class: 'card' }, `Records of ${service.path} without a key, or with one that JavaScript rounds, are not compared one by one.`) : null
  if (all.length === 0) return [note]
  const rows = all.map(key => {
    const [other, own] = seen.map(each => each.get(key))
    return [recordLink(service, key), nameOf(own ?? other), mark(other), mark(own), differences(other, own).join(', ')]
  })
  return [note, table('The records that each sees', ['Record', 'Name', ...names, 'Other values'], rows)]
}

// The names of the fields that both see, with other values.
function differences (other, own) {
  if (!other || !own) return []
  return Object.keys(own).filter(name => Object.hasOwn(other, name) && JSON.stringify(own[name]) !== JSON.stringify(other[name]))
}
