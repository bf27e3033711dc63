import { TOTP } from 'otpauth'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { BROWSER_KNOWN_S } from '#people/lockout.ts'
import {
  addTenant,
  browser,
  type ConsoleTestbed,
  PASSWORD,
  REAUTHENTICATION,
  signedInAs,
  startConsole,
} from '../console-testbed.ts'

/* Guessing passwords and codes reveals nothing, and does not lock out people who are signed in. */

let testbed: ConsoleTestbed
beforeAll(async () => {
  testbed = await startConsole()
})
afterAll(() => testbed.stop())

const exec = (text: string, ...values: unknown[]) => testbed.db.query<Record<string, unknown>>({ text, values })

describe('codes', () => {
  it('a code works only once, even if a recovery code is used twice at the same time', async () => {
    const tenantId = await addTenant(testbed, 'Codes')
    const person = await signedInAs(testbed, 'DEALER_ADMIN', tenantId)
    const { body } = await person.call('POST', '/account/second-factor', { password: PASSWORD })
    const secret = new URL(body.uri).searchParams.get('secret') ?? ''
    const code = () => new TOTP({ secret }).generate({ timestamp: testbed.clock.timeMs })
    const { recoveryCodes } = (await person.call('POST', '/account/second-factor/confirm', { code: code() })).body
    const view = (given: string) =>
      person.call('POST', `/tenants/${tenantId}/secret/view`, { password: PASSWORD, code: given })
    expect((await view(code())).body.code).toBe('CODE_USED')
    const friend = { email: 'friend@codes.test', name: 'Friend', role: 'DEALER_STAFF', tenantId, ...REAUTHENTICATION }
    expect((await person.call('POST', '/people', friend)).body.code).toBe('CODE_REQUIRED')
    expect((await person.call('POST', '/people', { ...friend, code: code() })).body.code).toBe('CODE_USED')
    const both = await Promise.all(
      [1, 2].map(() => browser(testbed.app).signIn(person.email, PASSWORD, recoveryCodes[0])),
    )
    expect(both.map((answer) => answer.status).sort()).toEqual([200, 422])
    // After ten wrong codes, even the right one is refused.
    for (let i = 0; i < 10; i++) await view('000000')
    testbed.clock.timeMs += 30_000
    expect((await view(code())).body.code).toBe('TOO_MANY_ATTEMPTS')
  })
})

