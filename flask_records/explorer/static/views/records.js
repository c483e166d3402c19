// The records of a service: a table, its filter, its columns, its pages, and its query as code.
import { absence, button, element, moveByArrows, released, replace } from '../dom.js'
import { address } from '../paths.js'
import { fieldsOf, isKey, isRounded, pathsOf } from '../schema.js'
import { addresses, carried, SPECIAL, toText, typed } from '../query.js'
import { keepShown } from '../requests.js'
import { Names } from '../values.js'
import { searchOf, withSearch } from '../search.js'
import { columnsOf, columnsPanel, isShown, Table } from './table.js'
import { onEvents } from '../eventlog.js'
import { manyActions } from './many.js'
import { Pages, pagesOf, placeOf } from './pages.js'

const DELAY = 300

export async function show (place, explorer, route, signal) {
  const [path] = route.parts
  const service = explorer.services.get(path)
  if (!service.methods.includes('find')) throw absence(unlisted(service), path)
  const view = new RecordsView(explorer, service, signal)
  view.query = typed(route.query, view.queried)
  replace(place, view.parts())
  moveByArrows(place, '.records tbody th a', '.search input')
  moveByArrows(place, '.records tbody .box input')
  onEvents(explorer, path, signal, events => view.follow(events))
  await view.load()
}

const unlisted = ({ path, methods, customMethods }) => `Records of ${path} are not listed: you may not call find here, but ${[...methods, ...customMethods].join(', ')}.`

class RecordsView {
  constructor (explorer, service, signal) {
    const fields = fieldsOf(service)
    Object.assign(this, { explorer, service, signal, fields, queried: [...fields, ...pathsOf(service)], records: [], total: undefined, error: null })
    this.pages = new Pages(this)
    this.names = new Names(explorer)
    this.selected = new Set()
    // The number of records that match, if all of them are selected.
    this.allSelected = null
    this.many = manyActions({ explorer, service, find: query => this.find(query), hasKeys: this.pages.hasKeys, selection: () => this.selection(), selectAll: () => this.selectAll(true), onDone: method => this.endMany(method), clear: () => this.clear() })
    this.table = new Table(this)
    this.turn = 0
    this.fresh = new Set()
    this.opened = null
    this.summary = element('div')
    this.notice = element('div', { role: 'status' })
    this.problem = element('div')
    this.footer = element('div', { class: 'row pages' })
    this.panels = {
      Filter: async options => (await import('./filters.js')).filterForm(this, conditions => this.filter(conditions), options),
      Columns: async () => columnsPanel(this),
      Code: async () => (await import('./snippets.js')).snippets(this),
      Export: async () => (await import('./export.js')).exportPanel(this)
    }
  }

  parts () {
    const { path, description, methods } = this.service
    this.panel = element('section', { class: 'card panel', id: 'panel', hidden: true })
    this.switches = Object.keys(this.panels).map(name => button(name, () => this.open(name), { 'aria-expanded': 'false', 'aria-controls': 'panel' }))
    return [
      element('div', { class: 'title' },
        element('h1', { tabindex: -1 }, path),
        element('div', { class: 'row' }, this.switches, button('Compare', () => this.explorer.go(address('compare', [path], toText(this.sent)))), methods.includes('create') ? element('a', { class: 'button main', href: address('create', [path]) }, 'New record') : null),
        description ? element('p', { class: 'soft description' }, description) : null),
      searchOf(this.service) ? searchBox(this) : null,
      this.panel, this.summary, this.problem, this.notice, this.many, this.table.node, this.footer
    ].filter(Boolean)
  }

  // The query without what is no condition.
  get conditions () {
    const query = this.pages.isByKey(this.query) ? this.pages.after(this.query) : this.query
    return Object.fromEntries(Object.entries(query).filter(([name]) => !SPECIAL.includes(name)))
  }

  get sent () {
    return withSearch(this.service, this.pages.sent(this.query))
  }

  // The query for all records that the filter and the search leave.
  get matching () {
    return withSearch(this.service, { ...this.conditions, $search: this.query.$search })
  }

  // Opens a panel, or closes it if it is open.
  async open (name) {
    this.opened = this.opened === name ? null : name
    for (const each of this.switches) each.setAttribute('aria-expanded', String(each.firstChild.data === this.opened))
    await this.drawPanel({ isOpened: true })
    if (name === 'Filter') this.panel.querySelector('select')?.focus()
  }

