// The login form, and logins at OAuth providers, which return to this page.
import { finishLogin, startLogin } from '../records/oauth.js'
import { address, client } from './client.js'
import { attempt, find, onSubmit, say } from './dom.js'
import { logIn, resume } from './session.js'

const section = find('#login')
const form = find('#login form')
const alert = find('#login [role=alert]')

export function showLogin (words = '') {
  section.hidden = false
  say(alert, words)
  find('[name=email]', form).focus()
}

export function hideLogin () {
  section.hidden = true
  say(alert)
}

// Logs in with what a provider has sent, or with the token that the browser keeps.
export async function enter () {
  let problem

  try {
    const login = await finishLogin()
    if (login) await client.authentication.setAccessToken(login.accessToken)
  } catch (error) {
    problem = error
  }

  try {
    await resume()
  } catch (error) {
    // Without a token there is nothing to say.
    return showLogin(problem ?? (error.code === 401 ? '' : error))
  }

  if (problem) throw problem
}

onSubmit(form, alert, async ({ email, password }, button) => {
  if (button?.value === 'register') await client.service('users').create({ email, password })
  await logIn({ strategy: 'local', email, password })
  form.reset()
})

for (const button of section.querySelectorAll('[data-provider]')) {
  button.addEventListener('click', () => {
    attempt(button, alert, () => startLogin(address(`oauth/${button.dataset.provider}`)))
  })
}
