// The box above a table that searches its records.
import { element } from '../dom.js'
import { searchOf } from '../search.js'

const DELAY = 300

export function searchBox (view) {
  const { operator, names } = searchOf(view.service)
  let timer = null
  const search = () => {
    clearTimeout(timer)
    const text = box.value.trim() || undefined
    if (text !== view.query.$search) view.go({ ...view.pages.first(view.query), $search: text }, { isReplaced: true })
  }
  const box = element('input', {
    type: 'search',
    value: view.query.$search ?? '',
    placeholder: `${operator === '$eq' ? 'Exact text of' : 'Search in'} ${names.join(', ')}`,
    autocomplete: 'off',
    spellcheck: 'false',
    'aria-label': `Search in ${view.service.path}`,
    oninput: () => {
      clearTimeout(timer)
      timer = setTimeout(search, DELAY)
    }
  })
  const onsubmit = event => {
    event.preventDefault()
    search()
  }
  return element('form', { class: 'search', role: 'search', onsubmit }, box)
}
