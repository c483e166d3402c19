// The form that writes messages. Each room keeps what was not sent yet.
import { socket } from './client.js'
import { find, onSubmit } from './dom.js'
import { send } from './messages.js'
import { currentRoom } from './rooms.js'

const form = find('#composer')
const field = find('#text')
const counter = find('#counter')
const label = find('label', form)
const longest = Number(field.dataset.longest)
const drafts = new Map()
const alert = find('[role=alert]', form)
const OFFLINE = 'There is no connection. The message stays here until you send it again.'
const hasKeyboard = window.matchMedia('(hover: hover)')

let shown = null

export function showComposer (room) {
  if (shown) drafts.set(shown, field.value)
  shown = room.id
  label.textContent = `Message in ${room.name}`
  field.value = drafts.get(room.id) ?? ''
  alert.textContent = ''
  count()
}

// On a phone the keyboard would cover the room.
export function focusComposer () {
  if (hasKeyboard.matches) field.focus()
  else find('#room h2').focus()
}

export function forgetDrafts () {
  drafts.clear()
  shown = null
  field.value = ''
}

// The server counts characters, where JavaScript counts halves of some.
const lengthOf = text => [...text].length

function count () {
  const length = lengthOf(field.value)
  counter.hidden = length < longest * 0.9
  counter.textContent = `${length} of ${longest} characters`
  counter.classList.toggle('failed', length > longest)
}

onSubmit(form, alert, async () => {
  const text = field.value
  const room = currentRoom()
  const length = lengthOf(text)
  if (!text.trim()) return
  if (length > longest) throw new Error(`This has ${length} characters. A message has ${longest} at most.`)
  if (!socket.connected) throw new Error(OFFLINE)
  await send(text)
  // Somebody may have gone on writing, or opened another room.
  if (shown !== room.id) drafts.delete(room.id)
  else if (field.value === text) field.value = ''
  count()
})

socket.on('connect', () => { if (alert.textContent === OFFLINE) alert.textContent = '' })

field.addEventListener('input', count)

field.addEventListener('keydown', event => {
  if (event.key !== 'Enter' || event.shiftKey || event.isComposing || !hasKeyboard.matches) return
  event.preventDefault()
  form.requestSubmit()
})
