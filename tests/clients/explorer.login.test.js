// Somebody logs in to the explorer of the example, and out.
import assert from 'node:assert/strict'
import { after, afterEach, before, beforeEach, test } from 'node:test'
import { Api, launch, openTab, PASSWORD } from './browser.js'
import { Explorer, members } from './explorer.js'
import { start, startProvider } from './server.js'

let provider
let server
let browser
let explorer
let page
let addresses

before(async () => {
  provider = await startProvider({ sub: 'cy', name: 'Cy', email: 'cy@example.com' })
  server = await start({ FLASK_RECORDS_EXPLORER__enabled: 'true', ...provider.settings })
  const ann = await Api.register(server.base, 'ann')
  await ann.room('Engine room')
  browser = await launch()
})

after(async () => {
  await browser?.close()
  for (const each of [server, provider]) await each?.stop()
})

beforeEach(async () => {
  explorer = await Explorer.open(browser, server.base);
  ({ page } = explorer)
  addresses = []
  page.context().on('request', request => addresses.push(request.url()))
  page.on('framenavigated', frame => addresses.push(frame.url()))
})

afterEach(() => explorer.close())

const caller = (tab = page) => tab.locator('#caller')

async function logIn (password = PASSWORD) {
  await page.getByLabel('Email').fill('ann@example.com')
  await page.getByLabel('Password').fill(password)
  await explorer.press('Log in')
}

// Returns all that the tab, and the browser, keep.
const kept = (tab = page) => tab.evaluate(() => [sessionStorage, localStorage].map(store => JSON.stringify({ ...store })))

const tokenOf = text => /eyJ[\w-]+\.[\w-]+\.[\w-]+/.exec(text)?.[0]

test('a login is kept by its tab, and nowhere else', async () => {
  await explorer.go()
  await page.getByText('Log in to see your records.').waitFor()
  await logIn('a wrong password')
  await page.getByRole('alert').getByText('Invalid login').waitFor()
  assert.equal(await page.getByLabel('Email').inputValue(), 'ann@example.com')
  await logIn()
  await caller().getByText('ann').waitFor()
  const [inTab, inBrowser] = await kept()
  const token = tokenOf(inTab)

  await page.reload()
  await caller().getByText('ann').waitFor()
  const other = await openTab(page.context())
  await other.goto(`${server.base}/_records/`)
  await caller(other).getByText('Log in').waitFor()

  assert.ok(token)
  assert.equal(tokenOf(inBrowser), undefined)
  assert.equal(await page.evaluate(() => document.cookie), '')
  assert.deepEqual(addresses.filter(address => address.includes('eyJ')), [])
})

test('a login is kept by the browser if asked, until its user logs out', async () => {
  await explorer.go('login')
  await page.getByLabel('Keep me logged in').check()
  await logIn()
  await caller().getByText('ann').waitFor()
  const other = await openTab(page.context())
  await other.goto(`${server.base}/_records/#/login`)
  await other.getByText('in this browser, until you log out').waitFor()

  await other.getByRole('button', { name: 'Log out' }).click()

  await caller(other).getByText('Log in').waitFor()
  assert.deepEqual((await kept(other)).map(tokenOf), [undefined, undefined])
})

test('a connection that fails is told while the login waits for it', async () => {
  const { token } = await Api.logIn(server.base, 'ann')
  await page.addInitScript(token => sessionStorage.setItem('flask-records-explorer /_records/ login', JSON.stringify({ path: 'authentication', token })), token)
  await page.route(/socket\.io\/\?/, route => route.abort())
  await page.addInitScript(() => {
    window.WebSocket = class {
      constructor () {
        setTimeout(() => this.onerror(new Event('error')))
      }

      close () {}
    }
  })
  await page.goto(`${server.base}/_records/`)
  await page.getByRole('alert').filter({ hasText: 'The server could not be reached' }).waitFor()
  await page.getByRole('link', { name: 'Services' }).waitFor()
})

