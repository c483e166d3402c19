import { Api, launch, openWindow } from './browser.js'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { start } from './server.js'
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const server = await start({}, port => ['flask', '--app', 'tests.explorer_app', 'run', '--port', port])
const browser = await launch()
try {
  for (const [width, scheme] of [[1280, 'light'], [390, 'dark']]) {
    const page = await openWindow(browser, { viewport: { width, height: 800 }, colorScheme: scheme, bypassCSP: true })
    page.setDefaultTimeout(4000)
    const see = async (name, hash, act) => {
      await page.goto(`${server.base}/_records/#/${hash}`); await page.reload()
      try { await page.locator('h1').waitFor(); await act?.() } catch (e) { console.log(name, e.message.slice(0, 400)) }
      await page.waitForTimeout(500)
      await page.screenshot({ path: `/tmp/shotsD/t-${name}-${width}-${scheme}.png`, fullPage: true })
      await page.addScriptTag({ content: axe })
      const r = await page.evaluate(() => axe.run())
      for (const v of r.violations) console.log(name, width, v.id, v.nodes.map(n => n.html.slice(0, 160) + ' ' + n.failureSummary.slice(0, 200)).slice(0, 3))
    }
    const press = n => page.getByRole('button', { name: n, exact: true }).click()
    await see('create', 'create/things', async () => { await page.getByLabel('count', { exact: true }).fill('x'); await press('Create') })
    await see('json', 'create/things', () => press('JSON, one or many'))
    await see('record', 'record/things/1')
    await see('edit', 'record/things/1', () => press('Edit'))
    await see('remove', 'record/things/1', () => press('Remove…'))
    await see('events', 'events')
    await see('many', 'records/things', async () => { await page.getByLabel('Select all on this page').check(); await press('Change selected…') })
    await see('removemany', 'records/things', async () => { await page.getByLabel('Select all on this page').check(); await press('Remove selected…') })
    console.log(width, page.problems)
    await page.context().close()
  }
} finally { await browser.close(); await server.stop() }
