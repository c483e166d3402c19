// Events of services: the log of all, and those of one as they come.

const SIZE = 500
const WAIT = 1000
export const CHANGES = ['created', 'updated', 'patched', 'removed']

// Collects the events of a connection: the last 500 in `entries`, newest first. It has
// the event 'entry' (detail: the entry), and 'clear'. Entries have numbers that rise.
export class EventLog extends EventTarget {
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

// Calls a function with the events of changes, at most once a second, and without any
// after a connection that was lost is there again.
export function onEvents ({ connection }, path, signal, action) {
  let events = []
  let last = -WAIT
  let timer = null
  let wasLive = connection.isLive
  const run = async () => {
    const taken = events
    events = []
    try {
      await action(taken)
    } finally {
      last = performance.now()
      timer = null
    }
    if (events.length && !signal.aborted) plan()
  }
  const plan = () => {
    timer ??= setTimeout(run, Math.max(0, last + WAIT - performance.now()))
  }
  connection.addEventListener('event', ({ detail }) => {
    if (detail.service !== path || !CHANGES.includes(detail.event)) return
    events.push(detail)
    plan()
  }, { signal })
  connection.addEventListener('state', () => {
    if (connection.isLive && !wasLive) plan()
    wasLive = connection.isLive
  }, { signal })
  signal.addEventListener('abort', () => clearTimeout(timer))
}
