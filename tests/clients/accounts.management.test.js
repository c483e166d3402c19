// The client of feathers-authentication-management, over HTTP and over a socket.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import makeClient from 'feathers-authentication-management/dist/client.js'
import { startAccounts } from './accounts.js'
import { closeSockets, newLogin, restClient, socketClient } from './clients.js'
import { logged } from './server.js'

let server

before(async () => { server = await startAccounts() })

after(() => {
  closeSockets()
  return server.stop()
})

// The token of a mail, which the server logs in place of sending it.
const tokenOf = (kind, address, number) => logged(server, `Mail to ${address}: ${kind} (\\S+)`, number)

const local = (email, password) => ({ strategy: 'local', email, password })

for (const [name, newClient] of Object.entries({ restClient, socketClient })) {
  describe(name, () => {
    let client, management, email, password

    before(async () => {
      client = newClient(server.base)
      management = makeClient(client);
      ({ email, password } = newLogin())
      await client.service('users').create({ email, password })
    })

    test('a new user confirms the address', async () => {
      await tokenOf('verify', email)
      await management.resendVerifySignup({ email })

      await management.verifySignupLong(await tokenOf('verify', email, 2))

      const { user } = await client.authenticate(local(email, password))
      assert.equal(user.isVerified, true)
      await assert.rejects(management.verifySignupLong('guessed'), {
        code: 400,
        errors: { $className: 'invalidToken' }
      })
    })

    test('an address is told to be taken', async () => {
      await management.checkUnique({ email: 'nobody@example.com' })

      await assert.rejects(management.checkUnique({ email }), { errors: { email: 'Already taken.' } })
    })

    test('a forgotten password is set anew', async () => {
      await management.sendResetPwd({ email })
      await management.sendResetPwd({ email: 'nobody@example.com' })
      password = 'another long secret'

      await management.resetPwdLong(await tokenOf('reset', email), password)

      await client.authenticate(local(email, password))
    })

    test('an invited user sets a password by the token that confirms the address', async () => {
      const invited = newLogin()
      await client.service('users').create(invited)
      const value = { token: await tokenOf('verify', invited.email), password: 'chosen by the user' }

      await client.service('authManagement').create({ action: 'verifySignupSetPasswordLong', value })

      const { user } = await newClient(server.base).authenticate(local(invited.email, value.password))
      assert.equal(user.isVerified, true)
    })

    test('who knows the password changes it, and the address', async () => {
      const { user } = await client.authenticate(local(email, password))
      await assert.rejects(
        management.passwordChange('guessed', 'a third long secret', { email }),
        { message: 'Current password is incorrect.' }
      )
      await management.passwordChange(password, 'a third long secret', { email })
      await client.authenticate(local(email, 'a third long secret'))
      const changed = newLogin().email
      await management.identityChange('a third long secret', { email: changed }, { email })
      await management.verifySignupLong(await tokenOf('change', changed))

      const login = await client.authenticate(local(changed, 'a third long secret'))
      assert.deepEqual(login.user, { ...user, email: changed })
    })
  })
}
