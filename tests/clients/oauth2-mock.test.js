// Logins at the provider of the package oauth2-mock-server.
import assert from 'node:assert/strict'
import { after, afterEach, before, beforeEach, test } from 'node:test'
import { OAuth2Server } from 'oauth2-mock-server'
import { request } from 'playwright-core'
import { answerOf, CLIENT, logIn } from './openid.js'
import { freePort, start } from './server.js'

let port
let provider
let server
let browser

before(async () => {
  port = await freePort()
  provider = await startProvider()
  server = await start({
    FLASK_RECORDS_AUTHENTICATION__oauth__google__key: CLIENT.id,
    FLASK_RECORDS_AUTHENTICATION__oauth__google__secret: CLIENT.secret,
    FLASK_RECORDS_AUTHENTICATION__oauth__google__discovery_url:
      `${provider.issuer.url}/.well-known/openid-configuration`
  })
})

after(async () => {
  await server?.stop()
  await provider?.stop()
})

beforeEach(async () => {
  browser = await request.newContext()
})

afterEach(() => browser.dispose())

async function startProvider () {
  const provider = new OAuth2Server()
  await provider.issuer.keys.generate('RS256')
  await provider.start(port, '127.0.0.1')
  provider.issuer.url = `http://127.0.0.1:${port}`
  return provider
}

async function login () {
  const address = await logIn(browser, `${server.base}/oauth/google`, { url: provider.issuer.url })
  return answerOf(address)
}

async function users (token) {
  const headers = { Authorization: `Bearer ${token}` }
  return (await (await browser.get(`${server.base}/users`, { headers })).json()).data
}

test('a login makes a user, whose profile may be odd', async () => {
  provider.service.once('beforeUserinfo', response => {
    response.body = { ...response.body, name: 7, picture: 'data:image/png;base64,AAAA', email: 'no address' }
  })

  const [{ name, email, avatar, googleId }] = await users((await login()).access_token)

  assert.deepEqual([name, email, avatar, googleId], [null, null, '/static/avatar.svg', 'johndoe'])
})

test('an error of the token endpoint has a message that fits', async () => {
  provider.service.once('beforeResponse', response => {
    response.statusCode = 401
    response.body = { error: 'invalid_client' }
  })

  assert.match((await login()).error, /^Google refused the login, .*\(Reference [0-9a-f]{8}\)$/)
})

test('an error of the profile has a message that fits', async () => {
  provider.service.once('beforeUserinfo', response => {
    response.statusCode = 503
    response.body = { error: 'temporarily_unavailable' }
  })

  assert.match((await login()).error, /^Google has a problem\. Try again later\./)
})

test('a provider that starts again with other keys is found again', async () => {
  await login()
  await provider.stop()
  provider = await startProvider()

  assert.ok((await login()).access_token)
})
