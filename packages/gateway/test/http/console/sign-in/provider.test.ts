import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { silentLog } from '@dealer-esim/lib/telemetry/log.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { allowPassword } from '#people/manage-people.ts'
import { createProvider } from '#people/provider/provider.ts'
import { linkAccount } from '#people/provider/provider-account.ts'
import {
  addPerson,
  addTenant,
  browser,
  type ConsoleTestbed,
  ORIGIN,
  PASSWORD,
  signedInAs,
  startConsole,
} from '../console-testbed.ts'
import { type ProviderServer, startProvider } from './provider-server.ts'

const folder = mkdtempSync(join(tmpdir(), 'dealer-esim-provider-'))
let server: ProviderServer
let testbed: ConsoleTestbed
beforeAll(async () => {
  server = await startProvider([`${ORIGIN}/console/signed-in`])
  const oidcClientSecretFile = join(folder, 'client-secret')
  writeFileSync(oidcClientSecretFile, `${server.client.secret}\n`)
  const config = {
    ...{ oidcIssuer: server.issuer, oidcClientId: server.client.id, oidcClientSecretFile, oidcName: 'Example Login' },
    oidcDomains: ['people.test', 'off.test'],
    oidcRoles: new Map([['esim-staff', 'OPERATOR_STAFF' as const]]),
    smtpUrl: 'smtp://127.0.0.1:1',
  }
  testbed = await startConsole({
    config,
    // The loopback interface has no TLS, which only a local deployment may do without.
    provider: ({ outbound }) =>
      createProvider({ config: { ...config, deployment: 'local' }, outbound, log: silentLog }),
  })
})
afterAll(async () => {
  await testbed.stop()
  await server.close()
  rmSync(folder, { recursive: true })
})

type Window = ReturnType<typeof browser>

let subjects = 0
function account(email: string | undefined, more: object = {}): string {
  const subject = `subject-${++subjects}`
  server.people.set(subject, { ...(email !== undefined && { email, email_verified: true }), name: 'Ada', ...more })
  return subject
}

const start = async (window: Window) => (await window.call('POST', '/provider/request', {})).body.url as string
const finish = (window: Window, query: string) => window.call('POST', '/provider/session', { query })

async function signInAs(subject: string, window = browser(testbed.app)) {
  return { window, ...(await finish(window, await server.signIn(await start(window), subject))) }
}

