// Makes the pictures that the documentation shows, of the example's page and of the explorer:
// node screenshots.js <folder>
import { Api, launch, logIn, openRoom, openWindow, PASSWORD } from './browser.js'
import { start } from './server.js'

const folder = process.argv[2]

const SCREENS = {
  'desktop-light': { colorScheme: 'light', viewport: { width: 1280, height: 720 } },
  'desktop-dark': { colorScheme: 'dark', viewport: { width: 1280, height: 720 } },
  'phone-light': { colorScheme: 'light', viewport: { width: 390, height: 720 }, hasTouch: true, isMobile: true },
  'phone-dark': { colorScheme: 'dark', viewport: { width: 390, height: 720 }, hasTouch: true, isMobile: true }
}

const TALK = [
  ['ada', 'Good morning! The engine is back from the workshop.'],
  ['grace', 'Does it still drop the carry?'],
  ['ada', 'Not since yesterday. I have run the table of Bernoulli numbers three times.'],
  ['ada', 'Same digits every time.'],
  ['edsger', 'Three runs show that three runs were correct.'],
  ['grace', 'There was a moth in the relay last time, so I would look there first.'],
  ['edsger', 'Then let us prove it. Tea at four?'],
  ['ada', 'Tea at four. Bring the loop invariant.']
]

const server = await start({ FLASK_RECORDS_EXPLORER__enabled: 'true' })
const browser = await launch()

try {
  const people = {}
  for (const name of ['ada', 'grace', 'edsger']) {
    people[name] = await Api.register(server.base, name)
    await people[name].call('PATCH', `users/${people[name].user.id}`, { name: name[0].toUpperCase() + name.slice(1) })
  }

  const { ada, grace, edsger } = people
  const room = await ada.room('Engine room')
  const library = await ada.room('Library')
  await ada.room('Announcements')
  await ada.room('Tea and biscuits')

  for (const [screen, options] of Object.entries(SCREENS)) {
    const old = await ada.call('GET', `messages?roomId=${room.id}&$limit=50`)
    for (const { id, userId } of old.data) {
      await Object.values(people).find(({ user }) => user.id === userId).call('DELETE', `messages/${id}`)
    }
    const page = await openWindow(browser, { locale: 'en-GB', ...options })
    await page.goto(server.base)
    await logIn(page, 'ada')
    await openRoom(page, room.name)
    for (const [name, text] of TALK) await people[name].write(room, [text])
    await grace.write(library, 2)
    await page.locator('#messages li').nth(TALK.length - 1).waitFor()

    await page.mouse.move(640, 700)
    await page.screenshot({ path: `${folder}/example-${screen}.png`, caret: 'initial' })
    await page.goto(`${server.base}/_records/#/login`)
    await page.getByLabel('Email').fill('ada@example.com')
    await page.getByLabel('Password').fill(PASSWORD)
    await page.getByRole('button', { name: 'Log in', exact: true }).click()
    await page.locator('#caller').getByText('Ada').waitFor()
    await page.goto(`${server.base}/_records/#/records/messages?$sort[createdAt]=-1`)
    await page.getByRole('row').filter({ hasText: 'Engine room' }).nth(5).waitFor()
    await page.screenshot({ path: `${folder}/explorer-${screen.replace('desktop-', '')}.png` })
    await page.context().close()
  }
} finally {
  await browser.close()
  await server.stop()
}
