// Records as CSV, and records of CSV.

// Spreadsheets take a text that begins like this for a formula, unless it is a phone number: two
// numbers with a space between them are none.
const FORMULA = /^'*[=+\-@\t\r](?!\d+ \(?\d[\d ()/.-]*$)/
const NUMBER = /^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i
const DELIMITERS = [',', ';', '\t']

// Spreadsheets take a file for UTF-8 by this.
export const BYTE_ORDER_MARK = '\ufeff'

// Returns values as a line. A null is empty, and an empty text is in quotes.
export const toLine = values => `${values.map(toCell).join(',')}\r\n`

function toCell (value) {
  if (value === undefined || value === null) return ''
  if (typeof value === 'object') return quoted(JSON.stringify(value))
  const text = String(value)
  if (typeof value !== 'string' || NUMBER.test(text)) return text
  return quoted(FORMULA.test(text) ? `'${text}` : text)
}

const quoted = text => text === '' || /[",;\r\n\t]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text

// Returns the lines of a text, each with the number of its first line in the text, the text
// itself, and its cells. A cell is null if it is empty and without quotes.
export function readLines (source) {
  const text = source.replace(BYTE_ORDER_MARK, '')
  const [first] = text.split('\n', 1)
  const delimiter = DELIMITERS.toSorted((one, other) => first.split(other).length - first.split(one).length)[0]
  const cell = new RegExp(`(?:"((?:[^"]|"")*)"|([^"${delimiter}\\r\\n][^${delimiter}\\r\\n]*)?)(${delimiter}|\\r?\\n|$)`, 'y')
  const lines = []
  let number = 1
  while (cell.lastIndex < text.length) {
    const start = cell.lastIndex
    const cells = []
    let end = delimiter
    while (end === delimiter) {
      const match = cell.exec(text)
      if (!match) throw new Error(`Line ${number.toLocaleString()} has a quote within a cell, or without an end.`)
      cells.push(match[1] === undefined ? match[2] ?? null : match[1].replaceAll('""', '"'))
      end = match[3]
    }
    const line = text.slice(start, cell.lastIndex)
    if (cells.some(each => each !== null)) lines.push({ number, source: line, cells })
    number += line.split('\n').length - 1
  }
  return lines
}

// Returns the text of a cell without the quote before what could be taken for a formula.
export const unquoted = cell => cell.startsWith("'") && FORMULA.test(cell) ? cell.slice(1) : cell
