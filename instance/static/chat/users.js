// The users who are known, so that a message shows its author without a call of its own.
// Users whom events mention are loaded together, in one call.
import { client } from './client.js'

const PAGE = 50
const users = new Map()
const wanted = new Set()
const asked = new Set()

export const nameOf = user => user ? user.name || user.email || `User ${user.id}` : 'Unknown user'

export function remember (user) {
  if (!user) return
  users.set(user.id, user)
  for (const place of document.querySelectorAll(`[data-name-of="${user.id}"]`)) fillName(place)
  for (const image of document.querySelectorAll(`img[data-image-of="${user.id}"]`)) fillImage(image)
}

export const known = id => users.get(id)

// Shows the name of a user in an element, now and whenever it changes.
export function showName (place, id) {
  place.dataset.nameOf = id
  fillName(place)
}

export function showImage (image, id) {
  image.dataset.imageOf = id
  // Another site may not answer.
  image.addEventListener('error', () => { image.hidden = true })
  fillImage(image)
}

function fillName (place) {
  const id = Number(place.dataset.nameOf)
  if (!users.has(id)) want(id)
  place.textContent = users.has(id) ? nameOf(users.get(id)) : id ? '…' : nameOf(null)
}

function fillImage (image) {
  const user = users.get(Number(image.dataset.imageOf))
  image.hidden = !user?.avatar
  if (user?.avatar) image.src = user.avatar
}

function want (id) {
  if (!id || asked.has(id)) return
  if (wanted.size === 0) setTimeout(load, 20)
  asked.add(id)
  wanted.add(id)
}

async function load () {
  const ids = [...wanted]
  wanted.clear()

  for (let start = 0; start < ids.length; start += PAGE) {
    const query = { id: { $in: ids.slice(start, start + PAGE) }, $limit: PAGE }
    const page = await client.service('users').find({ query }).catch(() => ({ data: [] }))
    page.data.forEach(remember)
  }

  // Whoever was not found is asked for again.
  for (const id of ids) asked.delete(id)
}

for (const event of ['updated', 'patched']) client.service('users').on(event, remember)
