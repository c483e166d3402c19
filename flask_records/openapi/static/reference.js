// Shows the OpenAPI document of the services with Swagger UI, and logs in to it. A token is
// kept in this script alone, and is gone with the page.

const reference = document.getElementById('reference')
const state = document.getElementById('state')
const problem = document.getElementById('problem')
const mine = document.getElementById('mine')
const logIn = document.getElementById('log-in')
const useToken = document.getElementById('use-token')
const logOut = document.getElementById('log-out')
const choice = document.getElementById('service')
const scheme = matchMedia('(prefers-color-scheme: dark)')

// Swagger UI takes megabytes of memory for each service: of more operations, it shows those of
// one service.
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
  const operations = Object.values(spec.paths).flatMap(Object.keys).length
  const isLarge = operations > MAX_SHOWN
  choice.parentElement.hidden = !isLarge
  const options = isLarge ? spec.tags.map(({ name }) => new Option(name, name, false, name === choice.value)) : []
  choice.replaceChildren(...options)
  choice.onchange = () => draw(partOf(spec, choice.value))
  draw(isLarge ? partOf(spec, choice.value) : spec)
}

// Returns the part of a document with the operations of a service, and the schemas in them.
function partOf (spec, service) {
  const isOf = item => Object.values(item).some(({ tags }) => tags?.includes(service))
  const paths = Object.fromEntries(Object.entries(spec.paths).filter(([, item]) => isOf(item)))
  const schemas = { Error: spec.components.schemas.Error }
  const add = part => {
    for (const [, name] of JSON.stringify(part).matchAll(/"#\/components\/schemas\/([^"]+)"/g)) {
      if (Object.hasOwn(schemas, name)) continue
      schemas[name] = spec.components.schemas[name]
      add(schemas[name])
    }
  }
  add(paths)
  return { ...spec, paths, tags: spec.tags.filter(({ name }) => name === service), components: { ...spec.components, schemas } }
}

function draw (spec) {
  // A document that is shown already would stay.
  const place = document.createElement('div')
  // Swagger UI has a <main> of its own.
  reference.removeAttribute('role')
  reference.replaceChildren(place)
  const ui = window.SwaggerUIBundle({
    spec,
    domNode: place,
    docExpansion: 'list',
    defaultModelsExpandDepth: 0,
    filter: true,
    tryItOutEnabled: true,
    validatorUrl: null,
    syntaxHighlight: { activated: false },
    plugins: [PlainTexts],
    onComplete: () => authorize(ui, spec)
  })
}

// What Swagger UI does not tell screen readers, by the elements that it is about.
const MENDED = [
  ['select', select => ({ 'aria-label': select.closest('tr')?.dataset.paramName ?? 'Servers' })],
  ['input[type=file]', input => ({ 'aria-label': input.closest('tr')?.dataset.propertyName ?? 'File' })],
  ['pre', () => ({ tabindex: 0 })],
  ['.info .title', () => ({ 'aria-level': 1 })],
  ['.opblock-tag, .models > h4', () => ({ 'aria-level': 2 })],
  ['.opblock h4', () => ({ 'aria-level': 3 })],
  ['.opblock h5', () => ({ 'aria-level': 4 })],
  ...Object.entries({ '.information-container': 'About', '.schemes-server-container': 'Server', '.filter-container': 'Filter' })
    .map(([selector, label]) => [selector, () => ({ role: 'region', 'aria-label': label })])
]

function mend () {
  for (const [selector, attributesOf] of MENDED) {
    for (const element of reference.querySelectorAll(selector)) {
      for (const [name, value] of Object.entries(attributesOf(element))) element.setAttribute(name, value)
    }
  }
}

// Operators of fields, and orders, are most parameters: a button shows them.
function fold () {
  for (const parameters of reference.querySelectorAll('.parameters-container:has(tr[data-param-name*="["]):not(:has(> .operators))')) {
    const toggle = document.createElement('button')
    toggle.className = 'btn operators'
    toggle.textContent = `Operators and orders (${parameters.querySelectorAll('tr[data-param-name*="["]').length})`
    toggle.ariaExpanded = 'false'
    toggle.onclick = () => { toggle.ariaExpanded = String(toggle.ariaExpanded === 'false') }
    parameters.prepend(toggle)
  }
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
new MutationObserver(() => { mend(); fold() }).observe(reference, { childList: true, subtree: true })
scheme.addEventListener('change', paint)
paint()
load()
