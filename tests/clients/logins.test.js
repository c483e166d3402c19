// Pages of two tabs stay logged in, in a browser: by refresh tokens in bodies and in a cookie, over
// HTTP and over sockets. Access tokens are valid for four seconds here.
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { after, before, describe, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { startAccounts } from './accounts.js'
import { launch, PASSWORD } from './browser.js'
import { random } from './clients.js'
import { MODULE } from './logins.js'
import { startProvider } from './server.js'

const STATIC = '../../flask_records/http/static'
const read = name => readFile(new URL(`${STATIC}/${name}`, import.meta.url), 'utf8')
const FILES = {
  '/logins.js': MODULE,
  '/feathers.min.js': await read('feathers.min.js'),
  '/socket.io.min.js': await read('socket.io.min.js')
}

let browser
let provider

before(async () => {
  provider = await startProvider({ sub: 'cy', name: 'CY', email: 'cy@example.com', email_verified: true })
  browser = await launch()
})

after(async () => {
  await browser?.close()
  await provider?.stop()
})

// Most of the time goes by while tokens expire.
describe('logins', { concurrency: 5 }, () => {
  for (const form of ['body', 'cookie']) {
    describe(`by a ${form}`, { concurrency: 5 }, () => {
      let server

      before(async () => {
        const redirect = { FLASK_RECORDS_AUTHENTICATION__oauth__redirect: `/page?transport=rest&form=${form}` }
        server = await startAccounts({ REFRESH: form === 'cookie' ? form : '', ...provider.settings, ...redirect })
      })

      after(() => server?.stop())

      async function newBrowser (t) {
        const context = await browser.newContext()
        t.after(() => context.close())
        await context.route(url => url.pathname in FILES, route => {
          const body = FILES[new URL(route.request().url()).pathname]
          return route.fulfill({ contentType: 'text/javascript', body })
        })
        return context
      }

      async function open (context, transport = 'rest') {
        const page = await context.newPage()
        page.setDefaultTimeout(15_000)
        await page.goto(`${server.base}/page?transport=${transport}&form=${form}`)
        await page.waitForFunction(() => 'entered' in window)
        return page
      }

      const register = (page, email) => page.evaluate(async login => {
        await client.service('users').create(login)
        return (await client.authenticate({ strategy: 'local', ...login })).user.email
      }, { email, password: PASSWORD })

      const find = page => page.evaluate(() => client.service('messages').find().then(() => 'found', error => error.message))

      for (const transport of ['rest', 'socket']) {
        test(`two tabs stay logged in over ${transport}, and calls do not hang`, async t => {
          const context = await newBrowser(t)
          const first = await open(context, transport)
          await register(first, `${random()}@example.com`)
          const second = await open(context, transport)
          assert.ok(await second.evaluate(() => entered))

          // Both renew at once, too.
          for (let times = 0; times < 16; times++) {
            if (times % 4 === 0) {
              await Promise.all([first, second].map(tab => tab.evaluate(() => client.authenticate({ strategy: 'refresh' }))))
            }
            assert.deepEqual(await Promise.all([first, second].map(find)), ['found', 'found'])
            await delay(500)
          }

          for (const tab of [first, second]) {
            assert.ok(await tab.evaluate(() => tokens.size) > 4)
            assert.deepEqual(await tab.evaluate(() => reasons), [])
          }
          // A renewal may be under way at any moment, and ends.
          await first.waitForFunction(() => navigator.locks.query().then(({ held, pending }) => held.length + pending.length === 0))

          await first.evaluate(() => client.logout())
          await first.reload()
          assert.equal(await first.evaluate(() => entered), null)
          assert.match(await find(first), /authenticated/i)
        })
      }

      test('a page that is loaded after the access token has expired goes on', async t => {
        const context = await newBrowser(t)
        const page = await open(context)
        const email = await register(page, `${random()}@example.com`)
        await page.close()
        await delay(4500)

        const later = await open(context)

        assert.equal(await later.evaluate(() => entered.then(user => user.email)), email)
        assert.equal(await find(later), 'found')
      })

      test('a wrong password is refused and the next login works', async t => {
        const page = await open(await newBrowser(t))
        const email = `${random()}@example.com`
        const wrong = { strategy: 'local', email, password: 'a wrong password' }
        const refused = await page.evaluate(login => client.authenticate(login).then(() => '', error => error.message), wrong)

        assert.equal(refused, 'Invalid login')
        assert.equal(await register(page, email), email)
      })

      test('calls after a login at a provider do not hang', async t => {
        const page = await open(await newBrowser(t))
        await page.evaluate(() => startLogin('/oauth/google'))
        await page.getByRole('button', { name: 'cy', exact: true }).click()
        await page.waitForFunction(() => 'entered' in window)

        assert.equal(await page.evaluate(() => entered.then(user => user.email)), 'cy@example.com')
        assert.equal(await find(page), 'found')
        await delay(5000)
        // Only a cookie comes with a redirect.
        assert.equal(await find(page), form === 'cookie' ? 'found' : 'jwt expired')
      })
    })
  }
})
