import { TOTP } from 'otpauth'
import { afterAll, beforeAll, expect, it } from 'vitest'
import {
  addTenant,
  browser,
  type ConsoleTestbed,
  PASSWORD,
  REAUTHENTICATION,
  signedInAs,
  startConsole,
} from '../console-testbed.ts'

/* The password and a code confirm a person for five minutes, as a passkey does. */

let testbed: ConsoleTestbed
beforeAll(async () => {
  testbed = await startConsole()
})
afterAll(() => testbed.stop())

async function startOwner() {
  const tenantId = await addTenant(testbed, 'Owner')
  const owner = await signedInAs(testbed, 'DEALER_ADMIN', tenantId)
  const confirm = (credentials: object = REAUTHENTICATION) =>
    owner.call('POST', '/account/confirm/password', credentials)
  const make = async (confirmation: string, by: Pick<typeof owner, 'call'> = owner) => {
    const token = { name: 'script', scope: 'READ', days: 1, confirmation }
    const { status, body } = await by.call('POST', '/account/tokens', token)
    return status === 200 ? 'made' : body.code
  }
  return { owner, confirm, make }
}

it('a correct password confirms the person for five minutes, but a wrong password does not', async () => {
  const { owner, confirm, make } = await startOwner()
  expect((await confirm({ password: 'a guess' })).body).toMatchObject({ code: 'PASSWORD_WRONG' })
  const { confirmation } = (await confirm()).body
  testbed.clock.timeMs += 4 * 60_000
  expect([await make(confirmation), await make(confirmation)]).toEqual(['made', 'made'])
  testbed.clock.timeMs += 61_000
  expect(await make(confirmation)).toBe('CONFIRMATION_DEAD')
  const { entries } = (await owner.call('GET', '/audit?action=person.confirm')).body
  expect(entries).toMatchObject([{ subject: owner.email }])
})

it('with a second factor, one code confirms the person for several changes', async () => {
  const { owner, confirm, make } = await startOwner()
  const { body } = await owner.call('POST', '/account/second-factor', REAUTHENTICATION)
  const secret = new URL(body.uri).searchParams.get('secret') ?? ''
  const code = () => new TOTP({ secret }).generate({ timestamp: testbed.clock.timeMs })
  await owner.call('POST', '/account/second-factor/confirm', { code: code() })
  expect((await confirm()).body).toMatchObject({ code: 'CODE_REQUIRED' })
  testbed.clock.timeMs += 30_000
  const { confirmation } = (await confirm({ password: PASSWORD, code: code() })).body
  expect([await make(confirmation), await make(confirmation)]).toEqual(['made', 'made'])
  expect((await confirm({ password: PASSWORD, code: code() })).body).toMatchObject({ code: 'CODE_USED' })
})

it('a confirmation is valid only in its own session, and only until that session ends', async () => {
  const { owner, confirm, make } = await startOwner()
  const { confirmation } = (await confirm()).body
  const elsewhere = browser(testbed.app)
  await elsewhere.signIn(owner.email)
  expect(await make(confirmation, elsewhere)).toBe('CONFIRMATION_DEAD')
  expect(await make(confirmation)).toBe('made')
  await owner.call('DELETE', '/session')
  await owner.window.signIn(owner.email)
  expect(await make(confirmation)).toBe('CONFIRMATION_DEAD')
})

it('changing the password or the second factor ends a confirmation', async () => {
  const { owner, confirm, make } = await startOwner()
  const before = (await confirm()).body.confirmation
  const { body } = await owner.call('POST', '/account/second-factor', REAUTHENTICATION)
  expect(await make(before)).toBe('made')
  const secret = new URL(body.uri).searchParams.get('secret') ?? ''
  const code = new TOTP({ secret }).generate({ timestamp: testbed.clock.timeMs })
  await owner.call('POST', '/account/second-factor/confirm', { code })
  expect(await make(before)).toBe('CONFIRMATION_DEAD')
  const other = await startOwner()
  const { confirmation } = (await other.confirm()).body
  const change = { confirmation, newPassword: `${PASSWORD} new` }
  expect((await other.owner.call('POST', '/account/password', change)).status).toBe(200)
  expect(await other.make(confirmation)).toBe('CONFIRMATION_DEAD')
})
