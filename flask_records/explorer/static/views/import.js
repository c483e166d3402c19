// A form that creates a record of each line of CSV.
import { announce, attempt, button, element, field, replace, table } from '../dom.js'
import { readLines, unquoted } from '../csv.js'
import { bodyFields, described } from '../schema.js'
import { show as showValue } from '../values.js'
import { choicesOf, readText, wordOf } from './controls.js'
import { phrase, sentencesOf } from './problems.js'

// The records of one call, which are created all or none.
const SIZE = 100
const PREVIEW = 5
const MAX_PROBLEMS = 50
// The texts of these are not those of the controls of forms.
const AS_WRITTEN = ['datetime', 'date', 'time']
const DOCUMENTS = ['json', 'any']
// Codes of errors that are about the record, and not about any call.
const ABOUT_RECORDS = [400, 409, 422]

export function importForm (explorer, service, leave) {
  const text = element('textarea', { rows: 8, class: 'code', spellcheck: 'false', oninput: () => draw() })
  const status = element('p', { class: 'soft', role: 'status' })
  const preview = element('div')
  const problem = element('div', { class: 'problem', role: 'alert', hidden: true })
  const send = element('button', { class: 'main' }, 'Create')
  const chooser = element('input', {
    type: 'file',
    accept: '.csv,text/csv',
    hidden: true,
    onchange: event => attempt(event.target, async () => {
      const [file] = chooser.files
      if (!file) return
      text.value = decoded(await file.arrayBuffer())
      draw()
    })
  })
  const showProblems = sentences => {
    const more = sentences.length - MAX_PROBLEMS
    replace(problem, element('ul', {}, sentences.slice(0, MAX_PROBLEMS).map(each => element('li', {}, each))), more > 0 ? element('p', {}, `And ${more.toLocaleString()} more.`) : null)
    problem.hidden = sentences.length === 0
  }
  const draw = () => {
    const found = read(service, text.value)
    replace(status, found.lines.length ? count(found.lines.length) : '')
    replace(preview, found.lines.length ? previewOf(explorer, found) : null)
    showProblems(found.problems)
    return found
  }
  const onsubmit = event => {
    event.preventDefault()
    return attempt(send, async () => {
      const { head, lines, problems } = draw()
      if (problems.length) return
      if (lines.length === 0) throw new Error('There is no line with a record.')
      const { left, errors, failure } = await create(explorer, service, lines, number => { status.textContent = `${number.toLocaleString()} of ${count(lines.length)}` })
      const made = count(lines.length - left.length)
      // What is created goes, so that none is made twice.
      text.value = left.length ? [head, ...left].map(({ source }) => source.replace(/\r?\n$/, '')).join('\n') : ''
      if (left.length === 0) {
        announce(`${made} created.`)
        return leave()
      }
      const again = draw()
      const refusals = left.flatMap((line, index) => errors.has(line) ? [sentence(again.lines[index].number, sentencesOf(errors.get(line)).join(', '))] : [])
      showProblems([`${made} created. ${count(left.length)} left.`, ...failure ? sentencesOf(failure) : [], ...refusals])
    }, error => showProblems([error.message]))
  }
  const form = element('form', { class: 'card form stack', novalidate: true, onsubmit },
    problem,
    field('CSV', text, 'The first line has the names of fields. An empty cell is left out, and "" is an empty text.'),
    status,
    preview,
    element('div', { class: 'row' }, send, button('Choose a file…', () => chooser.click()), chooser))
  return Object.assign(form, { isTyped: () => text.value !== '' })
}

const count = number => `${number.toLocaleString()} ${number === 1 ? 'record' : 'records'}`

const sentence = (number, text) => `Line ${number.toLocaleString()}: ${text}`

function decoded (bytes) {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw new Error('The file is not UTF-8. Save it as “CSV UTF-8”.')
  }
}

