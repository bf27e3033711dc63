import { TOTP } from 'otpauth'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  addPerson,
  browser,
  type ConsoleTestbed,
  ORIGIN,
  PASSWORD,
  REAUTHENTICATION,
  signedInAs,
  startConsole,
} from '../console-testbed.ts'
import { createAuthenticator } from './software-authenticator.ts'

let testbed: ConsoleTestbed
beforeAll(async () => {
  testbed = await startConsole({ config: { smtpUrl: 'smtp://127.0.0.1:1' } })
})
afterAll(() => testbed.stop())

type Window = ReturnType<typeof browser>
type Authenticator = ReturnType<typeof createAuthenticator>

async function register(
  window: Pick<Window, 'call'>,
  authenticator: Authenticator,
  confirmation: object = REAUTHENTICATION,
) {
  const { body } = await window.call('POST', '/account/passkeys/request', confirmation)
  return window.call('POST', '/account/passkeys', { name: 'Laptop', answer: authenticator.create(body.options) })
}

async function requestOptions(window: Window) {
  return (await window.call('POST', '/passkey/request', {})).body.options
}

const signInWith = (window: Window, answer: unknown) => window.call('POST', '/passkey/session', { answer })

/** A person with a registered passkey. */
async function withPasskey(role: 'OPERATOR_STAFF' | 'OPERATOR_ADMIN' = 'OPERATOR_STAFF') {
  const person = await signedInAs(testbed, role)
  const authenticator = createAuthenticator(ORIGIN)
  const { body } = await register(person.window, authenticator)
  return {
    ...person,
    authenticator,
    passkeyId: body.passkeyId as string,
    recoveryCodes: body.recoveryCodes as string[],
  }
}

describe('registering a passkey', () => {
  it('requires the password, and returns recovery codes only with the first second factor', async () => {
    const person = await withPasskey()
    expect(person.recoveryCodes).toHaveLength(10)
    const second = await register(person.window, createAuthenticator(ORIGIN), {
      password: PASSWORD,
      code: person.recoveryCodes[0],
    })
    expect(second.body.recoveryCodes).toEqual([])
    const mails = await testbed.db.query({
      text: `select 1 from mails where recipient = $1 and kind = 'PASSKEY_ADDED'`,
      values: [person.email],
    })
    expect(mails).toHaveLength(2)
    const { passkeys } = (await person.call('GET', '/account/passkeys')).body
    expect(passkeys).toHaveLength(2)
    const path = `/account/passkeys/${person.passkeyId}`
    expect((await person.call('PATCH', path, { name: 'Old laptop' })).status).toBe(200)
    const removal = { password: PASSWORD, code: person.recoveryCodes[1] }
    expect((await person.call('POST', `${path}/remove`, removal)).status).toBe(200)
    expect((await person.call('GET', '/account/passkeys')).body.passkeys).toEqual([
      expect.objectContaining({ name: 'Laptop' }),
    ])
  })

  it('fails in a stolen session without the password', async () => {
    const person = await signedInAs(testbed, 'OPERATOR_STAFF')
    for (const [body, code] of [
      [{}, 'PASSWORD_REQUIRED'],
      [{ password: 'a guess' }, 'PASSWORD_WRONG'],
      [{ confirmation: 'A'.repeat(54) }, 'CONFIRMATION_DEAD'],
    ] as const)
      expect((await person.call('POST', '/account/passkeys/request', body)).body.code).toBe(code)
  })

  it('is refused from a foreign page, session or person, without user verification, or when repeated', async () => {
    const person = await signedInAs(testbed, 'OPERATOR_STAFF')
    const other = await signedInAs(testbed, 'OPERATOR_STAFF')
    const elsewhere = browser(testbed.app)
    await elsewhere.signIn(person.email)
    const start = async () => (await person.call('POST', '/account/passkeys/request', REAUTHENTICATION)).body.options
    const finish = (window: Pick<Window, 'call'>, answer: unknown) =>
      window.call('POST', '/account/passkeys', { name: 'x', answer })
    const make = () => createAuthenticator(ORIGIN)
    expect((await finish(person, make().create(await start(), { origin: 'https://evil.test' }))).body.code).toBe(
      'PASSKEY_REFUSED',
    )
    expect((await finish(person, make().create(await start(), { unverified: true }))).body.code).toBe('PASSKEY_REFUSED')
    expect((await finish(elsewhere, make().create(await start()))).body.code).toBe('CHALLENGE_DEAD')
    expect((await finish(other, make().create(await start()))).body.code).toBe('CHALLENGE_DEAD')
    const options = await start()
    expect((await finish(person, make().create(options))).status).toBe(200)
    expect((await finish(person, make().create(options))).body.code).toBe('CHALLENGE_DEAD')
  })

  it('fails for a passkey that another person has registered', async () => {
    const owner = await withPasskey()
    const thief = await signedInAs(testbed, 'OPERATOR_STAFF')
    expect((await register(thief.window, owner.authenticator)).body.code).toBe('PASSKEY_KNOWN')
  })
})

