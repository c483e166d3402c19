// The last events of all services.

const SIZE = 500

// Collects the events of a connection: the last 500 in `entries`, newest first. It has
// the event 'entry' (detail: the entry), and 'clear'. Entries have numbers that rise.
class EventLog extends EventTarget {
  constructor (connection) {
    super()
    this.entries = []
    this.number = 0
    connection.addEventListener('event', ({ detail }) => this.add(detail))
  }

  add (detail) {
    const entry = { ...detail, number: ++this.number }
    this.entries.unshift(entry)
    this.entries.splice(SIZE)
    this.dispatchEvent(new CustomEvent('entry', { detail: entry }))
  }

  clear () {
    this.entries = []
    this.dispatchEvent(new Event('clear'))
  }
}

const logs = new WeakMap()

// Returns the log of a connection, which begins when it is first asked for.
export function eventLogOf (connection) {
  if (!logs.has(connection)) logs.set(connection, new EventLog(connection))
  return logs.get(connection)
}
