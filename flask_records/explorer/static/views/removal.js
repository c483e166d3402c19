// The removal of a record, once it is confirmed.
import { announce, attempt, button, dialog, element } from '../dom.js'
import { homeOf } from '../links.js'
import { nameOf } from '../values.js'

// Asks, removes the record, and goes to the others.
export function confirmRemoval (state) {
  const { explorer, service, client, id, record } = state
  const problem = element('p', { class: 'problem', role: 'alert', hidden: true })
  const remove = button('Remove', () => attempt(remove, async () => {
    state.isBusy = true
    await client.remove(id)
    opened.close()
    announce(`${service.path} ${id} is removed.`)
    explorer.go(homeOf(service))
  }, error => {
    state.isBusy = false
    problem.textContent = error.message
    problem.hidden = false
  }), { class: 'danger' })
  const opened = dialog(`Remove ${service.path} ${id}?`, element('div', { class: 'stack' },
    problem,
    element('p', { class: 'record-name' }, nameOf(record)),
    element('p', { class: 'soft' }, 'It can’t be brought back.'),
    element('div', { class: 'row' }, remove, button('Cancel', () => opened.close(), { autofocus: true }))))
}