describe('lockout', () => {
  it('failed sign-ins do not lock reauthentication, and failed reauthentication does not lock sign-in', async () => {
    const tenantId = await addTenant(testbed, 'Guessed')
    const owner = await signedInAs(testbed, 'DEALER_ADMIN', tenantId)
    for (let i = 0; i < 10; i++) await browser(testbed.app).signIn(owner.email, 'not the password')
    expect((await browser(testbed.app).signIn(owner.email)).body.code).toBe('TOO_MANY_ATTEMPTS')
    const reset = (password: string) =>
      owner.call('POST', `/tenants/${tenantId}/secret/reset`, { password, grace_s: 0 })
    expect((await reset(PASSWORD)).status).toBe(200)
    // Nor do guesses for an address that looks like the key of the signed-in person.
    for (let i = 0; i < 10; i++) await browser(testbed.app).signIn(`PERSON ${owner.personId}`, 'not the password')
    expect((await reset(PASSWORD)).status).toBe(200)

    const other = await signedInAs(testbed, 'DEALER_ADMIN', tenantId)
    const invite = (password: string) =>
      other.call('POST', '/people', { email: 'x@guessed.test', name: 'X', role: 'DEALER_STAFF', tenantId, password })
    for (let i = 0; i < 10; i++) expect((await invite('not the password')).body.code).toBe('PASSWORD_WRONG')
    expect((await invite(PASSWORD)).body.code).toBe('TOO_MANY_ATTEMPTS')
    expect((await browser(testbed.app).signIn(other.email)).status).toBe(200)
    const locks = await exec(
      `select subject, after, address from audit_log where tenant_id = $1 and action = 'person.lock' order by audit_id`,
      tenantId,
    )
    expect(locks).toEqual([
      { subject: owner.email, after: null, address: expect.any(String) },
      { subject: other.email, after: { signedIn: true }, address: other.address },
    ])
  })

  it('guesses elsewhere do not lock a known browser, and guesses in that browser lock only itself', async () => {
    const [owner, other] = [await signedInAs(testbed, 'OPERATOR_ADMIN'), await signedInAs(testbed, 'OPERATOR_STAFF')]
    for (let i = 0; i < 10; i++) await browser(testbed.app).signIn(owner.email, 'not the password')
    expect((await browser(testbed.app).signIn(owner.email)).body.code).toBe('TOO_MANY_ATTEMPTS')
    // Neither another person's browser nor a forged token counts as known.
    expect((await other.window.signIn(owner.email)).body.code).toBe('TOO_MANY_ATTEMPTS')
    const forged = browser(testbed.app)
    forged.headers.cookie = owner.window.cookie.replace(/.(?=.{9}$)/, (character) => (character === 'A' ? 'B' : 'A'))
    expect((await forged.signIn(owner.email)).body.code).toBe('TOO_MANY_ATTEMPTS')
    expect((await owner.window.signIn(owner.email)).status).toBe(200)

    for (let i = 0; i < 10; i++) await owner.window.signIn(owner.email, 'not the password')
    expect((await owner.window.signIn(owner.email)).body.code).toBe('TOO_MANY_ATTEMPTS')
    for (let i = 0; i < 10; i++) await other.window.signIn(other.email, 'not the password')
    expect((await browser(testbed.app).signIn(other.email)).status).toBe(200)
    const locks = await exec(`select after from audit_log where action = 'person.lock' and subject = $1`, other.email)
    expect(locks).toEqual([{ after: { knownBrowser: true } }])
  })

  it('a browser is no longer known after half a year or a password change', async () => {
    const admin = await signedInAs(testbed, 'OPERATOR_ADMIN')
    const owner = await signedInAs(testbed, 'OPERATOR_STAFF')
    const lockOut = async () => {
      for (let i = 0; i < 10; i++) await browser(testbed.app).signIn(owner.email, 'not the password')
    }
    await lockOut()
    testbed.clock.timeMs += BROWSER_KNOWN_S * 1_000
    expect((await owner.window.signIn(owner.email)).body.code).toBe('TOO_MANY_ATTEMPTS')
    testbed.clock.timeMs -= BROWSER_KNOWN_S * 1_000
    expect((await owner.window.signIn(owner.email)).status).toBe(200)
    // A link also unlocks the known browser.
    for (let i = 0; i < 10; i++) await owner.window.signIn(owner.email, 'not the password')
    const { link } = (await admin.call('POST', `/people/${owner.personId}/link`, REAUTHENTICATION)).body
    const password = `${PASSWORD} again`
    await browser(testbed.app).call('POST', '/link/password', { token: link.split('#')[1], password })
    expect((await owner.window.signIn(owner.email, password)).status).toBe(200)
    const before = owner.window.cookie
    await exec(`update people set password_hash = null where person_id = $1`, owner.personId)
    const { link: next } = (await admin.call('POST', `/people/${owner.personId}/link`, REAUTHENTICATION)).body
    await browser(testbed.app).call('POST', '/link/password', { token: next.split('#')[1], password: PASSWORD })
    await lockOut()
    const old = browser(testbed.app)
    old.headers.cookie = before
    expect((await old.signIn(owner.email)).body.code).toBe('TOO_MANY_ATTEMPTS')
  })

  it('a link from an administrator ends the lockout', async () => {
    const admin = await signedInAs(testbed, 'OPERATOR_ADMIN')
    const { email, personId } = await signedInAs(testbed, 'OPERATOR_STAFF')
    for (let i = 0; i < 10; i++) await browser(testbed.app).signIn(email, 'not the password')
    expect((await browser(testbed.app).signIn(email)).body.code).toBe('TOO_MANY_ATTEMPTS')
    const { link } = (await admin.call('POST', `/people/${personId}/link`, REAUTHENTICATION)).body
    const password = `${PASSWORD} again`
    const window = browser(testbed.app)
    expect((await window.call('POST', '/link/password', { token: link.split('#')[1], password })).status).toBe(200)
    expect((await browser(testbed.app).signIn(email, password)).status).toBe(200)
  })
})

describe('timing', () => {
  it('a sign-in takes the same amount of work for unknown and known addresses', async () => {
    const work = async (address: string) => {
      const before = process.cpuUsage()
      for (let i = 0; i < 4; i++) await browser(testbed.app).signIn(address, 'not the password')
      return process.cpuUsage(before).user
    }
    await work('warm@people.test')
    // The minimum of three: other work in the process, such as garbage collection, can only add to a measurement.
    const measured = { known: [] as number[], unknown: [] as number[] }
    for (let round = 0; round < 3; round++) {
      const { email } = await signedInAs(testbed, 'OPERATOR_STAFF')
      measured.known.push(await work(email))
      measured.unknown.push(await work(`nobody-${round}@people.test`))
    }
    const ratio = Math.min(...measured.unknown) / Math.min(...measured.known)
    expect(ratio).toBeGreaterThan(0.5)
    expect(ratio).toBeLessThan(2)
  })
})

describe('concurrent guesses', () => {
  it('concurrent guesses lock the address even if all of them start before the first one is counted', async () => {
    const { email } = await signedInAs(testbed, 'OPERATOR_STAFF')
    const guesses = Array.from({ length: 30 }, () => browser(testbed.app).signIn(email, 'not the password'))
    const right = await browser(testbed.app).signIn(email)
    expect(right.body.code).toBe('TOO_MANY_ATTEMPTS')
    await Promise.all(guesses)
  })
})
