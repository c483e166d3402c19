// The custom methods of a service, to be tried.
import { element, replace } from '../dom.js'
import { CHANGES } from '../eventlog.js'
import { described } from '../schema.js'
import { wayBack } from '../values.js'
import { makeForm } from './form.js'
import { makeLog } from './events.js'

export async function show (place, explorer, route, signal) {
  const [path] = route.parts
  const service = explorer.services.get(path)
  const title = element('h1', { tabindex: -1 }, service ? `Custom methods of ${path}` : 'Not here')
  if (!service?.customMethods.length) return replace(place, title, element('p', {}, `There are no custom methods of ${path} for you.`))
  const names = service.events.filter(name => !CHANGES.includes(name))
  replace(place,
    element('div', { class: 'record-head' }, wayBack(service, 'custom'), title),
    service.customMethods.map(method => drawMethod(explorer, service, method)),
    element('h2', {}, 'Events of this service'),
    names.length ? element('p', { class: 'soft' }, `Of its own: ${names.join(', ')}.`) : null,
    makeLog(explorer, signal, entry => entry.service === path))
}

// Returns the fields of the data of a method, or null if its schema does not name any.
function fieldsOf (schema) {
  const { properties, required = [] } = schema ?? {}
  return properties ? Object.entries(properties).map(([name, each]) => ({ ...described(name, each), isRequired: required.includes(name), default: each.default })) : null
}

const JSON_FIELD = { name: 'data', label: 'Data', kind: 'json', schema: {}, options: [], isRequired: true, hint: 'The data of the call, as JSON.' }

function drawMethod (explorer, service, method) {
  const fields = fieldsOf(service.custom[method]?.data)
  const result = element('div', { class: 'result', role: 'status' })
  const form = makeForm(explorer, fields ?? [JSON_FIELD], {
    start: fields ? {} : { data: {} },
    submit: `Call ${method}`,
    save: async values => {
      replace(result)
      const start = performance.now()
      const answer = await explorer.connection.service(service.path)[method](fields ? values : values.data)
      const time = Math.round(performance.now() - start)
      replace(result, element('h3', {}, `Result of ${method}`), element('p', { class: 'soft' }, `${time} ms`),
        element('pre', { tabindex: 0 }, JSON.stringify(answer, null, 2) ?? 'nothing'))
    }
  })
  form.classList.remove('card')
  return element('section', { class: 'card stack', 'aria-label': method }, element('h2', {}, method), form, result)
}