  async drawPanel (options) {
    // Conditions that are typed, and not applied yet, stay.
    const drawn = JSON.stringify([this.opened, this.conditions])
    if (this.opened === 'Filter' && this.drawn === drawn) return
    this.drawn = drawn
    const panel = this.opened && await this.panels[this.opened](options)
    if (this.drawn !== drawn) return
    this.panel.hidden = !this.opened
    this.panel.setAttribute('aria-label', this.opened ?? '')
    keepFocus(() => replace(this.panel, panel))
  }

  async drawSummary () {
    const isFiltered = Object.keys(this.conditions).length > 0
    replace(this.summary, isFiltered && (await import('./filters.js')).filterSummary(this, conditions => this.filter(conditions)))
  }

  // Goes to a query of the same service: an address of its own, unless it replaces the last one.
  go (query, { isReplaced = false } = {}) {
    this.query = typed(toText(query), this.queried)
    history[isReplaced ? 'replaceState' : 'pushState'](null, '', this.addressOf(this.query))
    return this.load()
  }

  addressOf (query) {
    return address('records', [this.service.path], toText(query))
  }

  // Returns a link to a query, which does not begin the view anew.
  link (label, query, attributes) {
    const onclick = event => {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return
      event.preventDefault()
      this.go(query)
    }
    return element('a', { href: this.addressOf(query), onclick, ...attributes }, label)
  }

  filter (conditions) {
    const kept = Object.entries(this.query).filter(([name]) => SPECIAL.includes(name) && name !== '$skip')
    const loading = this.go({ ...Object.fromEntries(kept), ...conditions })
    this.drawn = null
    this.drawPanel()
    return loading
  }

  // Sorts by a field: ascending, descending, not at all.
  sort (name, isAdded) {
    const { [name]: way, ...others } = this.query.$sort ?? {}
    const next = { 1: { [name]: -1 }, '-1': {} }[way] ?? { [name]: 1 }
    const $sort = { ...(isAdded ? others : {}), ...next }
    return this.go({ ...this.pages.first(this.query), $sort: Object.keys($sort).length ? $sort : undefined })
  }

  async find (query) {
    const { connection } = this.explorer
    // Nothing is undefined.
    const sent = JSON.parse(JSON.stringify(withSearch(this.service, query)))
    const answer = await connection.service(this.service.path).find({ query: this.carry(sent) })
    return readAnswer(answer, query)
  }

  carry (query) {
    return this.explorer.connection.socket ? carried(query, this.queried) : query
  }

  async load ({ isLive = false } = {}) {
    const turn = ++this.turn
    this.isLoading ||= !isLive
    this.table.node.setAttribute('aria-busy', 'true')
    const found = await this.find(this.sent).catch(error => ({ records: [], total: undefined, error }))
    await released(this.table.node.parentNode)
    if (turn !== this.turn) return
    Object.assign(this, { error: null, isLoading: false, ...found })
    if (!isLive) {
      keepShown(addresses(this.explorer.connection, this.service.path, this.sent).url)
      this.fresh.clear()
      this.start = this.total
    }
    for (const record of this.records) this.fresh.delete(String(record[this.service.id]))
    this.table.node.setAttribute('aria-busy', 'false')
    this.draw(isLive)
  }

  // Takes up what events tell: whether a record fits is for the server to say.
  async follow (events) {
    for (const { event, data } of events) {
      const ids = [data].flat().map(record => String(record?.[this.service.id]))
      for (const id of ids) event === 'created' ? this.fresh.add(id) : event === 'removed' && this.fresh.delete(id)
      if (event === 'removed') for (const each of this.selected) if (ids.includes(String(each))) this.selected.delete(each)
    }
    // What is under way is not marked as a change.
    await this.load({ isLive: !this.isLoading })
  }

  draw (isMarked = false) {
    keepFocus(() => {
      this.columns = columnsOf(this.service, this.fields, this.query, this.records)
      this.select()
      this.shown = this.columns.filter(column => isShown(this.service, column))
      this.table.draw(this.shown, this.records, { isMarked, caption: this.caption(), nothing: this.nothing() })
      this.names.fill(this.table.node)
      this.drawSummary()
      replace(this.footer, pagesOf(this))
      replace(this.notice, this.news())
      if (!isMarked) this.drawPanel()
      replace(this.problem, this.error ? element('p', { class: 'problem', role: 'alert' }, this.error.message) : this.rounding())
    })
  }

