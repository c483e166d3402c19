// The page of the example application for everybody: keyboards, screen readers, small screens.
import assert from 'node:assert/strict'
import { after, afterEach, before, beforeEach, test } from 'node:test'
import { Api, audit, launch, line, logIn, openWindow, PASSWORD, SCREENS, shows } from './browser.js'
import { start } from './server.js'


let server
let browser
let windows
let api
let room
let number = 0

before(async () => {
  server = await start({
    FLASK_RECORDS_AUTHENTICATION__oauth__google__key: 'example',
    FLASK_RECORDS_AUTHENTICATION__oauth__google__secret: 'example-secret'
  })
  browser = await launch()
})

after(async () => {
  await browser?.close()
  await server?.stop()
})

beforeEach(async () => {
  number += 1
  windows = []
  api = await Api.register(server.base, `ann${number}`)
  room = await api.room(`Room ${number}`)
  await api.write(room, ['Hello', 'https://example.com/' + 'long/'.repeat(40)])
})

afterEach(async () => {
  for (const page of windows) await page.context().close()
})

async function open (options) {
  const page = await openWindow(browser, options)
  windows.push(page)
  return page
}

async function enter (page) {
  await page.goto(`${server.base}/?room=${room.id}`)
  await logIn(page, `ann${number}`)
  await page.getByRole('heading', { name: room.name }).waitFor()
  await line(page, 'Hello').waitFor()
}

for (const screen of [SCREENS[0], SCREENS[3]]) {
  const { colorScheme, viewport } = screen

  test(`axe finds nothing on any view, ${colorScheme}, ${viewport.width} px wide`, async () => {
    const page = await open(screen)
    const isNarrow = viewport.width < 500
    const found = []
    const see = async view => found.push(...await audit(page, view))
    const press = name => page.getByRole('button', { name, exact: true }).click()

    await page.goto(server.base)
    await page.getByRole('main', { name: 'Log in' }).waitFor()
    await see('login')
    await logIn(page, `ann${number}`, 'a wrong password')
    await page.getByText('Invalid login').first().waitFor()
    await see('failed login')
    await enter(page)
    await see('room')

    await line(page, 'Hello').hover()
    await line(page, 'Hello').getByRole('button', { name: 'Edit' }).click()
    await see('edit')
    await press('Cancel')
    await line(page, 'Hello').hover()
    await line(page, 'Hello').getByRole('button', { name: 'Remove' }).click()
    await see('question')
    await press('Cancel')
    await page.getByLabel('Message in').fill('x'.repeat(10001))
    await page.getByRole('button', { name: 'Send' }).click()
    await see('too long')
    await page.getByLabel('Message in').fill('')

    await page.getByRole('searchbox').fill('nothing has this')
    await page.keyboard.press('Enter')
    await page.getByText('No message contains this.').waitFor()
    await see('search')
    await page.locator('#show-account').click()
    await see('account')
    await page.keyboard.press('Escape')
    if (isNarrow) {
      await press('Wire')
      await see('wire on a phone')
      await press('Close')
      await page.getByRole('button', { name: 'Rooms' }).click()
    } else {
      await page.locator('#wire summary').last().click()
      await see('wire')
    }
    await see('rooms')
    await press('New room')
    await see('new room')

    assert.deepEqual(found, [])
    assert.deepEqual(page.problems.filter(problem => !problem.includes('401')), [])
  })
}

test('the keyboard alone does everything', async () => {
  const page = await open()
  const press = async (...keys) => { for (const key of keys) await page.keyboard.press(key) }
  const focused = () => page.evaluate(() => {
    const { activeElement } = document
    return (activeElement.getAttribute('aria-label') ?? activeElement.labels?.[0]?.innerText ?? activeElement.innerText).trim()
  })
  // Goes on to the next control of a name, as somebody does who presses the key again and again.
  const tabTo = async name => {
    for (let steps = 0; steps < 60; steps++) {
      await press('Tab')
      if (name.test(await focused())) return
    }
    assert.fail(`${name} was not reached`)
  }

  await page.goto(server.base)
  await page.getByRole('main', { name: 'Log in' }).waitFor()
  assert.match(await focused(), /^Email/)
  await page.keyboard.type(`ann${number}@example.com`)
  await press('Tab')
  await page.keyboard.type(PASSWORD)
  await press('Enter')
  await page.waitForFunction(() => document.activeElement.id === 'text')
  await tabTo(/^New room/)
  await press('Enter')
  await page.keyboard.type(`Keys ${number}`)
  await press('Enter')
  await page.getByRole('heading', { name: `Keys ${number}` }).waitFor()
  await page.waitForFunction(() => document.activeElement.id === 'text')
  assert.equal(await focused(), `Message in Keys ${number}`)

  await page.keyboard.type('One')
  await press('Shift+Enter')
  await page.keyboard.type('Two')
  await press('Enter')
  await shows(page, ['One\nTwo'])
  await page.locator('#messages').focus()
  await tabTo(/^Edit/)
  await press('Enter')
  await press('Control+a')
  await page.keyboard.type('Three')
  await press('Enter')
  await shows(page, ['Three'])
  await page.waitForFunction(() => document.activeElement.innerText === 'Edit')
  await press('Tab', 'Enter')
  await page.getByRole('alertdialog').waitFor()
  await press('Enter')
  await shows(page, [])
  await page.getByText('No messages yet.').waitFor()
  await page.waitForFunction(() => document.activeElement.id === 'text')

  await page.locator('#rooms a').first().focus()
  await press('Enter')
  await page.waitForFunction(() => document.activeElement.id === 'text')
})

test('screen readers are told of new messages, of each other one, and of many at once', async () => {
  const page = await open()
  await enter(page)
  const ben = await Api.register(server.base, `ben${number}`)
  const live = page.locator('#live')
  assert.equal(await live.getAttribute('role'), 'status')

  await ben.write(room, ['Good morning'])
  await live.getByText(`ben${number}: Good morning`).waitFor()
  await ben.write(room, 20)

  await live.getByText('20 new messages').waitFor()
})

test('a browser without scripts says what is missing', async () => {
  const page = await open({ javaScriptEnabled: false })

  await page.goto(server.base)

  const words = page.locator('noscript p')
  assert.match(await words.innerText(), /^This page needs JavaScript/)
  assert.ok((await words.boundingBox()).height > 0)
})
