// What the passes through the explorer share: windows, tables and forms.
import assert from 'node:assert/strict'
import { openWindow } from './browser.js'

const WINDOW = { locale: 'en-GB', timezoneId: 'Europe/Berlin' }

// A window of the explorer of a server.
export class Explorer {
  static async open (browser, base, options = {}) {
    const page = await openWindow(browser, { ...WINDOW, ...options })
    page.setDefaultTimeout(8_000)
    return Object.assign(new Explorer(), { page, base })
  }

  open (view) {
    return this.page.goto(`${this.base}/_records/#/${view}`)
  }

  // Opens a view, and waits until it has loaded what it shows.
  async go (view = '') {
    await this.open(view)
    await this.page.locator('h1').waitFor()
    await this.idle()
  }

  async idle () {
    await this.page.waitForLoadState('networkidle')
    await this.page.locator('#main [aria-busy=true]').waitFor({ state: 'detached' })
  }

  title (name) {
    return this.page.getByRole('heading', { level: 1, name, exact: typeof name === 'string' }).waitFor()
  }

  press (name, place = this.page) {
    return place.getByRole('button', { name, exact: true }).click()
  }

  control (name) {
    return this.page.getByLabel(name, { exact: true })
  }

  problemOf (name) {
    return this.page.locator('.entry', { has: this.control(name) }).locator('.field-error').innerText()
  }

  value (name) {
    return this.page.locator('.details dt', { hasText: name }).locator('+ dd')
  }

  query () {
    return this.page.evaluate(() => decodeURIComponent(location.hash.split('?')[1] ?? ''))
  }

  header (name) {
    return this.page.getByRole('columnheader', { name, exact: true })
  }

  row (id) {
    return this.page.locator('.records tbody tr').filter({ has: this.page.locator('th').getByText(String(id), { exact: true }) })
  }

  // Returns the cell of a record in a column.
  async cell (id, name) {
    const names = await this.page.locator('.records thead :is(td, th)').evaluateAll(all => all.map(each => each.textContent.replace(/[↑↓↕]$/, '')))
    return this.row(id).locator(':is(td, th)').nth(names.indexOf(name))
  }

  texts (id, names) {
    return Promise.all(names.map(async name => (await this.cell(id, name)).innerText()))
  }

  // Waits until the table has records, by their identifiers.
  async shows (expected) {
    const isShown = wanted => {
      const found = [...document.querySelectorAll('.records tbody th')].map(each => each.innerText)
      return document.querySelector('.records')?.ariaBusy === 'false' && JSON.stringify(found) === JSON.stringify(wanted)
    }
    await this.page.waitForFunction(isShown, expected.map(String)).catch(() => {})
    assert.deepEqual(await this.page.locator('.records tbody th').allInnerTexts(), expected.map(String))
  }

  turn (name) {
    return this.page.getByRole('navigation', { name: 'Pages of records' }).getByRole('link', { name, exact: true }).click()
  }

  // Adds a condition to a group of the filter.
  async add (field, operator, { group = 'All of these hold', isFirst = false } = {}) {
    const place = this.page.getByRole('group', { name: group })
    if (!isFirst) await this.press('Add a condition', place)
    const condition = place.getByRole('listitem').last()
    await condition.getByLabel('Field').selectOption(field)
    await condition.getByLabel('Operator').selectOption({ label: operator })
    return condition
  }

  // Nothing went wrong, nothing came from elsewhere, and no text became markup.
  async isSound () {
    const { page } = this
    const made = await page.evaluate(() => [...document.querySelectorAll('#main :is(b, i, u, script, a[href^="javascript"])')]
      .filter(each => !/^[\d,]+$/.test(each.innerText)).map(each => each.outerHTML))
    assert.deepEqual([page.problems.splice(0), page.elsewhere, made], [[], [], []])
    assert.notEqual(await page.locator('body').getAttribute('id'), 'bad')
  }

  close () {
    return this.page.context().close()
  }
}

export const range = (from, to) =>
  Array.from({ length: Math.abs(to - from) + 1 }, (_, index) => from + Math.sign(to - from) * index)

const factory = name => port =>
  ['uvicorn', '--factory', '--port', port, '--log-level', 'warning', '--ws', 'wsproto', `tests.explorer_app:${name}`]

export const explorerApp = factory('create_app')
export const manyServices = factory('create_many')
export const members = factory('create_members')
