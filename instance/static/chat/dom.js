// Helpers for elements. Texts are inserted as text, never as HTML.

export const find = (selector, parent = document) => parent.querySelector(selector)

export const clone = name => find(`#${name}-template`).content.firstElementChild.cloneNode(true)

export const time = moment => {
  const isToday = moment.toDateString() === new Date().toDateString()
  const day = isToday ? {} : { day: 'numeric', month: 'short', year: 'numeric' }
  return moment.toLocaleString(undefined, { ...day, hour: '2-digit', minute: '2-digit' })
}

// Shows an error, or nothing, in an element with role="alert".
export const say = (place, error) => {
  place.textContent = error ? error.message || String(error) : ''
}

// Runs an action of a form or a button once at a time, and shows its error.
export async function attempt (control, place, action) {
  if (control.ariaBusy === 'true') return
  control.ariaBusy = 'true'
  say(place)
  try {
    return await action()
  } catch (error) {
    say(place, error)
  } finally {
    control.ariaBusy = 'false'
  }
}

// Does something when a form is sent, once for a double click.
export function onSubmit (form, place, action) {
  form.addEventListener('submit', event => {
    event.preventDefault()
    attempt(form, place, () => action(Object.fromEntries(new FormData(form)), event.submitter))
  })
}

// Buttons with data-close close the dialog around them.
for (const dialog of document.querySelectorAll('dialog')) {
  dialog.addEventListener('click', event => {
    if (event.target === dialog || event.target.closest('[data-close]')) dialog.close()
  })
}