test('a pasted token is used, and forgotten once it has ended', async () => {
  const { token } = await Api.logIn(server.base, 'ann')
  await explorer.go('login')
  await page.getByText('Paste a token').click()
  await page.getByLabel('Token', { exact: true }).fill(` ${token}\n`)
  await explorer.press('Use the token')
  await caller().getByText('ann').waitFor()
  // The page that is left may still be sending requests, and would notice it first.
  await page.addInitScript(() => {
    for (const [name, text] of Object.entries(sessionStorage)) sessionStorage.setItem(name, text.replace(/\.[\w-]+"/, '.wrong"'))
  })

  await page.reload()

  await page.getByRole('alert').getByText('The login has ended').waitFor()
  assert.equal(tokenOf(JSON.stringify(await kept())), undefined)
})

test('a login at a provider returns to the explorer', async () => {
  await explorer.go('login')
  await explorer.press('Log in with Google')
  await explorer.press('cy')

  await caller().getByText('Cy').waitFor()
  assert.equal(page.url(), `${server.base}/_records/`)
  assert.deepEqual((await kept()).map(tokenOf).map(Boolean), [true, false])
})

test('a login at a provider that this tab has not begun is refused', async () => {
  await page.goto(`${server.base}/_records/#access_token=stolen`)

  await page.getByRole('alert').getByText('This tab has not begun a login').waitFor()
  await caller().getByText('Log in').waitFor()
  assert.doesNotMatch(page.url(), /stolen/)
})

test('an address opened without a login offers one, and comes back to it', async () => {
  await explorer.go('record/rooms/1')
  await explorer.title('Not here')
  await logIn()
  await explorer.title('rooms 1')
  await page.getByText('Engine room').first().waitFor()

  await page.evaluate(() => sessionStorage.clear())
  await page.reload()
  await explorer.title('Not here')
  await explorer.press('Log in with Google')
  await explorer.press('cy')
  await caller().getByText('Cy').waitFor()
  assert.equal(await page.evaluate(() => location.hash), '#/record/rooms/1')
})

test('a login that ends while a form is filled in is renewed over it', async () => {
  await page.clock.install()
  await explorer.go('create/rooms')
  await logIn()
  await explorer.title('New record of rooms')
  await explorer.control('name').fill('Kept room')
  await page.clock.fastForward('25:00:00')
  await page.getByRole('alert').getByText('The login has ended').waitFor()
  await page.clock.setSystemTime(new Date())
  await explorer.press('Create')

  const dialog = page.getByRole('dialog', { name: 'Log in' })
  await dialog.getByText('What is typed stays').waitFor()
  await Api.register(server.base, 'bea')
  await dialog.getByLabel('Email').fill('bea@example.com')
  await dialog.getByLabel('Password').fill(PASSWORD)
  await explorer.press('Log in', dialog)
  await dialog.getByRole('alert').getByText('This is another user').waitFor()
  assert.equal(await explorer.control('name').inputValue(), 'Kept room')
  const [window] = await Promise.all([page.waitForEvent('popup'), dialog.getByRole('button', { name: 'Log in with Google' }).click()])
  await window.getByRole('button', { name: 'cy' }).click()
  await window.waitForEvent('close')
  await dialog.getByRole('alert').getByText('This is another user').last().waitFor()
  await logIn()

  await explorer.title(/^rooms \d+$/)
  await page.getByText('Kept room').first().waitFor()
  assert.equal(await page.getByRole('alert').getByText('The login has ended').count(), 0)
})

test('changes wait for the connection, are counted, and are sent once', async () => {
  await explorer.go('create/rooms')
  await logIn()
  await explorer.title('New record of rooms')
  await page.getByText('Live', { exact: true }).waitFor()
  await page.context().setOffline(true)
  await page.evaluate(() => dispatchEvent(new Event('offline')))
  await explorer.control('name').fill('Late room')
  await page.getByRole('alert').getByText('The server could not be reached').waitFor()
  await explorer.press('Create')
  await page.getByRole('alert').getByText('1 change waits to be sent.').waitFor()
  await page.context().setOffline(false)
  await explorer.title(/^rooms \d+$/)
  await page.getByRole('alert').waitFor({ state: 'hidden' })
  const { token } = await Api.logIn(server.base, 'ann')
  assert.equal((await new Api(server.base, token).call('GET', 'rooms?name=Late room')).total, 1)
})

test('a user sees what nobody sees beside their own', async () => {
  await explorer.go()
  assert.equal(await page.locator('#navigation').getByText('rooms').count(), 0)
  await explorer.go('login')
  await logIn()
  await caller().getByText('ann').waitFor()

  await explorer.go('compare/rooms?name=Engine room')

  await page.getByRole('region', { name: 'As me' }).getByText('1 record').waitFor()
  await page.getByRole('region', { name: 'As nobody' }).getByText('may not be called').waitFor()
  const cells = page.getByRole('table', { name: 'The records' }).getByRole('row').nth(1).getByRole('cell')
  assert.deepEqual(await cells.allInnerTexts(), ['Engine room', 'no', 'yes', ''])
})

test('whom the application lets compares with what others find, and sets their passwords', async () => {
  const own = await start({}, members)
  const [ann, ben] = [await Api.register(own.base, 'ann'), await Api.register(own.base, 'ben')]
  for (const [api, text] of [[ann, 'of Ann'], [ben, 'of Ben']]) await api.call('POST', 'memos', { text, memberId: api.user.id })
  const other = await Explorer.open(browser, own.base)
  const logInAs = async name => {
    await other.page.evaluate(token => sessionStorage.setItem('flask-records-explorer /_records/ login', JSON.stringify({ path: 'authentication', token })), name.token)
    await other.page.reload()
  }
  await other.go('compare/memos')
  await logInAs(ann)
  await other.page.getByLabel('As the user').fill('ben')
  await other.page.locator('datalist option', { hasText: '' }).first().waitFor({ state: 'attached' })
  assert.equal(await other.page.locator('datalist option').last().getAttribute('label'), 'ben (2)')
  await other.page.getByLabel('As the user').fill('2')
  await other.press('Compare')

  await other.title('memos: as user 2, and as me')
  const shown = other.page.getByRole('table', { name: 'The records' })
  await shown.waitFor()
  const cells = await shown.getByRole('row').allInnerTexts()
  assert.deepEqual(cells.slice(1).map(each => each.split('\t')), [['1', 'of Ann', 'no', 'yes', ''], ['2', 'of Ben', 'yes', 'no', '']])
  await logInAs(ben)
  await other.page.getByText('403').waitFor()
  assert.equal(await other.page.getByLabel('As the user').count(), 0)

  // Who may change users logs them out, and sets their passwords.
  await other.go('record/users/1')
  await other.press('Log out everywhere')
  await other.page.getByText('users 1 is logged out everywhere.').waitFor()
  await assert.rejects(ann.call('GET', 'memos'), { message: 'jwt revoked' })
  await ben.call('GET', 'memos')
  ann.token = (await Api.logIn(own.base, 'ann')).token
  await other.press('Set a password…')
  const dialog = other.page.getByRole('dialog', { name: 'Set a password' })
  await dialog.getByLabel('password', { exact: true }).fill('a newer password')
  await other.press('Set the password', dialog)
  await other.page.getByText('The password of users 1 is set.').waitFor()
  await assert.rejects(ann.call('GET', 'memos'), { message: 'jwt revoked' })
  await Api.logIn(own.base, 'ann', 'a newer password')
  await other.close()
  await own.stop()
})