// Returns the lines with their records, the columns, and what is wrong in all of the text.
function read (service, text) {
  const fields = new Map(bodyFields(service, 'create').map(each => [each.name, each]))
  try {
    const [head, ...lines] = readLines(text)
    const columns = (head?.cells ?? []).map((cell, index) => columnOf(fields, cell?.trim(), index))
    const twice = columns.filter(({ name }, index) => columns.findIndex(each => each.name === name) < index)
    const missing = fields.size && lines.length ? [...fields.values()].filter(({ name, isRequired }) => isRequired && !columns.some(each => each.name === name)) : []
    const problems = [...twice.map(({ name }) => `has ${name} twice`), ...missing.map(({ name }) => `lacks ${name}, which is required`)].map(each => `Line 1 ${each}.`)
    const readLine = line => {
      const { data, errors } = recordOf(columns, line)
      problems.push(...errors)
      return { ...line, data }
    }
    return { head, columns, lines: lines.map(readLine), problems }
  } catch ({ message }) {
    return { columns: [], lines: [], problems: [message] }
  }
}

// Returns the field of a column. One without a field is left out, if fields are known.
function columnOf (fields, name, index) {
  const isLeftOut = !name || (fields.size > 0 && !fields.has(name))
  return fields.get(name) ?? { ...described(name || `Column ${index + 1}`, { type: 'string' }), isLeftOut }
}

function recordOf (columns, { number, cells }) {
  const [data, errors] = [[], []]
  if (cells.length !== columns.length) return { data: {}, errors: [`Line ${number.toLocaleString()} has ${cells.length} cells, the first line has ${columns.length}.`] }
  columns.forEach((column, index) => {
    const cell = cells[index]
    if (column.isLeftOut || (cell === null && !column.isRequired)) return
    try {
      data.push([column.name, valueOf(column, cell)])
    } catch ({ message }) {
      errors.push(sentence(number, `${phrase(column.name, message)}.`))
    }
  })
  return { data: Object.fromEntries(data), errors }
}

function valueOf (column, cell) {
  if (cell === null) throw new Error('is required')
  const text = unquoted(cell)
  const choices = choicesOf(column)
  const choice = choices?.find(each => String(each) === (column.kind === 'boolean' ? text.toLowerCase() : text))
  if (choices && choice === undefined) throw new Error(`is none of ${choices.join(', ')}`)
  if (choices || AS_WRITTEN.includes(column.kind)) return choice ?? text
  try {
    return readText(column, text)
  } catch (error) {
    // Documents may be texts.
    if (DOCUMENTS.includes(column.kind)) return text
    throw error
  }
}

// The first records as they are created.
function previewOf (explorer, { columns, lines }) {
  const heads = columns.map(column => [column.name, ' ', element('span', { class: 'soft' }, column.isLeftOut ? 'left out' : wordOf(column.kind))])
  const rows = lines.slice(0, PREVIEW).map(({ number, data }) => [number.toLocaleString(), ...columns.map(column => showValue(data[column.name], { ...column, relation: null }, explorer))])
  return table('The first records', ['Line', ...heads], rows, { class: 'scroll records' })
}

// Creates the records. A call that is refused is made again for each of its lines, so that the
// others are created. Returns the lines that are left, their errors, and what has ended it.
async function create ({ connection }, { path, multi }, lines, tell) {
  const client = connection.service(path)
  const size = multi.includes('create') ? SIZE : 1
  const [made, errors] = [new Set(), new Map()]
  let failure = null
  const send = async part => {
    try {
      await client.create(part.length > 1 ? part.map(({ data }) => data) : part[0].data)
      for (const line of part) made.add(line)
    } catch (error) {
      if (!ABOUT_RECORDS.includes(error.code)) throw error
      if (part.length === 1) errors.set(part[0], error)
      else for (const line of part) await send([line])
    }
  }
  try {
    for (let start = 0; start < lines.length && errors.size < MAX_PROBLEMS; start += size) {
      await send(lines.slice(start, start + size))
      tell(made.size)
    }
  } catch (error) {
    failure = error
  }
  return { left: lines.filter(line => !made.has(line)), errors, failure }
}
