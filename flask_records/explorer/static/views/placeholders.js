// The values of the placeholders in the path of a service, which are asked for before a view.
import { element, field, replace } from '../dom.js'
import { address, pathWith } from '../paths.js'

export async function show (place, explorer, { view, parts: [path, ...rest], query }) {
  const { placeholders, description } = explorer.services.get(path)
  const controls = placeholders.map(name => field(name, element('input', { required: true, autocomplete: 'off' })))
  const onsubmit = event => {
    event.preventDefault()
    const values = Object.fromEntries(placeholders.map((name, index) => [name, controls[index].control.value.trim()]))
    const made = pathWith(path, values)
    if (explorer.services.get(made)) return explorer.go(address(view, [made, ...rest], query))
    controls.at(-1).showError(`No path of this service is ${made}.`)
  }
  replace(place,
    element('h1', { tabindex: -1 }, path),
    description ? element('p', { class: 'soft description' }, description) : null,
    element('form', { class: 'card stack', onsubmit }, controls, element('p', {}, element('button', { class: 'main' }, 'Open'))))
}
