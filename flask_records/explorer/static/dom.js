// Helpers for elements. Texts are inserted as text, never as HTML.

const PROPERTIES = ['value', 'checked', 'disabled', 'selected', 'indeterminate', 'tabIndex']
let numbers = 0

// Returns an element. Functions named onclick and so on listen to its events.
export function element (tag, attributes = {}, ...children) {
  const made = document.createElement(tag)
  for (const [name, value] of Object.entries(attributes)) set(made, name, value)
  made.append(...nodes(children))
  return made
}

function set (made, name, value) {
  if (typeof value === 'function') made.addEventListener(name.slice(2), value)
  else if (PROPERTIES.includes(name)) made[name] = value
  else if (value !== false && value !== null && value !== undefined) made.setAttribute(name, value === true ? '' : value)
}

const nodes = children => children.flat(Infinity).filter(each => each !== null && each !== undefined && each !== false)

// Replaces all that is in a node.
export function replace (node, ...children) {
  node.replaceChildren(...nodes(children))
  return node
}

// Resolves once nothing in a node is pressed: what is replaced while it is gets no click.
export async function released (node) {
  if (!node.matches(':active')) return
  await new Promise(resolve => {
    for (const end of ['pointerup', 'pointercancel']) addEventListener(end, () => setTimeout(resolve), { once: true })
  })
}

export const button = (text, onclick, attributes = {}) =>
  element('button', { type: 'button', onclick, ...attributes }, text)

// Returns a control below its label, with a place for its error.
export function field (label, control, hint) {
  const id = control.id || `field-${++numbers}`
  control.id = id
  const error = element('p', { class: 'field-error', id: `${id}-error` })
  const note = hint ? element('p', { class: 'hint', id: `${id}-hint` }, hint) : null
  control.setAttribute('aria-describedby', note ? `${id}-hint ${id}-error` : `${id}-error`)
  const isCheck = ['checkbox', 'radio'].includes(control.type)
  const title = element('label', { for: id }, label)
  const parts = isCheck ? [element('span', { class: 'check' }, control, title)] : [title, control]
  const made = element('div', { class: 'field' }, parts, note, error)
  return Object.assign(made, { control, showError: text => showError(control, error, text) })
}

function showError (control, place, text) {
  place.textContent = text || ''
  if (text) control.setAttribute('aria-invalid', 'true')
  else control.removeAttribute('aria-invalid')
}

const LEAVE = 'The form has values that are not saved. Leave it, and lose them?'

// Returns whether a form in a place has typed values that would be lost.
export const isTyped = place => [...place.querySelectorAll('form')].some(form => form.isTyped?.())

// Returns whether what is typed in a place may be lost, which its reader is asked.
export const mayLeave = place => !isTyped(place) || confirm(LEAVE)

// Lets two keys move the focus in a node among the elements of a selector, also from others.
export function moveByArrows (node, stops, starts = stops, keys = ['ArrowUp', 'ArrowDown']) {
  node.addEventListener('keydown', event => {
    const way = [-1, 1][keys.indexOf(event.key)]
    if (!way || !event.target.matches(`${stops}, ${starts}`)) return
    const all = [...node.querySelectorAll(stops)].filter(each => each.checkVisibility())
    const next = all[all.indexOf(event.target) + way]
    if (!next) return
    event.preventDefault()
    next.focus()
  })
  return node
}

// Returns a table that scrolls. The first cell of each row is its head.
export function table (label, heads, rows, { caption = label, ...attributes } = {}) {
  const cells = ([first, ...rest]) => [element('th', { scope: 'row' }, first), rest.map(cell => element('td', {}, cell))]
  return element('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': label, ...attributes },
    element('table', {},
      caption && element('caption', {}, caption),
      element('thead', {}, element('tr', {}, heads.map(head => element('th', { scope: 'col' }, head)))),
      element('tbody', {}, rows.map(row => element('tr', {}, cells(row))))))
}

// Saves a file.
export function download (blob, name) {
  const href = URL.createObjectURL(blob)
  element('a', { href, download: name }).click()
  setTimeout(() => URL.revokeObjectURL(href), 60_000)
}

// Opens a dialog, which is removed once it is closed.
export function dialog (title, ...children) {
  const id = `dialog-${++numbers}`
  const before = document.activeElement
  const made = element('dialog', { 'aria-labelledby': id }, element('h2', { id }, title), children)
  made.addEventListener('cancel', event => { if (!mayLeave(made)) event.preventDefault() })
  made.addEventListener('close', () => {
    made.remove()
    if (before?.isConnected) before.focus()
  })
  document.body.append(made)
  made.showModal()
  return made
}

// Asks before a removal, and then calls `remove()`, whose error is shown, with what `explain(error)`
// adds to it. `about` says what is removed.
export function askRemoval ({ title, label, about, remove, explain = async () => null }) {
  const problem = element('div', { class: 'problem', role: 'alert', hidden: true })
  const send = button(label, () => attempt(send, async () => {
    await remove()
    opened.close()
  }, async error => {
    replace(problem, element('p', {}, error.message), await explain(error).catch(() => null))
    problem.hidden = false
  }), { class: 'danger' })
  const opened = dialog(title, element('div', { class: 'stack' }, problem, about,
    element('p', { class: 'soft' }, 'It can’t be brought back.'),
    element('div', { class: 'row' }, send, button('Cancel', () => opened.close(), { autofocus: true }))))
}

// Shows a message until it is closed, or, if it is no error, for some seconds.
export function announce (text, kind = 'info') {
  const place = document.getElementById('messages')
  const message = element('div', { class: `message ${kind}`, role: kind === 'error' ? 'alert' : 'status' }, element('p', {}, text))
  message.append(button('×', () => message.remove(), { 'aria-label': 'Close the message', class: 'quiet' }))
  place.append(message)
  if (kind !== 'error') setTimeout(() => message.remove(), 6000)
  return message
}

// Returns an error for something that is not there, whose view has a title.
export const absence = (message, title) => Object.assign(new Error(message), { code: 404, title })

let admit = async error => !error

// Sets a function that is called before an action, and with the error of one. It returns whether to
// try it, or to try it once more.
export const guardActions = guard => { admit = guard }

// Runs an action once at a time, and shows its error.
export async function attempt (control, action, showError = error => announce(error.message, 'error')) {
  if (control.ariaBusy === 'true') return
  control.ariaBusy = 'true'
  try {
    if (!await admit()) return
    return await tried(action)
  } catch (error) {
    showError(error)
  } finally {
    control.ariaBusy = 'false'
  }
}

async function tried (action) {
  try {
    return await action()
  } catch (error) {
    if (!await admit(error)) throw error
    return action()
  }
}
