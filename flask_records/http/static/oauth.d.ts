/** The answer of the authentication service, as that of `POST /authentication`. */
export interface Login<User = Record<string, unknown>> {
  accessToken: string
  /** Missing with `fragment`. */
  user?: User
  /** Missing with `fragment`. */
  authentication?: { strategy: string, [name: string]: unknown }
  [name: string]: unknown
}

/**
 * Goes to a provider, and remembers that this tab has begun a login.
 *
 * @param address Where the login begins, such as `/oauth/github`.
 * @param options.redirect The path, or the address, that the user returns to.
 */
export function startLogin (address: string | URL, options?: { redirect?: string }): Promise<void>

/**
 * Begins a login by each plain click on a link to a provider.
 *
 * @param selector The links, `a[href*="/oauth/"]` by default.
 */
export function startLoginOnClick (selector?: string): void

/**
 * Returns the login that this page load returns from, or null if it returns from none.
 * Throws an error with the message for the user if the login failed, or was not begun
 * by this tab. The answer is removed from the address of the page in all cases.
 *
 * @param options.url Where the code is exchanged, if not below the address of `startLogin`.
 * @param options.fragment Accept a token in the address, which the server sends with
 *   the setting `"response": "fragment"`.
 */
export function finishLogin<User = Record<string, unknown>> (
  options?: { url?: string | URL, fragment?: boolean }
): Promise<Login<User> | null>
