import { Api, launch, openWindow, PASSWORD } from './browser.js'
import { start } from './server.js'
const server = await start({ FLASK_RECORDS_EXPLORER__enabled: 'true' })
const browser = await launch()
try {
  const api = await Api.register(server.base, 'ann')
  const room = await api.room('General')
  const [m] = await api.write(room, ['Hello <b>world</b>'])
  for (const [width, scheme] of [[1280, 'light'], [1280, 'dark'], [390, 'light'], [390, 'dark']]) {
    const page = await openWindow(browser, { viewport: { width, height: 800 }, colorScheme: scheme })
    page.setDefaultTimeout(4000); await page.goto(`${server.base}/_records/`)
    await page.evaluate(token => sessionStorage.setItem('flask-records-explorer', JSON.stringify({ path: 'authentication', token })), api.token)
    const shot = async (name, hash, act) => {
      await page.goto(`${server.base}/_records/${hash}`)
      await page.reload()
      try { await page.locator('h1').waitFor(); await act?.() } catch (e) { console.log(name, e.message.slice(0, 600)) }
      await page.screenshot({ path: `/tmp/shotsD/${name}-${width}-${scheme}.png`, fullPage: true })
    }
    await shot('create', '#/create/messages', async () => {
      await page.getByLabel('text', { exact: true }).fill('x')
      await page.getByLabel('text', { exact: true }).fill('')
      await page.getByLabel('roomId', { exact: true }).fill('77')
      await page.getByRole('button', { name: 'Create', exact: true }).click()
      await page.locator('.problem').waitFor()
    })
    await shot('record', `#/record/messages/${m.id}`)
    await shot('edit', `#/record/messages/${m.id}`, async () => {
      await page.getByRole('button', { name: 'Edit' }).click()
      await page.getByLabel('text', { exact: true }).fill('Mine')
      await api.call('PATCH', `messages/${m.id}`, { read: width === 1280 ? scheme !== 'dark' : scheme === 'dark', text: 'Theirs ' + width + scheme })
      await page.getByText('Someone has changed').waitFor()
    })
    await shot('remove', `#/record/messages/${m.id}`, async () => { await page.getByRole('button', { name: 'Remove…' }).click() })
    await shot('events', '#/events', async () => {
      await api.call('PATCH', `messages/${m.id}`, { archived: true })
      await api.write(room, ['a', 'b'])
      await page.locator('.log li').nth(2).waitFor()
    })
    await shot('custom', '#/custom/messages', async () => {
      await page.getByLabel('Data', { exact: true }).fill(JSON.stringify({ roomId: room.id }))
      await page.getByRole('button', { name: 'Call typing' }).click()
      await page.getByText('Result of typing').waitFor()
      await page.locator('.log li').waitFor()
    })
    await shot('users', '#/create/users')
    console.log(width, scheme, page.problems)
    await page.context().close()
  }
} finally { await browser.close(); await server.stop() }
