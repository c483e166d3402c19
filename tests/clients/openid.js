// Runs the provider of the package oidc-provider on a free port, in this process. It can
// rotate its keys, fail with any error, and start again on the same port.
import { generateKeyPair } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { promisify } from 'node:util'
import Provider, { errors } from 'oidc-provider'
import { freePort } from './server.js'

export const CLIENT = { id: 'example', secret: 'secret-of-the-example-at-the-provider' }

export const CLAIMS = {
  name: 'Ada Lovelace', email: 'ada@example.com', email_verified: true, picture: 'https://img.example/ada.png'
}

const ENDPOINTS = { authorize: '/auth', token: '/token', profile: '/me' }

export async function startOpenID (claims = CLAIMS) {
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const requests = []
  let application = 'http://127.0.0.1:9'
  let fault
  let handle
  let server

  async function listen () {
    server = createServer((request, response) => {
      requests.push(`${request.method} ${request.url.split('?')[0]}`)
      handle(request, response)
    }).listen(port, '127.0.0.1')
    await once(server, 'listening')
  }

  // Issues tokens with a key of its own from now on.
  async function rotate (kid = 'first') {
    handle = callback(await newKey(kid))
  }

  function callback (key) {
    const provider = new Provider(url, {
      clients: [client(CLIENT.id, 'client_secret_basic', 'google'), client('post', 'client_secret_post', 'github')],
      claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name', 'picture'] },
      conformIdTokenClaims: false,
      cookies: { keys: ['a key of the tests'] },
      features: { rpInitiatedLogout: { enabled: true } },
      findAccount: (ctx, id) => {
        if (fault && ctx.path.startsWith(ENDPOINTS[fault.at])) throw failure(fault)
        return { accountId: id, claims: () => ({ sub: id, ...claims }) }
      },
      jwks: { keys: [key] },
      pkce: { required: () => true },
      ttl: { AccessToken: 600, Grant: 600, IdToken: 600, Interaction: 600, Session: 600 }
    })
    return provider.callback()
  }

  const client = (id, method, name) => ({
    client_id: id,
    client_secret: CLIENT.secret,
    redirect_uris: [`${application}/oauth/${name}/callback`],
    post_logout_redirect_uris: [`${application}/`],
    token_endpoint_auth_method: method
  })

  await rotate()
  await listen()

  return {
    url,
    requests,
    rotate,
    // The settings of the example application, whose names are google and github.
    settings: {
      FLASK_RECORDS_AUTHENTICATION__oauth__google__key: CLIENT.id,
      FLASK_RECORDS_AUTHENTICATION__oauth__google__secret: CLIENT.secret,
      FLASK_RECORDS_AUTHENTICATION__oauth__google__discovery_url: `${url}/.well-known/openid-configuration`,
      FLASK_RECORDS_AUTHENTICATION__oauth__github__key: 'post',
      FLASK_RECORDS_AUTHENTICATION__oauth__github__secret: CLIENT.secret,
      FLASK_RECORDS_AUTHENTICATION__oauth__github__scope: 'openid profile email',
      FLASK_RECORDS_AUTHENTICATION__oauth__github__authorize_url: `${url}/auth`,
      FLASK_RECORDS_AUTHENTICATION__oauth__github__access_url: `${url}/token`,
      FLASK_RECORDS_AUTHENTICATION__oauth__github__profile_url: `${url}/me`
    },
    // Lets users of an application log in, by its address.
    async serve (base) {
      application = base
      await rotate()
    },
    // Tells something else of each user.
    know (other) {
      claims = other
    },
    // Fails at one endpoint, authorize, token or profile, until it is called without any.
    fail (at, error, description) {
      fault = at && { at, error, description }
    },
    // Starts again with other keys, as after a crash.
    async restart () {
      await this.stop()
      await rotate()
      await listen()
    },
    async stop () {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    }
  }
}

function failure ({ error, description }) {
  return new errors.CustomOIDCProviderError(error, description)
}

async function newKey (kid) {
  const { privateKey } = await promisify(generateKeyPair)('rsa', { modulusLength: 2048 })
  return { ...privateKey.export({ format: 'jwk' }), kid, use: 'sig', alg: 'RS256' }
}

// Logs in at the provider as a visitor without JavaScript would: with the forms of its
// pages. Returns where the browser goes in the end, outside of the provider.
export async function logIn (browser, address, provider, login = 'ada') {
  let answer = await browser.get(address, { maxRedirects: 0 })

  for (;;) {
    const location = answer.headers().location

    if (location) {
      const next = new URL(location, answer.url()).href
      if (next.includes('#')) return next
      answer = await browser.get(next, { maxRedirects: 0 })
    } else {
      const page = await answer.text()
      const action = page.match(/<form[^>]* action="([^"]+)"/)?.[1]
      if (!answer.url().startsWith(provider.url) || !action) return answer.url()
      const prompt = page.match(/name="prompt" value="(\w+)"/)[1]
      const form = { prompt, login, password: 'any password' }
      answer = await browser.post(new URL(action, answer.url()).href, { form, maxRedirects: 0 })
    }
  }
}

// Returns what stands after the # of an address.
export const answerOf = address => Object.fromEntries(new URLSearchParams(new URL(address).hash.slice(1)))
