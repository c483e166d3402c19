const find = selector => document.querySelector(selector)
const { root } = document.currentScript.dataset
const client = feathers()
// With several workers, polling requests would reach different ones. A server without
// WebSockets has one worker, and the page polls.
const transports = ['websocket', 'polling']
client.configure(feathers.socketio(io({ path: `${root}/socket.io`, transports, tryAllTransports: true })))
client.configure(feathers.authentication({ storage: window.localStorage }))

// Messages are inserted as text, never as HTML.
const line = ({ text, user }) => {
  const item = document.createElement('li')
  const author = document.createElement('b')
  author.textContent = user ? user.name || user.email : 'Unknown user'
  item.append(author, text)
  return item
}

const showMessages = async () => {
  const page = await client.service('messages').find({
    query: { $sort: { createdAt: -1 }, $limit: 20, $populate: 'user' }
  })
  find('#messages ol').replaceChildren(...page.data.map(line))
}

const show = async user => {
  for (const id of ['user', 'logout', 'messages']) find(`#${id}`).hidden = !user
  find('#login').hidden = Boolean(user)
  if (!user) return
  find('#user span').textContent = user.name || user.email
  find('#user img').src = user.avatar || ''
  find('#user img').hidden = !user.avatar
  await showMessages()
}

// Events reload the messages. All events during a reload cause one more reload.
let isStale = false
let isLoading = false

const showNews = async () => {
  isStale = true
  if (isLoading) return
  isLoading = true
  while (isStale) {
    isStale = false
    await showMessages().catch(() => {})
  }
  isLoading = false
}

for (const event of ['created', 'updated', 'patched', 'removed']) {
  client.service('messages').on(event, showNews)
}

// The content security policy may block the image.
find('#user img').addEventListener('error', event => { event.target.hidden = true })

const attempt = async action => {
  find('[role=alert]').textContent = ''
  try {
    await action()
  } catch (error) {
    find('[role=alert]').textContent = error.message
  }
}

find('#login form').addEventListener('submit', event => {
  event.preventDefault()
  const { email, password } = Object.fromEntries(new FormData(event.target))
  attempt(async () => {
    if (event.submitter.value === 'register') await client.service('users').create({ email, password })
    const { user } = await client.authenticate({ strategy: 'local', email, password })
    event.target.reset()
    await show(user)
  })
})

find('#messages form').addEventListener('submit', event => {
  event.preventDefault()
  attempt(async () => {
    await client.service('messages').create(Object.fromEntries(new FormData(event.target)))
    event.target.reset()
  })
})

find('#logout').addEventListener('click', () => attempt(async () => {
  await client.logout()
  await show()
}))

// An OAuth login returns here with #access_token= or #error=, which the client reads.
attempt(async () => {
  const isOAuthReturn = Boolean(location.hash)
  try {
    const { user } = await client.reAuthenticate()
    history.replaceState(null, '', location.pathname)
    await show(user)
  } catch (error) {
    history.replaceState(null, '', location.pathname)
    await show()
    // A missing or expired token is not an error to show.
    if (isOAuthReturn || error.code !== 401) throw error
  }
})
