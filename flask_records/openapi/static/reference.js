// Shows the OpenAPI document of the services with Swagger UI, and logs in to it. A token is
// kept in this script alone, and is gone with the page.

const reference = document.getElementById('reference')
const state = document.getElementById('state')
const problem = document.getElementById('problem')
const mine = document.getElementById('mine')
const logIn = document.getElementById('log-in')
const useToken = document.getElementById('use-token')
const logOut = document.getElementById('log-out')
const scheme = matchMedia('(prefers-color-scheme: dark)')

// More of them make a list that is hard to take in.
const MAX_SHOWN = 200

let token = null
let loading = 0

// Texts of the application are no Markdown, which could contain links and images.
const PlainTexts = ({ React }) => ({
  wrapComponents: {
    Markdown: () => ({ source }) => React.createElement('div', { className: 'plain-text' }, source)
  }
})

const paint = () => document.documentElement.classList.toggle('dark-mode', scheme.matches)

const headers = () => token ? { Accept: 'application/json', Authorization: `Bearer ${token}` } : { Accept: 'application/json' }

async function fetchJSON (url, options) {
  const response = await fetch(url, options)
  const answer = await response.json().catch(() => ({ message: response.statusText }))
  if (!response.ok) throw Object.assign(new Error(answer.message), { status: response.status })
  return answer
}

// Swagger UI fills optional values in by itself, and writes nested ones as JSON text. Services
// take these in brackets.
function * queryParameters (spec) {
  for (const { parameters = [], ...operations } of Object.values(spec.paths)) {
    for (const operation of Object.values(operations)) {
      yield * [...parameters, ...operation.parameters ?? []].filter(each => each.in === 'query')
    }
  }
}

function empty (parameter) {
  delete parameter.examples
  delete parameter.example
  if (parameter.schema?.type === 'object') parameter.example = {}
  if (parameter.schema?.type === 'array') parameter.example = []
}

function bracketed (name, value) {
  if (value === null || typeof value !== 'object') return [[name, value]]
  return Object.entries(value).flatMap(([key, item]) => bracketed(`${name}[${key}]`, item))
}

function parsed (text) {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

function withBrackets (address, nested) {
  const url = new URL(address, location)
  const counts = {}
  const pairs = [...url.searchParams].flatMap(([name, text]) => {
    const [field] = name.split('[')
    const value = nested.has(field) && /^\s*[[{]/.test(text) ? parsed(text) : text
    if (value === text || nested.get(name) !== 'array') return bracketed(name, value)
    counts[name] = (counts[name] ?? -1) + 1
    return bracketed(`${name}[${counts[name]}]`, value)
  })
  url.search = new URLSearchParams(pairs)
  return url.href
}

async function load () {
  const own = ++loading
  const url = mine.checked ? `${document.body.dataset.document}?for=me` : document.body.dataset.document
  let spec
  try {
    spec = await fetchJSON(url, { headers: headers() })
  } catch (error) {
    if (own === loading) fail(error)
    return
  }
  // An answer may come after that to a later request.
  if (own === loading) show(spec)
}

function showLogin () {
  state.textContent = token ? 'Logged in' : 'Not logged in'
  logOut.hidden = !token
  for (const way of [logIn, useToken]) if (way) way.hidden = Boolean(token)
}

function fail (error) {
  if (error.status === 401) token = null
  problem.textContent = error.message
  showLogin()
  const title = document.createElement('h1')
  title.textContent = document.title
  reference.setAttribute('role', 'main')
  reference.replaceChildren(title)
}

function show (spec) {
  problem.textContent = ''
  document.title = spec.info.title
  showLogin()
  const parameters = [...queryParameters(spec)]
  const nested = new Map(parameters.filter(each => each.style === 'deepObject').map(each => [each.name, each.schema?.type]))
  parameters.forEach(empty)
  const operations = Object.values(spec.paths).flatMap(Object.keys).length
  // A document that is shown already would stay.
  const place = document.createElement('div')
  // Swagger UI has a <main> of its own.
  reference.removeAttribute('role')
  reference.replaceChildren(place)
  const ui = window.SwaggerUIBundle({
    spec,
    domNode: place,
    docExpansion: operations > MAX_SHOWN ? 'none' : 'list',
    defaultModelsExpandDepth: 0,
    filter: true,
    tryItOutEnabled: true,
    validatorUrl: null,
    requestInterceptor: request => Object.assign(request, { url: withBrackets(request.url, nested) }),
    plugins: [PlainTexts],
    onComplete: () => authorize(ui, spec)
  })
}

function authorize (ui, spec) {
  const schemes = Object.entries(spec.components?.securitySchemes ?? {})
  for (const [name, { scheme }] of schemes) if (token && scheme === 'bearer') ui.preauthorizeApiKey(name, token)
}

function begin (accessToken) {
  token = accessToken
  mine.checked = true
  return load()
}

logIn?.addEventListener('submit', async event => {
  event.preventDefault()
  const { url, username, password } = logIn.dataset
  const values = new FormData(logIn)
  const body = JSON.stringify({ strategy: 'local', [username]: values.get('username'), [password]: values.get('password') })
  try {
    const login = await fetchJSON(url, { method: 'POST', headers: { ...headers(), 'Content-Type': 'application/json' }, body })
    logIn.reset()
    await begin(login.accessToken)
  } catch (error) {
    problem.textContent = error.message
  }
})

useToken?.addEventListener('submit', async event => {
  event.preventDefault()
  const pasted = new FormData(useToken).get('token').trim()
  useToken.reset()
  await begin(pasted)
})

logOut.addEventListener('click', () => {
  token = null
  mine.checked = false
  load()
})

mine.addEventListener('change', load)
scheme.addEventListener('change', paint)
paint()
load()
