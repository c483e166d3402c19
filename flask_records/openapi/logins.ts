/** A client with logins, such as `createClient` returns. */
export interface LoginClient {
  authentication: any
  authenticate(data?: any): Promise<any>
  reAuthenticate(force?: boolean): Promise<any>
  on(event: string, listener: (login: any) => void): any
}

/** A storage that all tabs share. */
export interface LoginStorage {
  getItem(name: string): string | null
  setItem(name: string, value: string): void
  removeItem(name: string): void
}

type LoginStep = () => Promise<any>

// Milliseconds until a server that could not be reached is tried again.
const RETRY = 5000

// Tabs share their refresh token.
const alone = (run: LoginStep): Promise<any> => globalThis.navigator?.locks?.request('refresh', run) ?? run()

/**
 * Renews the login of a client at half of the lifetime of its access token, and when the
 * server refuses that: for refresh tokens in bodies. Call it before the first login.
 *
 * @param client A client over REST or Socket.IO
 * @param storage The storage of the refresh token
 */
export function stayLoggedIn(client: LoginClient, storage: LoginStorage = localStorage): void {
  const { service } = client.authentication
  const forget = () => ['refresh', 'session'].forEach(name => storage.removeItem(name))

  const keep = (login: any) => {
    const { sid } = login.authentication.payload
    if (login.refreshToken) {
      storage.setItem('refresh', login.refreshToken)
      storage.setItem('session', sid)
    } else if (storage.getItem('session') !== sid) {
      // A login at a provider has no token here, and may be that of another user.
      forget()
    }
    return login
  }

  const renew = async () => {
    const refreshToken = storage.getItem('refresh')
    if (!refreshToken) throw Object.assign(new Error('Log in again.'), { name: 'NotAuthenticated', code: 401 })
    try {
      return keep(await service.create({ strategy: 'refresh', refreshToken }))
    } catch (error: any) {
      if (error.code === 401) forget()
      throw error
    }
  }

  // The token of a renewal is stored already, before another tab reads it.
  client.on('login', login => {
    if (login.authentication.strategy !== 'refresh') keep(login)
  })
  client.on('logout', forget)
  renewInTime(client, ({ authentication }) => authentication.strategy !== 'jwt', () => Boolean(storage.getItem('refresh')))
  service.hooks({
    around: {
      create: [async (context: any, next: LoginStep) => {
        const { strategy, refreshToken } = context.data
        if (strategy === 'refresh' && !refreshToken) context.result = await alone(renew)
        else await next()
      }]
    }
  })
}

/**
 * Renews the login of a client as `stayLoggedIn` does: for a refresh token in a cookie.
 * Logins and logouts go over HTTP, also those of a client over Socket.IO.
 *
 * @param client A client over REST or Socket.IO
 * @param base The address of the server, unless the page is from there
 */
export function stayLoggedInByCookie(client: LoginClient, base = ''): void {
  const { service, options } = client.authentication
  const url = `${base}/${options.path.replace(/^\/+/, '')}`
  let latest: string | undefined

  const request = async (method: string, headers: { [name: string]: string }, body?: string) => {
    const response = await fetch(url, { method, headers, body, credentials: 'include' })
    const answer = await response.json()
    if (!response.ok) throw Object.assign(new Error(answer.message), answer)
    return answer
  }

  const logIn = async (data: any) => {
    const json = { Accept: 'application/json', 'Content-Type': 'application/json' }
    const { accessToken } = await request('POST', json, JSON.stringify(data))
    latest = accessToken
    return { strategy: 'jwt', accessToken }
  }

  renewInTime(client, ({ accessToken }) => accessToken === latest, () => true)
  service.hooks({
    around: {
      create: [async (context: any, next: LoginStep) => {
        const { data } = context
        if (data.strategy === 'refresh') context.data = await alone(() => logIn({ strategy: 'refresh' }))
        else if (data.strategy !== 'jwt') context.data = await logIn(data)
        await next()
      }],
      remove: [async (context: any) => {
        const token = await client.authentication.getAccessToken()
        const headers: { [name: string]: string } = token ? { Authorization: `Bearer ${token}` } : {}
        context.result = await request('DELETE', { Accept: 'application/json', ...headers })
      }]
    }
  })
}

function renewInTime(client: LoginClient, isFresh: (login: any) => boolean, canRenew: () => boolean): void {
  const { service } = client.authentication
  let timer: any

  const renewLater = (milliseconds: number) => {
    clearTimeout(timer)
    timer = setTimeout(() => {
      timer = undefined
      client.authenticate({ strategy: 'refresh' }).catch(error => {
        if (error.code !== 401) renewLater(RETRY)
      })
    }, milliseconds)
  }

  service.hooks({
    around: {
      create: [async (context: any, next: LoginStep) => {
        const isStored = context.data.strategy === 'jwt'
        try {
          await next()
        } catch (error: any) {
          if (error.code !== 401 || !isStored || !canRenew()) throw error
          context.result = await service.create({ strategy: 'refresh' })
        }
      }]
    }
  })
  client.on('login', login => {
    const { payload } = login.authentication
    if (isFresh(login)) {
      if (canRenew()) renewLater((payload.exp - payload.iat) * 500)
    } else if (!timer && canRenew()) renewLater(0)
  })
  client.on('logout', () => clearTimeout(timer))
}

/**
 * Sends the browser to a provider.
 *
 * @param url The address that begins the login, such as `/oauth/github`
 */
export function startLogin(url: string): void {
  sessionStorage.setItem('login', 'begun')
  location.assign(url)
}

/**
 * Logs in whoever comes back from a provider, or has a login already. Call it once, when
 * the application starts, before its router.
 *
 * @param client A client over REST or Socket.IO
 * @returns The user, or null without a login
 * @throws The reason why a login at a provider has failed
 */
export async function enter(client: LoginClient): Promise<any> {
  const isOwn = sessionStorage.getItem('login') === 'begun'
  sessionStorage.removeItem('login')
  const [page, answer] = location.href.split(/#(?=access_token=|error=)/)

  if (answer) {
    history.replaceState(history.state, '', page)
    const login = new URLSearchParams(answer)
    // Any site can send visitors here with a token, or a text, of its own.
    if (!isOwn) throw new Error('This tab has not begun a login. Log in again.')
    if (login.has('error')) throw new Error(login.get('error')!)
    await client.authentication.setAccessToken(login.get('access_token'))
  }

  if (!await client.authentication.getAccessToken()) return null
  return (await client.reAuthenticate(true)).user
}