describe('signing in through the provider', () => {
  it('a person with the verified address signs in, and the account stays linked to that person', async () => {
    const person = await addPerson(testbed, 'OPERATOR_READ_ONLY')
    const subject = account(person.email.toUpperCase())
    const { window, ...signedIn } = await signInAs(subject)
    expect(signedIn).toMatchObject({
      status: 200,
      body: { email: person.email, signedInBy: 'PROVIDER', hasPassword: true },
    })
    expect((await window.call('GET', '/tenants')).status).toBe(200)
    // The provider renames the person, and gives the address to somebody else.
    server.people.set(subject, { email: 'renamed@people.test', email_verified: true })
    expect((await signInAs(subject)).body).toMatchObject({ email: person.email })
    const successor = account(person.email)
    expect((await signInAs(successor)).body.code).toBe('PROVIDER_ACCOUNT_OTHER')
    const admin = await signedInAs(testbed, 'OPERATOR_ADMIN')
    const linked = async () => {
      const { people } = (await admin.call('GET', '/people')).body
      return people.find((one: { email: string }) => one.email === person.email).hasProviderAccount
    }
    const path = `/people/${person.personId}/provider/unlink`
    expect(await linked()).toBe(true)
    const byPassword = browser(testbed.app)
    expect((await byPassword.signIn(person.email)).status).toBe(200)
    expect((await admin.call('POST', path, { password: 'a guess' })).status).toBe(422)
    expect((await window.call('GET', '/session')).status).toBe(200)
    expect((await admin.call('POST', path, { password: PASSWORD })).body).toEqual({ unlinked: 1 })
    expect(await linked()).toBe(false)
    expect((await window.call('GET', '/session')).status).toBe(401)
    expect((await byPassword.call('GET', '/session')).status).toBe(200)
    const log = (await admin.call('GET', '/audit?action=person.unlink_provider')).body.entries[0]
    expect(log).toMatchObject({ subject: person.email, actor: admin.email })
    expect((await signInAs(successor)).body).toMatchObject({ email: person.email })
    expect((await signInAs(subject)).body.code).toBe('PROVIDER_PERSON_UNKNOWN')
  })

  it('an unverified, missing, foreign or unknown address is refused with a code for the reason', async () => {
    const person = await addPerson(testbed, 'OPERATOR_STAFF')
    const subjects = [
      account(person.email, { email_verified: false }),
      account(undefined),
      account('somebody@elsewhere.test'),
      account('unknown@people.test'),
      account('unknown@people.test', { groups: ['others'] }),
    ]
    const codes: string[] = []
    for (const subject of subjects) codes.push((await signInAs(subject)).body.code)
    expect(codes).toEqual([
      'PROVIDER_ADDRESS',
      'PROVIDER_ADDRESS',
      'PROVIDER_DOMAIN',
      'PROVIDER_PERSON_UNKNOWN',
      'PROVIDER_PERSON_UNKNOWN',
    ])
    const failures = await testbed.db.query<{ count: number }>({
      text: `select sum((after ->> 'count')::int)::int as count from audit_log
             where action = 'person.fail_sign_in' and after ->> 'reason' = 'PROVIDER'`,
    })
    expect(failures[0]!.count).toBeGreaterThanOrEqual(codes.length)
  })

  it('a verification counts only for the address that the provider sends with it', async () => {
    const { email } = await addPerson(testbed, 'OPERATOR_STAFF')
    const vouched = { email, email_verified: true }
    const codes: unknown[] = []
    for (const claims of [
      { email, email_verified: undefined, inIdToken: { email_verified: true } },
      { email, email_verified: true, inIdToken: { email } },
      { email: 'another@people.test', email_verified: false, inIdToken: vouched },
      { ...vouched, inIdToken: { email_verified: false } },
    ]) {
      const { body } = await signInAs(account(email, claims))
      codes.push(body.code ?? body.email)
      await testbed.db.query({ text: 'delete from provider_accounts' })
    }
    expect(codes).toEqual(['PROVIDER_ADDRESS', 'PROVIDER_ADDRESS', email, email])
  })

  it('no account is created for an address that the console would not accept', async () => {
    const groups = ['esim-staff']
    for (const email of ['=1+1@people.test', 'a b@people.test', '"a,b"@people.test', `${'a'.repeat(250)}@people.test`])
      expect([email, (await signInAs(account(email, { groups }))).body.code]).toEqual([email, 'PROVIDER_ADDRESS'])
  })

  it('a person in a configured group is created once, with the group’s role and without a password', async () => {
    const subject = account('new@people.test', { groups: ['everybody', 'esim-staff'] })
    const both = await Promise.all([signInAs(subject), signInAs(subject)])
    for (const { status } of both) expect([200, 409]).toContain(status)
    const { window, body } = await signInAs(subject)
    expect(body).toMatchObject({ role: 'OPERATOR_STAFF', name: 'Ada', hasPassword: false, tenant: null })
    const people = await testbed.db.query<{ personId: string }>({
      text: `select person_id from people where email = 'new@people.test'`,
    })
    expect(people).toHaveLength(1)
    // A sign-in that found no link, and then finds that another sign-in has created one.
    await testbed.db.tx((tx) => linkAccount(tx, people[0]!.personId, server.issuer, subject))
    expect((await window.call('GET', '/tenants')).status).toBe(200)
    expect((await browser(testbed.app).signIn('new@people.test')).status).toBe(401)
  })

  it('a disabled person is refused', async () => {
    const person = await addPerson(testbed, 'OPERATOR_STAFF')
    await testbed.db.query({
      text: `update people set status = 'DISABLED' where person_id = $1`,
      values: [person.personId],
    })
    expect((await signInAs(account(person.email))).body.code).toBe('PERSON_DISABLED')
  })

  it('a refusal by the provider is shown to the person as a refusal', async () => {
    const window = browser(testbed.app)
    const query = await server.signIn(await start(window), account('x@people.test'), true)
    expect((await finish(window, query)).body).toMatchObject({
      code: 'PROVIDER_REFUSED',
      message: expect.stringContaining('did not let you sign in'),
    })
  })

  it('a provider that does not answer is reported, and queried again at the next sign-in', async () => {
    const config = {
      ...{ deployment: 'local' as const, oidcIssuer: 'http://127.0.0.1:1', oidcClientId: 'x' },
      oidcClientSecretFile: join(folder, 'client-secret'),
    }
    const provider = createProvider({ config, outbound: testbed.deps.outbound, log: silentLog })!
    const request = { redirectUri: `${ORIGIN}/x`, state: 's', key: Buffer.alloc(32), again: false }
    for (let i = 0; i < 2; i++)
      await expect(provider.authorizationUrl(request)).rejects.toMatchObject({ code: 'PROVIDER_UNREACHABLE' })
  })
})