describe('signing in with a passkey', () => {
  it('a passkey alone signs a person in, and the password alone no longer does', async () => {
    const { email, authenticator, recoveryCodes } = await withPasskey()
    const window = browser(testbed.app)
    const signedIn = await signInWith(window, authenticator.get(await requestOptions(window)))
    expect(signedIn).toMatchObject({
      status: 200,
      body: { email, signedInBy: 'PASSKEY', passkey: true, secondFactor: true },
    })
    expect((await window.call('GET', '/tenants')).status).toBe(200)
    expect((await browser(testbed.app).signIn(email)).body.code).toBe('PASSKEY_REQUIRED')
    expect((await browser(testbed.app).signIn(email, PASSWORD, recoveryCodes[0])).status).toBe(200)
    expect((await browser(testbed.app).signIn(email, PASSWORD, recoveryCodes[0])).body.code).toBe('CODE_USED')
  })

  it('an authenticator app counts as a second factor only once its set-up is complete', async () => {
    const { call, email, recoveryCodes } = await withPasskey()
    const input = { password: PASSWORD, code: recoveryCodes[0] }
    expect((await call('POST', '/account/second-factor', { password: PASSWORD })).body.code).toBe('PASSKEY_REQUIRED')
    const { secret } = (await call('POST', '/account/second-factor', input)).body
    const code = new TOTP({ secret }).generate({ timestamp: testbed.clock.timeMs })
    expect((await browser(testbed.app).signIn(email, PASSWORD, code)).body.code).toBe('CODE_WRONG')
  })

  it('a replayed answer is refused, even in another browser', async () => {
    const { authenticator } = await withPasskey()
    const window = browser(testbed.app)
    const answer = authenticator.get(await requestOptions(window))
    const elsewhere = browser(testbed.app)
    await requestOptions(elsewhere)
    expect((await signInWith(elsewhere, answer)).body.code).toBe('CHALLENGE_DEAD')
    expect((await signInWith(window, answer)).status).toBe(200)
    expect((await signInWith(window, answer)).status).toBe(422)
    const again = authenticator.get(await requestOptions(window))
    const both = await Promise.all([signInWith(window, again), signInWith(window, again)])
    expect(both.map(({ status }) => status).sort()).toEqual([200, 422])
  })

  it('a used challenge is refused even if the authenticator’s counter has advanced', async () => {
    const { authenticator } = await withPasskey()
    const window = browser(testbed.app)
    const options = await requestOptions(window)
    expect((await signInWith(window, authenticator.get(options))).status).toBe(200)
    expect((await signInWith(window, authenticator.get(options))).body.code).toBe('CHALLENGE_DEAD')
  })

  it('an answer is refused if it is late, from another page, unverified, or has a made-up challenge', async () => {
    const { authenticator } = await withPasskey()
    const window = browser(testbed.app)
    const refused = async (answer: unknown) => (await signInWith(window, answer)).body.code
    const options = await requestOptions(window)
    expect(await refused(authenticator.get(options, { origin: 'https://evil.test' }))).toBe('PASSKEY_REFUSED')
    expect(await refused(authenticator.get(options, { unverified: true }))).toBe('PASSKEY_REFUSED')
    expect(await refused(authenticator.get({ ...options, rpId: 'evil.test' }))).toBe('PASSKEY_REFUSED')
    expect(await refused(authenticator.get({ ...options, challenge: 'A'.repeat(75) }))).toBe('CHALLENGE_DEAD')
    testbed.clock.timeMs += 10 * 60_000
    expect(await refused(authenticator.get(options))).toBe('CHALLENGE_DEAD')
    testbed.clock.timeMs -= 10 * 60_000
    expect(await refused(createAuthenticator(ORIGIN).get(options))).toBe('PASSKEY_UNKNOWN')
    const failures = await testbed.db.query<{ reason: string; count: number }>({
      text: `select after ->> 'reason' as reason, sum((after ->> 'count')::int)::int as count from audit_log
             where action = 'person.fail_sign_in' and address = $1 group by 1`,
      values: [window.address],
    })
    expect(failures).toEqual([{ reason: 'PASSKEY', count: 6 }])
  })

  it('a passkey is refused as a copy if its counter does not advance', async () => {
    const { authenticator } = await withPasskey()
    const window = browser(testbed.app)
    expect((await signInWith(window, authenticator.get(await requestOptions(window), { count: 7 }))).status).toBe(200)
    for (const count of [7, 3, 0])
      expect((await signInWith(window, authenticator.get(await requestOptions(window), { count }))).body.code).toBe(
        'PASSKEY_REFUSED',
      )
    for (const count of [8, 2 ** 31, 2 ** 32 - 1])
      expect((await signInWith(window, authenticator.get(await requestOptions(window), { count }))).status).toBe(200)
  })

  it('neither a disabled person nor a removed passkey can sign in', async () => {
    const { personId, passkeyId, authenticator } = await withPasskey()
    const window = browser(testbed.app)
    const attempt = async () => (await signInWith(window, authenticator.get(await requestOptions(window)))).body.code
    await testbed.db.query({ text: `update people set status = 'DISABLED' where person_id = $1`, values: [personId] })
    expect(await attempt()).toBe('PERSON_DISABLED')
    await testbed.db.query({ text: `update people set status = 'ACTIVE' where person_id = $1`, values: [personId] })
    await testbed.db.query({ text: `delete from passkeys where passkey_id = $1`, values: [passkeyId] })
    expect(await attempt()).toBe('PASSKEY_UNKNOWN')
  })

  it('opening the sign-in page stores nothing', async () => {
    const count = async () => (await testbed.db.query({ text: 'select 1 from spent_challenges' })).length
    const before = await count()
    for (let i = 0; i < 5; i++) await requestOptions(browser(testbed.app))
    expect(await count()).toBe(before)
  })
})