  selection () {
    const { selected, total, service: { id } } = this
    if (this.allSelected !== null) return { count: this.allSelected, query: this.carry(this.matching) }
    const here = this.records.filter(record => isKey(record[id]))
    const chosen = here.filter(record => selected.has(record[id]))
    const isPage = chosen.length > 0 && chosen.length === here.length
    const hasTotal = isPage && total > selected.size && this.pages.keyOf(this.query) === undefined
    return { count: selected.size, ids: [...selected], query: { [id]: { $in: [...selected] } }, more: hasTotal ? total : null, elsewhere: selected.size - chosen.length }
  }

  // Selects all records that match, also those of other pages, or ends that.
  selectAll (isSelected) {
    this.allSelected = isSelected ? this.total : null
    this.many.update()
    return isSelected || this.load()
  }

  // Ends a change or removal of many. Records that are not shown any more may be removed.
  endMany (method) {
    if (method === 'remove') this.selectedOf = null
    return this.selectAll(false)
  }

  clear () {
    this.selected.clear()
    this.allSelected = null
    for (const box of this.table.body.querySelectorAll('.box input')) box.checked = false
    this.table.drawAll()
    this.select()
    this.table.node.focus()
  }

  // Selects a record, or ends that. Only those that have a key are selected. Other pages keep
  // them; another filter keeps those that it shows.
  select (id, isSelected) {
    if (id !== undefined) this.allSelected = null
    if (isSelected && isKey(id)) this.selected.add(id)
    else this.selected.delete(id)
    const ids = this.records.map(record => record[this.service.id])
    const matching = JSON.stringify(this.matching)
    if (matching !== this.selectedOf) {
      this.allSelected = null
      for (const each of this.selected) if (!ids.includes(each)) this.selected.delete(each)
    }
    this.selectedOf = matching
    if (this.allSelected !== null) {
      if (this.pages.keyOf(this.query) === undefined) this.allSelected = this.total
      for (const each of ids.filter(isKey)) this.selected.add(each)
    }
    if (!this.many) return
    this.many.hidden = this.selected.size === 0
    this.many.update()
  }

  rounding () {
    const { id, path } = this.service
    if (!this.records.some(record => isRounded(record[id]))) return null
    return element('p', { class: 'card' }, `JavaScript rounds keys of ${path} above ${Number.MAX_SAFE_INTEGER.toLocaleString()}. These records can’t be opened, selected or changed here until the service sends them as text: `, element('code', {}, 'converters={BigInteger: Converter(show=str)}'), '.')
  }

  caption () {
    const { $sort = {} } = this.query
    const order = Object.entries($sort).map(([name, way]) => `${name} ${way === -1 ? 'descending' : 'ascending'}`)
    return [placeOf(this), ...(order.length ? [`by ${order.join(', ')}`] : [])].join(', ')
  }

  nothing () {
    if (this.error) return 'Nothing to show.'
    if (this.query.$search) return 'No records fit the search.'
    return Object.keys(this.conditions).length ? 'No records fit the filter.' : 'There are no records.'
  }

  // New records that are not on this page. Those that a filter leaves out do not count.
  news () {
    const isFiltered = Object.keys(this.matching).length > 0
    const count = isFiltered && this.total !== undefined ? Math.min(this.fresh.size, Math.max(0, this.total - this.start)) : this.fresh.size
    if (!count || this.error) return null
    const { id } = this.service
    const canSort = this.fields.some(field => field.name === id && field.isSortable)
    const query = this.pages.first({ ...this.query, ...(canSort ? { $sort: { [id]: -1 } } : {}) })
    return element('p', { class: 'card news' }, `${count.toLocaleString()} new ${count === 1 ? 'record' : 'records'}, `, this.link('show', query))
  }
}

// Returns the records of an answer, and their number. A service that knows no pages gives
// all of them, and one without a list its only one.
function readAnswer (answer, { $limit, $skip = 0 }) {
  const { data, total } = Array.isArray(answer?.data) ? answer : { data: [answer ?? []].flat() }
  const records = data.map(each => each !== null && typeof each === 'object' ? each : { value: each })
  if ($limit === undefined || records.length <= $limit) return { records, total }
  return { records: records.slice($skip, $skip + $limit), total: records.length }
}

// Gives the focus to what has the place of the element that had it.
function keepFocus (draw) {
  const { key } = document.activeElement?.dataset ?? {}
  draw()
  if (!key || document.activeElement !== document.body) return
  const all = [...document.querySelectorAll('#main [data-key]')]
  const found = all.find(each => each.dataset.key === key) ?? document.querySelector('#main .records')
  found?.focus()
}

// The box above the table.
function searchBox (view) {
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
