// The account of the user: their name, their password, and their logins at OAuth providers.
import { client } from './client.js'
import { attempt, find, onSubmit, say } from './dom.js'
import { startLogin } from './login.js'
import { logIn, logOut, replaceLogin, replaceUser, session } from './session.js'
import { remember, showImage, showName } from './users.js'

const dialog = find('#account')
const alert = find('#account [role=alert]')
const passwordForm = find('#new-password')
const providers = [...dialog.querySelectorAll('[data-provider]')]

export function showAccount (user) {
  showName(find('#show-account .name'), user.id)
  showImage(find('#show-account img'), user.id)
  find('.email', dialog).textContent = user.email ?? ''
  find('[name=name]', dialog).value = user.name ?? ''
  // A password is for logins with an email.
  passwordForm.hidden = !user.email
  for (const line of providers) showProvider(line, user)
}

function showProvider (line, user) {
  const isConnected = Boolean(user[`${line.dataset.provider}Id`])
  find('.state', line).textContent = isConnected ? 'connected' : 'not connected'
  find('.connect', line).hidden = isConnected
}

function changed (user) {
  if (user.id !== session.user?.id) return
  replaceUser(user)
  remember(user)
  showAccount(user)
}

// Connects a login at a provider to the user of the token.
async function connect (provider) {
  startLogin(provider, { feathers_token: await client.authentication.getAccessToken() })
}

for (const line of providers) {
  find('.connect', line).addEventListener('click', event => {
    attempt(event.target, alert, () => connect(line.dataset.provider))
  })
}

onSubmit(find('form', dialog), alert, async ({ name }) => {
  changed(await client.service('users').patch(session.user.id, { name: name.trim() || null }))
  dialog.close()
})

// A new password ends all logins of the user, this one as well.
onSubmit(passwordForm, alert, async ({ password }) => {
  const { id, email } = session.user
  await replaceLogin(async () => {
    await client.service('users').patch(id, { password })
    await logIn({ strategy: 'local', email, password })
  })
  passwordForm.reset()
  dialog.close()
})

find('#show-account').addEventListener('click', () => {
  say(alert)
  showAccount(session.user)
  dialog.showModal()
})
find('#logout').addEventListener('click', event => attempt(event.target, alert, logOut))

for (const event of ['updated', 'patched']) client.service('users').on(event, changed)