describe('confirming with a passkey', () => {
  const confirm = (person: { call: Window['call'] }, answer: unknown) =>
    person.call('POST', '/account/confirm', { answer })
  const start = async (person: { call: Window['call'] }) =>
    (await person.call('POST', '/account/confirm/request', {})).body.options

  it('a passkey confirms its own person for five minutes, in place of the password and the code', async () => {
    const owner = await withPasskey('OPERATOR_ADMIN')
    const other = await withPasskey('OPERATOR_ADMIN')
    const { body } = await confirm(owner, owner.authenticator.get(await start(owner)))
    const token = { name: 'script', scope: 'READ', days: 1, confirmation: body.confirmation }
    expect((await owner.call('POST', '/account/tokens', token)).status).toBe(200)
    expect((await other.call('POST', '/account/tokens', token)).body.code).toBe('CONFIRMATION_DEAD')
    testbed.clock.timeMs += 5 * 60_000
    expect((await owner.call('POST', '/account/tokens', token)).body.code).toBe('CONFIRMATION_DEAD')
    testbed.clock.timeMs -= 5 * 60_000
    expect(
      (
        await owner.call('POST', '/account/tokens', {
          ...token,
          confirmation: body.confirmation.replace(/..$/, (end: string) => (end === 'AA' ? 'BB' : 'AA')),
        })
      ).body.code,
    ).toBe('CONFIRMATION_DEAD')
  })

  it('another person’s passkey and a challenge from elsewhere are refused', async () => {
    const owner = await withPasskey()
    const other = await withPasskey()
    expect((await confirm(owner, other.authenticator.get(await start(owner)))).body.code).toBe('PASSKEY_REFUSED')
    const elsewhere = browser(testbed.app)
    await signInWith(elsewhere, owner.authenticator.get(await requestOptions(elsewhere)))
    expect((await confirm(elsewhere, owner.authenticator.get(await start(owner)))).body.code).toBe('CHALLENGE_DEAD')
    expect((await confirm(owner, owner.authenticator.get(await requestOptions(owner.window)))).body.code).toBe(
      'CHALLENGE_DEAD',
    )
    expect((await signInWith(owner.window, owner.authenticator.get(await start(owner)))).body.code).toBe(
      'CHALLENGE_DEAD',
    )
  })

  it('changing the password ends a confirmation', async () => {
    const owner = await withPasskey()
    const { body } = await confirm(owner, owner.authenticator.get(await start(owner)))
    const change = { confirmation: body.confirmation, newPassword: `${PASSWORD} new` }
    expect((await owner.call('POST', '/account/password', change)).status).toBe(200)
    const token = { name: 'script', scope: 'READ', days: 1, confirmation: body.confirmation }
    expect((await owner.call('POST', '/account/tokens', token)).body.code).toBe('CONFIRMATION_DEAD')
  })
})

