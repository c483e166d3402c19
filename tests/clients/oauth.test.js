// Logins at the provider of the package oidc-provider.
import assert from 'node:assert/strict'
import { after, afterEach, before, beforeEach, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { request } from 'playwright-core'
import { answerOf, CLAIMS, logIn, startOpenID } from './openid.js'
import { start } from './server.js'

const PROBLEM = 'has a problem. Try again later.'
const MISCONFIGURED = 'refused the login, because it is not set up correctly. Tell the owner of this site.'

let provider
let server
let browser

before(async () => {
  ({ provider, server } = await startBoth())
})

after(() => stopBoth({ provider, server }))

async function startBoth () {
  const provider = await startOpenID()
  const server = await start(provider.settings)
  await provider.serve(server.base)
  return { provider, server }
}

async function stopBoth ({ provider, server }) {
  await server?.stop()
  await provider?.stop()
}

beforeEach(async () => {
  browser = await request.newContext()
})

afterEach(async () => {
  provider.fail()
  provider.know(CLAIMS)
  await browser.dispose()
})

const login = (name, at = { provider, server }) =>
  logIn(browser, `${at.server.base}/oauth/${name}`, at.provider)

// Returns the line of the server's log with a reference, as soon as it is there.
async function logged (reference) {
  for (let tries = 0; tries < 300; tries++) {
    const line = server.log().split('\n').find(line => line.includes(reference))
    if (line) return line
    await delay(100)
  }

  throw new Error(`The log has no ${reference}.`)
}

async function user (address) {
  const headers = { Authorization: `Bearer ${answerOf(address).access_token}` }
  const response = await browser.get(`${server.base}/users`, { headers })
  return (await response.json()).data?.at(-1)
}

test('a login makes a user of the claims', async () => {
  const { name, email, avatar, googleId } = await user(await login('google'))

  assert.deepEqual({ name, email, avatar, googleId }, {
    name: 'Ada Lovelace', email: 'ada@example.com', avatar: 'https://img.example/ada.png', googleId: 'ada'
  })
})

test('a provider without a configuration has a profile', async () => {
  provider.know({ email: 'bob@example.com' })
  provider.requests.length = 0

  const { email, githubId } = await user(await login('github'))

  // Nobody says that the email is verified.
  assert.deepEqual([email, githubId], [null, 'ada'])
  assert.deepEqual(provider.requests.slice(-2), ['POST /token', 'GET /me'])
})

for (const [title, change] of [
  ['rotates its keys under the same name', provider => provider.rotate()],
  ['rotates its keys', provider => provider.rotate('second')],
  ['starts again with other keys', provider => provider.restart()]
]) {
  test(`a provider that ${title} needs no restart of the application`, async () => {
    const both = await startBoth()
    await login('google', both)
    await change(both.provider)

    const answer = answerOf(await login('google', both))

    await stopBoth(both)
    assert.equal(answer.error, undefined)
    assert.ok(answer.access_token)
  })
}

for (const at of ['authorize', 'token', 'profile']) {
  for (const [code, message] of [
    ['server_error', PROBLEM],
    ['temporarily_unavailable', PROBLEM],
    ['invalid_scope', MISCONFIGURED],
    ['unauthorized_client', MISCONFIGURED]
  ]) {
    test(`${code} at ${at} has a message that fits, and is in the log`, async () => {
      provider.fail(at, code, `The reason of ${at}`)

      const { error } = answerOf(await login('google'))

      const [, text, reference] = error.match(/^(.*) \(Reference ([0-9a-f]{8})\)$/)
      assert.equal(text, `Google ${message}`)
      const line = await logged(reference)
      assert.match(line, new RegExp(`'${code}' from its (.* endpoint|profile)$`))
    })
  }
}

test('a user who cancels at the provider is told so', async () => {
  const page = await browser.get(`${server.base}/oauth/google`)
  const [, cancel] = (await page.text()).match(/<a href="([^"]+)">\[ Cancel \]/)
  const address = new URL(cancel, provider.url).href

  const { error } = answerOf(await logIn(browser, address, provider))

  assert.match(error, /^The login was cancelled\. \(Reference [0-9a-f]{8}\)$/)
})

test('a user who logs out at the provider comes back, and logs in again there', async () => {
  await login('google')
  const page = await browser.get(`${server.base}/oauth/google/logout`)
  const [, xsrf] = (await page.text()).match(/name="xsrf" value="([^"]+)"/)

  const form = { xsrf, logout: 'yes' }
  const back = await browser.post(`${provider.url}/session/end/confirm`, { form })

  assert.equal(back.url(), `${server.base}/`)
  const next = await browser.get(`${server.base}/oauth/google`)
  assert.match(await next.text(), /name="login"/)
})
