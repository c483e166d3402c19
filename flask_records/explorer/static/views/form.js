// A form for the fields of a record.
import { attempt, button, element } from '../dom.js'
import { makeEntry } from './entry.js'
import { clearProblems, showProblems } from './problems.js'

// Returns a form with an entry for each field.
// - `record`: the record that is changed, {} by default; `start`: values of a new one.
// - `leftOut`: the word for leaving a field out that is neither required nor in the record.
// - `submit`: the text of its button, and `save(data, form)`, which is called with values
//   that fit the schema. Its error is shown beside the fields that it names.
// - `cancel`: called by a second button, which is there if this is.
// `form.data()` returns the values that are sent, and `form.changes()` those of them that
// were changed; both return null, and show why, if a value does not fit. `form.renew(record)`
// takes up another record, and keeps what was typed.
export function makeForm (explorer, fields, { record = {}, start = {}, leftOut = 'default', submit, save, cancel, isPartial = false }) {
  const alert = element('div', { class: 'problem', role: 'alert', tabindex: -1, hidden: true })
  const entries = fields.map(field => makeEntry(explorer, field, {
    value: [record, start].find(each => Object.hasOwn(each, field.name))?.[field.name],
    leftOut: field.isRequired || Object.hasOwn(record, field.name) ? null : leftOut
  }))
  const send = element('button', { class: 'main' }, submit)
  const form = element('form', {
    class: 'card form stack',
    novalidate: true,
    onsubmit: event => {
      event.preventDefault()
      return attempt(send, () => submitForm(event.submitter), error => showProblems(alert, entries, error))
    }
  }, alert, element('div', { class: 'entries' }, entries), element('div', { class: 'row' }, send, cancel && button('Cancel', cancel)))

  const snapshot = () => JSON.stringify(entries.map(entry => entry.isChanged() && entry.snapshot()))
  let saved = snapshot()
  const submitForm = async submitter => {
    const data = isPartial ? form.changes() : form.data()
    if (data === null) return
    await save(data, form, submitter)
    saved = snapshot()
  }
  const read = isWanted => {
    clearProblems(alert, entries)
    return readEntries(entries.filter(isWanted), error => showProblems(alert, entries, error))
  }
  return Object.assign(form, {
    entries,
    data: () => read(entry => entry.isSent()),
    changes: () => read(entry => entry.isSent() && entry.isChanged()),
    isChanged: () => entries.some(entry => entry.isChanged()),
    isTyped: () => entries.some(entry => entry.isChanged()) && snapshot() !== saved,
    renew: record => entries.filter(({ name }) => Object.hasOwn(record, name)).forEach(entry => entry.renew(record[entry.name]))
  })
}

// Returns the values of entries by their names, or null if one can't be read.
function readEntries (entries, showError) {
  const [data, errors] = [[], []]
  for (const entry of entries) {
    try {
      data.push([entry.name, entry.read()])
    } catch (error) {
      errors.push([entry.name, error.message])
    }
  }
  if (errors.length === 0) return Object.fromEntries(data)
  showError({ message: 'This was not sent, since it does not fit.', errors: Object.fromEntries(errors) })
  return null
}
