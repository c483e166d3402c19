// The problems of a call, beside the fields that they are about.
import { element } from '../dom.js'

// Returns a sentence of a problem, which is a phrase that follows a name, or a sentence.
export const phrase = (name, text) => /^\p{Ll}/u.test(text) ? `${name} ${text}` : text

const textOf = problem => typeof problem === 'string' ? problem : problem?.message ?? JSON.stringify(problem)

// Returns the problems of an error as pairs: the path of a field, and a text.
function problemsOf (error) {
  const { errors } = error
  if (!errors || typeof errors !== 'object') return []
  return Object.entries(errors).map(([path, problem]) => [path, textOf(problem)])
}

// Returns an error in sentences: its problems, or else its message.
export function sentencesOf (error) {
  const problems = problemsOf(error).map(([path, text]) => phrase(path, text))
  return problems.length ? problems : [error.message]
}

// Returns the name of the field that a path such as address.zip leads into.
const ownerOf = (path, names) =>
  names.find(name => name === path) ?? names.find(name => path.startsWith(`${name}.`) || path.startsWith(`${name}[`))

// Shows an error of a call: what is about an entry beside it, the rest in an alert.
// The first entry with a problem gets the focus, or else the alert.
export function showProblems (alert, entries, error) {
  clearProblems(alert, entries)
  const names = entries.map(entry => entry.name)
  const rest = []
  const texts = new Map()
  for (const [path, text] of problemsOf(error)) {
    const owner = ownerOf(path, names)
    if (owner === undefined) rest.push(phrase(path, text))
    else texts.set(owner, [...texts.get(owner) ?? [], phrase(path, text)])
  }
  for (const entry of entries) if (texts.has(entry.name)) entry.showError(texts.get(entry.name).join('. '))
  alert.append(element('p', {}, error.message))
  if (rest.length) alert.append(element('ul', {}, rest.map(text => element('li', {}, text))))
  alert.hidden = false
  const first = entries.find(entry => texts.has(entry.name))
  if (first) first.control.focus()
  else alert.focus()
}

export function clearProblems (alert, entries) {
  alert.hidden = true
  alert.replaceChildren()
  for (const entry of entries) entry.showError('')
}
