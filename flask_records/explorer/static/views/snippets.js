// A query as code, to copy.
import { announce, button, element } from '../dom.js'
import { addresses } from '../query.js'

const TITLES = { url: 'URL', curl: 'curl', javascript: 'JavaScript' }
const HINTS = { curl: 'TOKEN has the token.', javascript: 'With the official client.' }

export function snippets ({ explorer, service, sent }) {
  const texts = addresses(explorer.connection, service.path, sent)
  return element('div', { class: 'snippets' }, Object.entries(TITLES).map(([name, title]) => snippet(title, texts[name], hintOf(name, texts[name]))))
}

const hintOf = (name, code) => name === 'curl' && !code.includes('$TOKEN') ? null : HINTS[name]

function snippet (title, code, hint) {
  const place = element('pre', { tabindex: '0', role: 'region', 'aria-label': title }, element('code', {}, code))
  return element('section', {},
    element('div', { class: 'row' }, element('h2', {}, title), button('Copy', () => copy(code, place), { 'aria-label': `Copy the ${title}` })),
    place, hint ? element('p', { class: 'hint' }, hint) : null)
}

async function copy (code, place) {
  try {
    await navigator.clipboard.writeText(code)
    announce('Copied.')
  } catch {
    // A page without HTTPS may not write there.
    getSelection().selectAllChildren(place)
    announce('The text is selected. Copy it with your keyboard.')
  }
}
