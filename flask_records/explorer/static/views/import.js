// A form that creates a record of each line of CSV.
import { announce, attempt, button, element, field, replace } from '../dom.js'
import { fromCell, readLines } from '../csv.js'
import { bodyFields } from '../schema.js'

// The records of one call, which are created all or none.
const SIZE = 100

export function importForm (explorer, service, leave) {
  const text = element('textarea', { rows: 8, class: 'code', spellcheck: 'false', oninput: () => draw() })
  const status = element('p', { class: 'soft', role: 'status' })
  const problem = element('p', { class: 'problem', role: 'alert', hidden: true })
  const send = element('button', { class: 'main' }, 'Create')
  const chooser = element('input', {
    type: 'file',
    accept: '.csv,text/csv',
    hidden: true,
    onchange: async () => {
      text.value = await chooser.files[0]?.text() ?? text.value
      draw()
    }
  })
  const showProblem = message => {
    problem.textContent = message ?? ''
    problem.hidden = !message
  }
  const draw = () => {
    try {
      const { lines, unknown, names } = read(service, text.value)
      const others = unknown.length ? ` Left out, since no field of that name can be written: ${unknown.join(', ')}.` : ''
      replace(status, text.value ? `${count(lines.length)} with ${names.join(', ') || 'no field'}.${others}` : '')
      showProblem()
    } catch (error) {
      showProblem(error.message)
    }
  }
  const onsubmit = event => {
    event.preventDefault()
    return attempt(send, async () => {
      const made = await create(explorer, service, text)
      announce(`${count(made)} created.`)
      leave()
    }, error => {
      draw()
      showProblem(error.message)
    })
  }
  const form = element('form', { class: 'card form stack', novalidate: true, onsubmit },
    problem,
    field('CSV', text, 'The first line has the names of fields. An empty cell is left out, and "" is an empty text.'),
    status,
    element('div', { class: 'row' }, send, button('Choose a file…', () => chooser.click()), chooser))
  return Object.assign(form, { isTyped: () => text.value !== '' })
}

const count = number => `${number.toLocaleString()} ${number === 1 ? 'record' : 'records'}`

// Returns the lines with their records, and the names of the columns, known and unknown.
function read (service, text) {
  const fields = new Map(bodyFields(service, 'create').map(each => [each.name, each]))
  const [head, ...rest] = readLines(text)
  const names = (head?.cells ?? []).map(name => name?.trim() ?? '')
  const isKnown = name => fields.size === 0 || fields.has(name)
  const lines = rest.map(line => {
    const pairs = line.cells.map((cell, index) => [names[index], cell]).filter(([name, cell]) => name && cell !== null && isKnown(name))
    return { ...line, data: Object.fromEntries(pairs.map(([name, cell]) => [name, fromCell(cell, fields.get(name) ?? { kind: 'text' })])) }
  })
  return { head, lines, names: names.filter(isKnown), unknown: names.filter(name => !isKnown(name)) }
}

// Creates the records, and takes those that are created out of the text, so that none is made twice.
async function create (explorer, service, text) {
  const { head, lines } = read(service, text.value)
  if (lines.length === 0) throw new Error('There is no line with a record.')
  const client = explorer.connection.service(service.path)
  const isMany = service.multi.includes('create')
  const size = isMany ? SIZE : 1
  for (let start = 0; start < lines.length; start += size) {
    const part = lines.slice(start, start + size)
    try {
      await client.create(isMany ? part.map(({ data }) => data) : part[0].data)
    } catch (error) {
      const details = Object.entries(error.errors ?? {}).map(([path, problem]) => problemOf(part, path, problem))
      text.value = [head, ...lines.slice(start)].map(({ source }) => source.replace(/\r?\n$/, '')).join('\n')
      throw new Error(`${count(start)} created. ${error.message} ${details.join(' ')}`.trim())
    }
  }
  text.value = ''
  return lines.length
}

// Returns a problem of a record of many, which its path begins with the place of, with its line.
function problemOf (part, path, problem) {
  const [, place, name] = /^(\d+)\.(.+)$/.exec(path) ?? [null, '0', path]
  return `Line ${part[place]?.number.toLocaleString()}: ${name} ${problem.message ?? problem}.`
}
