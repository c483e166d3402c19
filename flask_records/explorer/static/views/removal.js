// The question before a removal.
import { attempt, button, dialog, element } from '../dom.js'

// Asks, and then calls `remove()`, whose error is shown. `about` says what is removed.
export function askRemoval ({ title, label, about, remove }) {
  const problem = element('p', { class: 'problem', role: 'alert', hidden: true })
  const send = button(label, () => attempt(send, async () => {
    await remove()
    opened.close()
  }, error => {
    problem.textContent = error.message
    problem.hidden = false
  }), { class: 'danger' })
  const opened = dialog(title, element('div', { class: 'stack' }, problem, about,
    element('p', { class: 'soft' }, 'It can’t be brought back.'),
    element('div', { class: 'row' }, send, button('Cancel', () => opened.close(), { autofocus: true }))))
}
