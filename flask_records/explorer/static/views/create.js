// A form that creates a record, or JSON that creates one or many.
import { absence, announce, button, element, replace } from '../dom.js'
import { bodyFields, isKey } from '../schema.js'
import { wayBack } from '../values.js'
import { address } from '../paths.js'
import { parse } from '../query.js'
import { makeForm } from './form.js'
import { importForm } from './import.js'

export async function show (place, explorer, route, signal) {
  const [path] = route.parts
  const service = explorer.services.get(path)
  if (!service.methods.includes('create')) throw absence(`You can’t create records of ${path}.`)
  const fields = bodyFields(service, 'create')
  const ways = [['form', 'Form'], ['json', service.multi.includes('create') ? 'JSON, one or many' : 'JSON'], ['csv', 'CSV']].slice(fields.length ? 0 : 1)
  const bodies = {
    form: element('div', {}, fieldsForm(explorer, service, fields, given(fields, route))),
    json: element('div', {}, jsonForm(explorer, service)),
    csv: element('div', {}, importForm(explorer, service, () => leave(explorer, service)))
  }
  const buttons = ways.map(([way, text]) => button(text, () => open(way), { 'data-way': way }))
  const open = way => {
    for (const each of buttons) each.setAttribute('aria-pressed', each.dataset.way === way)
    // What is typed in one stays there while the other is shown.
    for (const [name, form] of Object.entries(bodies)) form.hidden = name !== way
  }
  replace(place,
    element('div', { class: 'record-head' },
      wayBack(service, 'create'),
      element('h1', { tabindex: -1 }, `New record of ${path}`),
      service.description ? element('p', { class: 'soft' }, service.description) : null),
    buttons.length > 1 ? element('div', { class: 'row ways', role: 'group', 'aria-label': 'How the record is written' }, buttons) : null,
    Object.values(bodies))
  open(ways[0][0])
}

// Returns the values that the address gives, which are texts, as the fields have them.
function given (fields, route) {
  const values = parse(route.query)
  const known = fields.filter(({ name }) => typeof values[name] === 'string')
  return Object.fromEntries(known.map(({ name, kind }) => [name, kind === 'boolean' ? values[name] === 'true' : values[name]]))
}

function fieldsForm (explorer, service, fields, record) {
  const form = makeForm(explorer, fields, {
    start: record,
    submit: 'Create',
    save: async (data, form, submitter) => {
      const made = await create(explorer, service, data)
      if (!submitter?.dataset.another) return leave(explorer, service, made)
      const next = fieldsForm(explorer, service, fields, record)
      form.replaceWith(next)
      next.entries[0]?.control.focus()
    }
  })
  form.querySelector('.main').after(element('button', { 'data-another': 'yes' }, 'Create, then another'))
  return form
}

function jsonForm (explorer, service) {
  const isMany = service.multi.includes('create')
  const data = { name: 'data', label: 'Data', kind: 'json', schema: {}, isRequired: true, options: [], hint: isMany ? 'An object, or a list of objects.' : 'An object.' }
  return makeForm(explorer, [data], {
    submit: 'Create',
    save: async ({ data }) => leave(explorer, service, await create(explorer, service, data))
  })
}

async function create (explorer, service, data) {
  const made = await explorer.connection.service(service.path).create(data)
  announce(Array.isArray(made) ? `${made.length} records are created.` : `${service.path} ${made?.[service.id] ?? ''} is created.`)
  return made
}

// Goes to what was made, if the caller may read it.
function leave (explorer, service, made) {
  const id = made?.[service.id]
  if (service.methods.includes('get') && isKey(id)) explorer.go(address('record', [service.path, id]))
  else explorer.go(service.methods.includes('find') ? address('records', [service.path]) : address(''))
}