describe('attacks on provider sign-in', () => {
  it('a code is redeemed only once, and only in the browser that began the sign-in', async () => {
    const person = await addPerson(testbed, 'OPERATOR_STAFF')
    const subject = account(person.email)
    const attacker = browser(testbed.app)
    const victim = browser(testbed.app)
    const query = await server.signIn(await start(attacker), subject)
    await start(victim)
    expect((await finish(victim, query)).body.code).toBe('CHALLENGE_DEAD')
    expect((await finish(browser(testbed.app), query)).body.code).toBe('CHALLENGE_DEAD')
    expect((await finish(attacker, query)).status).toBe(200)
    expect((await finish(attacker, query)).status).toBe(422)
  })

  it('a code with another sign-in’s state, a foreign issuer or an old state is refused', async () => {
    const person = await addPerson(testbed, 'OPERATOR_STAFF')
    const window = browser(testbed.app)
    const [first, second] = [await start(window), await start(window)]
    const stateOf = (url: string) => new URL(url).searchParams.get('state')!
    const query = new URLSearchParams(await server.signIn(first, account(person.email)))
    const swapped = new URLSearchParams(query)
    swapped.set('state', stateOf(second))
    // The nonce and the code verifier belong to the first state.
    expect((await finish(window, `?${swapped}`)).body.code).toBe('PROVIDER_REFUSED')
    const mixedUp = new URLSearchParams(await server.signIn(second, account(person.email)))
    mixedUp.set('iss', 'https://evil.test')
    expect((await finish(window, `?${mixedUp}`)).body.code).toBe('PROVIDER_REFUSED')
    for (const forged of ['', 'x', stateOf(first).slice(0, -2)]) {
      query.set('state', forged)
      expect((await finish(window, `?${query}`)).body.code).toBe('CHALLENGE_DEAD')
    }
    const late = await server.signIn(await start(window), account(person.email))
    testbed.clock.timeMs += 10 * 60_000
    expect((await finish(window, late)).body.code).toBe('CHALLENGE_DEAD')
    testbed.clock.timeMs -= 10 * 60_000
  })

  it('each sign-in has its own state, nonce and challenge, and returns only to the configured address', async () => {
    const window = browser(testbed.app)
    window.headers.host = 'evil.test'
    window.headers['x-forwarded-host'] = 'evil.test'
    const urls = [new URL(await start(window)), new URL(await start(window))]
    for (const name of ['state', 'nonce', 'code_challenge']) {
      const [one, other] = urls.map((url) => url.searchParams.get(name))
      expect(one).toMatch(/^[\w-]{43,}$/)
      expect(one).not.toBe(other)
    }
    for (const { searchParams, origin } of urls) {
      expect(origin).toBe(server.issuer)
      expect(searchParams.get('code_challenge_method')).toBe('S256')
      expect(searchParams.get('redirect_uri')).toBe(`${ORIGIN}/console/signed-in`)
    }
  })

  it('a sign-in creates a new session, and another page can neither begin nor finish one', async () => {
    const person = await addPerson(testbed, 'OPERATOR_STAFF')
    const window = browser(testbed.app)
    window.headers.cookie = '__Host-console=planted'
    window.headers.origin = 'https://evil.test'
    expect((await window.call('POST', '/provider/request', {})).body.code).toBe('FOREIGN_ORIGIN')
    expect((await finish(window, '?code=x&state=y')).body.code).toBe('FOREIGN_ORIGIN')
    const { status, headers } = await signInAs(account(person.email))
    expect(status).toBe(200)
    expect(String(headers['set-cookie'])).toMatch(
      /__Host-console=[\w-]{43}; Path=\/; HttpOnly; Secure; SameSite=Strict/,
    )
  })
})

