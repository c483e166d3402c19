// The page: what is shown to whom, and when.
import './wire-pane.js'
import { showAccount } from './account.js'
import { focusComposer, forgetDrafts, showComposer } from './composer.js'
import { onRestore } from './connection.js'
import { find, say } from './dom.js'
import { enter, hideLogin, showLogin } from './login.js'
import { catchUp, forgetMessages, searched, showMessages } from './messages.js'
import * as rooms from './rooms.js'
import { onBegin, onEnd } from './session.js'
import { remember } from './users.js'
import './loss.js'

const chat = find('#chat')
const room = find('#room')
const notice = find('#notice')
const searchForm = find('#search')
const report = error => say(notice, error)

const roomInAddress = () => Number(new URLSearchParams(location.search).get('room')) || null

onBegin(user => {
  forget(user)
  remember(user)
  showAccount(user)
  hideLogin()
  say(notice)
  chat.hidden = false
  find('#show-account').hidden = false
  return load().catch(report)
})

async function load () {
  await rooms.loadRooms()
  await rooms.noteNewest()
  await openFirst()
}

// Opens the room in the address, or else the first one, and says why.
async function openFirst () {
  const id = roomInAddress()
  const isNarrow = window.matchMedia('(max-width: 45rem)').matches
  const problem = id && await rooms.openRoom(id, { isHistory: true }).then(() => null, error => error)
  if (id && !problem) return
  if (problem) history.replaceState(null, '', location.pathname)
  const first = rooms.firstRoom()
  if (first && !isNarrow) await rooms.openRoom(first.id)
  else showNoRoom()
  if (problem) report(problem.code === 404 ? 'There is no such room.' : problem)
}

onEnd(words => {
  for (const dialog of document.querySelectorAll('dialog[open]')) dialog.close()
  chat.hidden = true
  find('#show-account').hidden = true
  document.title = 'Chat'
  showLogin(words)
})

let previous

// Whoever logs in again goes on with the words that were not sent.
function forget (user) {
  if (previous !== user.id) forgetDrafts()
  previous = user.id
  rooms.forgetRooms()
  forgetMessages()
}

function showNoRoom () {
  room.hidden = true
  find('#welcome').hidden = false
  document.body.dataset.view = 'rooms'
}

function showRoomName (opened) {
  find('#room h2 .name').textContent = opened.name
}

rooms.onRename(showRoomName)

rooms.onOpen(async opened => {
  say(notice)
  searchForm.reset()
  showRoomName(opened)
  showComposer(opened)
  room.hidden = false
  find('#welcome').hidden = true
  document.body.dataset.view = 'room'
  focusComposer()
  await showMessages()
})

rooms.onClose(name => {
  report(`“${name}” is gone: it was removed.`)
  forgetMessages()
  history.replaceState(null, '', location.pathname)
  showNoRoom()
})

onRestore(async () => {
  try {
    await rooms.loadRooms()
    await Promise.all([rooms.countMissed(), catchUp()])
  } catch (error) {
    report(error)
  }
})

searchForm.addEventListener('submit', event => {
  event.preventDefault()
  const text = new FormData(searchForm).get('text').trim()
  if (text !== searched()) showMessages(text).catch(report)
})

// The cross in the field empties it.
find('input', searchForm).addEventListener('input', event => {
  if (!event.target.value && searched()) showMessages().catch(report)
})

find('#back').addEventListener('click', () => {
  document.body.dataset.view = 'rooms'
  find('#rooms a[aria-current]')?.focus()
})

window.addEventListener('popstate', () => {
  const id = roomInAddress()
  if (id && !chat.hidden) rooms.openRoom(id, { isHistory: true }).catch(report)
})

// Calls that nobody waits for, such as the login after a reconnect, can fail.
window.addEventListener('unhandledrejection', event => {
  if (event.reason?.code !== undefined) event.preventDefault()
  report(event.reason)
})

enter().catch(report)
