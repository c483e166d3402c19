// Events of a service, taken together.
const WAIT = 1000
const CHANGES = ['created', 'updated', 'patched', 'removed']

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