describe('people who sign in through the provider', () => {
  it('are redirected to the provider’s own sign-out after their session has ended', async () => {
    const person = await addPerson(testbed, 'OPERATOR_STAFF')
    const { window } = await signInAs(account(person.email))
    const { body } = await window.call('DELETE', '/session')
    const url = new URL(body.signOutUrl)
    expect(url.origin).toBe(server.issuer)
    expect(url.searchParams.get('post_logout_redirect_uri')).toBe(`${ORIGIN}/console/`)
    expect((await window.call('GET', '/session')).status).toBe(401)
    const byPassword = await signedInAs(testbed, 'OPERATOR_STAFF')
    expect((await byPassword.call('DELETE', '/session')).body).toEqual({ signOutUrl: null })
  })

  it('are confirmed by signing in at the provider again as the same person', async () => {
    const person = await addPerson(testbed, 'OPERATOR_STAFF')
    const other = await addPerson(testbed, 'OPERATOR_STAFF')
    const [subject, foreign] = [account(person.email), account(other.email)]
    await signInAs(foreign)
    const { window } = await signInAs(subject)
    const confirm = async (as: string) => {
      const { url } = (await window.call('POST', '/account/confirm/provider/request', {})).body
      expect(new URL(url).searchParams.get('max_age')).toBe('0')
      return window.call('POST', '/account/confirm/provider', { query: await server.signIn(url, as) })
    }
    expect((await confirm(foreign)).body.code).toBe('PROVIDER_ACCOUNT_OTHER')
    const { confirmation } = (await confirm(subject)).body
    const token = { name: 'script', scope: 'READ', days: 1 }
    expect((await window.call('POST', '/account/tokens', token)).body.code).toBe('PASSWORD_REQUIRED')
    expect((await window.call('POST', '/account/tokens', { ...token, confirmation })).status).toBe(200)
    // A plain sign-in does not confirm anybody: the provider may not have asked for credentials.
    const plain = await server.signIn(await start(window), subject)
    expect((await window.call('POST', '/account/confirm/provider', { query: plain })).body.code).toBe('CHALLENGE_DEAD')
  })

  it('are not blocked by a required second factor', async () => {
    const person = await addPerson(testbed, 'DEALER_STAFF', await addTenant(testbed, 'Sso'))
    await testbed.db.query({ text: `insert into second_factor_roles (role) values ('DEALER_STAFF')` })
    const byPassword = browser(testbed.app)
    expect((await byPassword.signIn(person.email)).body).toMatchObject({ secondFactorMissing: true })
    const { window, body } = await signInAs(account(person.email))
    expect(body).toMatchObject({ secondFactorMissing: false })
    expect((await window.call('GET', '/orders')).status).toBe(200)
    await testbed.db.query({ text: 'delete from second_factor_roles' })
  })

  it('cannot use passwords with OIDC_PASSWORDS=off until the command line allows passwords', async () => {
    const person = await addPerson(testbed, 'OPERATOR_STAFF')
    await testbed.db.query({
      text: `update people set email = 'ada@off.test' where person_id = $1`,
      values: [person.personId],
    })
    const settings = testbed.deps.config as { oidcPasswords?: string; oidcDomains: string[] }
    Object.assign(settings, { oidcPasswords: 'off', oidcDomains: ['off.test'] })
    try {
      const known = await browser(testbed.app).signIn('Ada@off.test')
      const unknown = await browser(testbed.app).signIn('nobody@off.test')
      expect(known).toMatchObject({ status: 403, body: { code: 'PASSWORDS_OFF' } })
      expect(unknown.body).toEqual(known.body)
      await browser(testbed.app).call('POST', '/forgotten-password', { email: 'ada@off.test' })
      expect(await testbed.db.query({ text: `select 1 from mails where recipient = 'ada@off.test'` })).toEqual([])
      await testbed.db.tx((tx) => allowPassword(tx, testbed.deps.ids, person.personId, 1, { actor: 'cli:test' }))
      expect((await browser(testbed.app).signIn('ada@off.test', PASSWORD)).status).toBe(200)
    } finally {
      Object.assign(settings, { oidcPasswords: 'on', oidcDomains: ['people.test', 'off.test'] })
    }
  })
})