describe('a required second factor', () => {
  it('must be set up before anything else, and the last one cannot be removed', async () => {
    const admin = await withPasskey('OPERATOR_ADMIN')
    const confirmed = async () => {
      const { options } = (await admin.call('POST', '/account/confirm/request', {})).body
      return (await admin.call('POST', '/account/confirm', { answer: admin.authenticator.get(options) })).body
    }
    const tooEarly = await signedInAs(testbed, 'OPERATOR_ADMIN')
    const require = (required: boolean, role = 'OPERATOR_READ_ONLY') =>
      ['PUT', `/second-factors/${role}`, { required }] as const
    const [method, path, body] = require(true, 'OPERATOR_ADMIN')
    expect((await tooEarly.call(method, path, { ...body, ...REAUTHENTICATION })).body.code).toBe(
      'SECOND_FACTOR_MISSING',
    )

    const person = await signedInAs(testbed, 'OPERATOR_READ_ONLY')
    expect((await person.call('GET', '/tenants')).status).toBe(200)
    const on = require(true)
    expect((await admin.call(on[0], on[1], { ...on[2], ...(await confirmed()) })).status).toBe(200)
    expect((await admin.call('GET', '/second-factors')).body.roles).toContainEqual({
      role: 'OPERATOR_READ_ONLY',
      required: true,
    })
    for (const [at, route, input] of [
      ['GET', '/tenants'],
      ['GET', '/account/tokens'],
      ['POST', '/account/tokens', { name: 'x', scope: 'READ', days: 1, password: PASSWORD }],
      ['PATCH', '/account', { name: 'x' }],
    ] as const)
      expect([route, (await person.call(at, route, input)).body.code]).toEqual([route, 'SECOND_FACTOR_REQUIRED'])
    expect((await person.call('GET', '/session')).body).toMatchObject({ secondFactorMissing: true })
    const { body: added } = await register(person.window, createAuthenticator(ORIGIN))
    expect((await person.call('GET', '/tenants')).status).toBe(200)
    const removal = { password: PASSWORD, code: added.recoveryCodes[0] }
    expect((await person.call('POST', `/account/passkeys/${added.passkeyId}/remove`, removal)).body.code).toBe(
      'SECOND_FACTOR_NEEDED',
    )

    const later = await addPerson(testbed, 'OPERATOR_READ_ONLY')
    const window = browser(testbed.app)
    expect((await window.signIn(later.email)).body).toMatchObject({ secondFactorMissing: true })
    const off = require(false)
    expect((await admin.call(off[0], off[1], { ...off[2], ...(await confirmed()) })).status).toBe(200)
    expect((await window.call('GET', '/tenants')).status).toBe(200)
  })

  it('can be switched on or off only by an operator administrator who enters the password', async () => {
    const path = '/second-factors/DEALER_STAFF'
    const staff = await signedInAs(testbed, 'OPERATOR_STAFF')
    expect((await staff.call('PUT', path, { required: true, ...REAUTHENTICATION })).body.code).toBe('NOT_ALLOWED')
    const admin = await signedInAs(testbed, 'OPERATOR_ADMIN')
    expect((await admin.call('PUT', path, { required: true })).body.code).toBe('PASSWORD_REQUIRED')
    expect((await admin.call('PUT', '/second-factors/NOBODY', { required: true, ...REAUTHENTICATION })).status).toBe(
      404,
    )
  })
})
