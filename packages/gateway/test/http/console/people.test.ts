import { firstUuidAt } from '@dealer-esim/lib/ids.ts'
import { TOTP } from 'otpauth'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createPersonLink } from '#people/manage-people.ts'
import { hashToken } from '#people/secret-token.ts'
import type { Actor } from '#platform/audit/audit.ts'
import { waitForBlockedStatements } from '#test/harness/databases/statements.ts'
import {
  addPerson,
  addTenant,
  browser,
  type ConsoleTestbed,
  PASSWORD,
  REAUTHENTICATION,
  signedInAs,
  startConsole,
} from './console-testbed.ts'

let testbed: ConsoleTestbed
beforeAll(async () => {
  testbed = await startConsole()
})
afterAll(() => testbed.stop())

const tokenInput = { scope: 'READ', days: 1, password: PASSWORD }

const totp = (uri: string, atMs: number) =>
  new TOTP({ secret: new URL(uri).searchParams.get('secret')! }).generate({ timestamp: atMs })

describe('signing in', () => {
  it('a wrong password, an unknown address and a disabled person get the same answer', async () => {
    const { email } = await addPerson(testbed, 'OPERATOR_STAFF')
    const disabled = await addPerson(testbed, 'OPERATOR_STAFF')
    await testbed.db.query({
      text: `update people set status = 'DISABLED' where person_id = $1`,
      values: [disabled.personId],
    })
    const wrong = await browser(testbed.app).signIn(email, 'not the password')
    const unknown = await browser(testbed.app).signIn('nobody@people.test')
    const refused = await browser(testbed.app).signIn(disabled.email)
    expect(wrong.status).toBe(401)
    expect(unknown).toMatchObject({ status: wrong.status, body: wrong.body })
    expect(refused).toMatchObject({ status: wrong.status, body: wrong.body })
  })

  it('sign-ins refused during overload are not counted, for known and unknown addresses alike', async () => {
    const { email } = await addPerson(testbed, 'OPERATOR_STAFF')
    const strangers = Array.from({ length: 100 }, (_, at) => `${at}-${email}`)
    const attempts = strangers.flatMap((stranger) => [
      browser(testbed.app).signIn(email),
      browser(testbed.app).signIn(stranger),
    ])
    const answers = await Promise.all(attempts)
    const answersOf = (offset: number) => answers.filter((_, at) => at % 2 === offset)
    for (const [theirs, served] of [
      [answersOf(0), 200],
      [answersOf(1), 401],
    ] as const) {
      const refused = theirs.filter((answer) => answer.body.code === 'PASSWORDS_BUSY')
      expect(new Set(theirs.map((answer) => answer.status))).toEqual(new Set([served, 503]))
      expect(theirs.filter((answer) => answer.status === served).length + refused.length).toBe(100)
    }
    const [counted] = await testbed.db.query<{ failures: number }>({
      text: `select coalesce(sum(failures), 0)::int as failures from sign_in_failures where email_hash = any($1::bytea[])`,
      values: [[email, ...strangers].map(hashToken)],
    })
    expect(counted!.failures).toBe(answersOf(1).filter((answer) => answer.status === 401).length)
  })

  it('ten failures lock an address, known or unknown, even for the right password', async () => {
    const { email } = await addPerson(testbed, 'OPERATOR_STAFF')
    for (const address of [email, 'ghost@people.test']) {
      for (let i = 0; i < 10; i++) await testbed.app.inject(signInFrom(`192.0.2.${i}`, address, 'wrong'))
      const locked = await testbed.app.inject(signInFrom('192.0.2.99', address, PASSWORD))
      expect(locked.statusCode).toBe(429)
      expect(locked.json().code).toBe('TOO_MANY_ATTEMPTS')
    }
  })

  it('sign-ins from one network address are limited', async () => {
    const codes: number[] = []
    for (let i = 0; i < 22; i++)
      codes.push((await testbed.app.inject(signInFrom('198.51.100.7', `u${i}@people.test`, 'wrong'))).statusCode)
    expect(codes.slice(0, 20)).toEqual(Array(20).fill(401))
    expect(codes.slice(20)).toEqual([429, 429])
  })

  it('the session cookie is protected from scripts, other sites and unencrypted connections', async () => {
    const { email } = await addPerson(testbed, 'OPERATOR_STAFF')
    const answer = await testbed.app.inject(signInFrom('192.0.2.50', email, PASSWORD))
    const cookie = String(answer.headers['set-cookie'])
    expect(cookie).toMatch(/^__Host-/)
    for (const attribute of ['HttpOnly', 'Secure', 'SameSite=Strict', 'Path=/']) expect(cookie).toContain(attribute)
    expect(cookie).not.toContain('Domain')
    const stored = await testbed.db.query<{ n: bigint }>({
      text: `select count(*) n from sessions where encode(token_hash, 'escape') like '%' || $1 || '%'`,
      values: [cookie.split(/[=;]/)[1]],
    })
    expect(stored[0]?.n).toBe(0n)
  })

  it('changes with a different or missing origin are refused', async () => {
    const person = await signedInAs(testbed, 'OPERATOR_ADMIN')
    for (const origin of ['https://evil.test', 'https://gateway.test.evil.test', 'null', undefined]) {
      const answer = await testbed.app.inject({
        method: 'DELETE',
        url: '/console/api/session',
        headers: { cookie: person.window.cookie, ...(origin && { origin }) },
      })
      expect([origin, answer.statusCode, answer.json().code]).toEqual([origin, 403, 'FOREIGN_ORIGIN'])
    }
  })
})

describe('a second factor', () => {
  it('is required once it is set up, and each code works only once', async () => {
    const person = await signedInAs(testbed, 'OPERATOR_STAFF')
    const started = await person.call('POST', '/account/second-factor', { password: PASSWORD })
    const { uri } = started.body
    const code = totp(uri, testbed.clock.timeMs)
    const confirmed = await person.call('POST', '/account/second-factor/confirm', { code })
    expect(confirmed.body.recoveryCodes).toHaveLength(10)
    const window = browser(testbed.app)
    expect((await window.signIn(person.email)).body.code).toBe('CODE_REQUIRED')
    expect((await window.signIn(person.email, PASSWORD, code)).body.code).toBe('CODE_USED')
    const typo = String((Number(code) + 1) % 1_000_000).padStart(6, '0')
    expect((await window.signIn(person.email, PASSWORD, typo)).body).toMatchObject({
      ...{ code: 'CODE_WRONG', message: expect.not.stringContaining('used') },
    })
    testbed.clock.timeMs += 30_000
    const next = totp(uri, testbed.clock.timeMs)
    const both = await Promise.all([1, 2].map(() => browser(testbed.app).signIn(person.email, PASSWORD, next)))
    expect(both.map((answer) => answer.status).sort()).toEqual([200, 422])
    const [recovery] = confirmed.body.recoveryCodes
    expect((await window.signIn(person.email, PASSWORD, recovery.toLowerCase())).status).toBe(200)
    expect((await browser(testbed.app).signIn(person.email, PASSWORD, recovery)).status).toBe(422)
  })
})

describe('an authenticator code', () => {
  it.each([
    ['with a space, as apps show it', (code: string) => `${code.slice(0, 3)} ${code.slice(3)}`],
    ['with spaces around it, as it is copied', (code: string) => ` ${code}\u00a0`],
    ['with a space after each digit', (code: string) => [...code].join(' ')],
    ['with a hyphen', (code: string) => `${code.slice(0, 3)}-${code.slice(3)}`],
    [
      'in full-width digits',
      (code: string) => code.replace(/\d/g, (digit) => String.fromCharCode(0xff10 + Number(digit))),
    ],
  ])('is accepted %s, during set-up and sign-in', async (_, typed) => {
    const person = await signedInAs(testbed, 'OPERATOR_STAFF')
    const { uri } = (await person.call('POST', '/account/second-factor', { password: PASSWORD })).body
    const code = typed(totp(uri, testbed.clock.timeMs))
    expect((await person.call('POST', '/account/second-factor/confirm', { code })).status).toBe(200)
    testbed.clock.timeMs += 30_000
    const next = typed(totp(uri, testbed.clock.timeMs))
    expect((await browser(testbed.app).signIn(person.email, PASSWORD, next)).status).toBe(200)
  })
})

describe('links', () => {
  it('an invited person chooses a password with the link, but only once', async () => {
    const tenantId = await addTenant(testbed, 'Invited Ltd')
    const admin = await signedInAs(testbed, 'OPERATOR_ADMIN')
    const input = { email: 'New@People.test', name: 'New', role: 'DEALER_ADMIN', tenantId, ...REAUTHENTICATION }
    const invited = await admin.call('POST', '/people', input)
    const token = new URL(invited.body.link).hash.slice(1)
    const window = browser(testbed.app)
    expect((await window.call('POST', '/link', { token })).body).toMatchObject({ email: 'new@people.test' })
    expect((await window.call('POST', '/link/password', { token, password: 'short' })).body.code).toBe('PASSWORD_WEAK')
    expect((await window.call('POST', '/link/password', { token, password: PASSWORD })).status).toBe(200)
    expect((await window.call('POST', '/link/password', { token, password: PASSWORD })).status).toBe(404)
    const signedIn = await window.signIn('new@people.test')
    expect(signedIn.body).toMatchObject({ role: 'DEALER_ADMIN', tenant: { clientName: 'Invited Ltd' } })
  })

  it('a password reset ends all sessions of the person', async () => {
    const admin = await signedInAs(testbed, 'OPERATOR_ADMIN')
    const other = await signedInAs(testbed, 'OPERATOR_STAFF')
    const { body } = await admin.call('POST', `/people/${other.personId}/link`, REAUTHENTICATION)
    const token = new URL(body.link).hash.slice(1)
    await browser(testbed.app).call('POST', '/link/password', { token, password: `${PASSWORD}!` })
    expect((await other.call('GET', '/session')).status).toBe(401)
    expect((await browser(testbed.app).signIn(other.email, `${PASSWORD}!`)).status).toBe(200)
  })
})

describe('people in an organisation', () => {
  it('a disabled person’s session ends immediately', async () => {
    const admin = await signedInAs(testbed, 'OPERATOR_ADMIN')
    const other = await signedInAs(testbed, 'OPERATOR_STAFF')
    expect(
      (await admin.call('PATCH', `/people/${other.personId}`, { status: 'DISABLED', ...REAUTHENTICATION })).status,
    ).toBe(200)
    expect((await other.call('GET', '/session')).status).toBe(401)
  })

  it('a dealer’s people see and manage only members of their own organisation', async () => {
    const mine = await addTenant(testbed, 'Mine')
    const theirs = await addTenant(testbed, 'Theirs')
    const other = await addPerson(testbed, 'DEALER_STAFF', theirs)
    const dealer = await signedInAs(testbed, 'DEALER_ADMIN', mine)
    const listed = await dealer.call('GET', `/people?tenantId=${theirs}`)
    expect(listed.body.people.map((person: { email: string }) => person.email)).toEqual([dealer.email])
    expect(
      (await dealer.call('PATCH', `/people/${other.personId}`, { status: 'DISABLED', ...REAUTHENTICATION })).status,
    ).toBe(404)
    const absent = await dealer.call('PATCH', `/people/${testbed.deps.ids.uuid()}`, {
      status: 'DISABLED',
      ...REAUTHENTICATION,
    })
    expect((await dealer.call('POST', `/people/${other.personId}/link`, REAUTHENTICATION)).body).toEqual(absent.body)
    const invite = { email: 'x@people.test', name: 'X', role: 'OPERATOR_ADMIN', tenantId: null, ...REAUTHENTICATION }
    expect((await dealer.call('POST', '/people', invite)).status).toBe(404)
    const promote = await dealer.call('PATCH', `/people/${dealer.personId}`, {
      role: 'OPERATOR_ADMIN',
      ...REAUTHENTICATION,
    })
    expect(promote.status).toBe(422)
  })

  it('an operator administrator cannot reduce their own role, so that at least one remains', async () => {
    const admin = await signedInAs(testbed, 'OPERATOR_ADMIN')
    const people = (await admin.call('GET', '/people')).body.people as { personId: string; role: string }[]
    const others = people.filter((person) => person.role === 'OPERATOR_ADMIN' && person.personId !== admin.personId)
    for (const { personId } of others)
      await admin.call('PATCH', `/people/${personId}`, { status: 'DISABLED', ...REAUTHENTICATION })
    expect(
      (await admin.call('PATCH', `/people/${admin.personId}`, { role: 'OPERATOR_STAFF', ...REAUTHENTICATION })).status,
    ).toBe(422)
  })
})

describe('organisation limits', () => {
  /** Inserts disabled people. */
  const insertPeople = (tenantId: string, count: number) =>
    testbed.db.query({
      text: `insert into people (person_id, tenant_id, email, name, role, status)
             select id, $1, id || '@many.test', 'One of many', 'DEALER_STAFF', 'DISABLED' from unnest($2::uuid[]) as id`,
      values: [tenantId, Array.from({ length: count }, () => testbed.deps.ids.uuid())],
    })
  type Caller = Pick<ReturnType<typeof browser>, 'call'>
  const listed = async (person: Caller) =>
    (await person.call('GET', '/people')).body.people.map((one: { email: string }) => one.email)

  /** Holds back all calls until they are about to write, so that a count without a lock would miss the other calls. */
  async function concurrently<Answer>(table: string, calls: (() => Promise<Answer>)[]): Promise<Answer[]> {
    const { answers } = await testbed.db.tx(async (tx) => {
      await tx.query({ text: `lock table ${table} in share row exclusive mode` })
      const answers = Promise.all(calls.map((call) => call()))
      await waitForBlockedStatements(testbed.db, calls.length)
      return { answers }
    })
    return answers
  }

  it('concurrent invitations cannot exceed the limit of five hundred people', async () => {
    const tenantId = await addTenant(testbed, 'Full')
    const admin = await signedInAs(testbed, 'DEALER_ADMIN', tenantId)
    const operators = await Promise.all([1, 2].map(() => signedInAs(testbed, 'OPERATOR_STAFF')))
    await insertPeople(tenantId, 498)
    const names = ['one', 'two', 'three']
    const invite = (by: Caller, name: string) =>
      by.call('POST', '/people', {
        email: `${name}@full.test`,
        name,
        role: 'DEALER_STAFF',
        tenantId,
        ...REAUTHENTICATION,
      })
    const answers = await concurrently(
      'people',
      [admin, ...operators].map((by, at) => () => invite(by, names[at]!)),
    )
    expect(answers.map(({ status, body }) => [status, body.code]).sort()).toEqual([
      [200, undefined],
      [409, 'ORGANISATION_FULL'],
      [409, 'ORGANISATION_FULL'],
    ])
    const last = names[answers.findIndex((answer) => answer.status === 200)]
    expect(await listed(admin)).toContain(`${last}@full.test`)
    // Above the limit, the oldest are left out of the list.
    await insertPeople(tenantId, 2)
    const [{ email } = { email: '' }] = await testbed.db.query<{ email: string }>({
      text: 'select email from people where tenant_id = $1 order by person_id desc limit 1',
      values: [tenantId],
    })
    expect(await listed(admin)).toContain(email)
  })

  it('at most fifty links a day can be created in the console, because each may be mailed to anybody', async () => {
    const tenantId = await addTenant(testbed, 'Linked')
    const admin = await signedInAs(testbed, 'DEALER_ADMIN', tenantId)
    const other = await addPerson(testbed, 'DEALER_STAFF', tenantId)
    const createLink = (actor: Actor) =>
      testbed.db.tx((tx) => createPersonLink(tx, testbed.deps.ids, other.personId, { actor }))
    for (let i = 0; i < 49; i++) await createLink(`person:${admin.personId}`)
    const operator = await signedInAs(testbed, 'OPERATOR_ADMIN')
    const link = () => admin.call('POST', `/people/${other.personId}/link`, REAUTHENTICATION)
    const { personId } = await addPerson(testbed, 'DEALER_STAFF', tenantId)
    const another = () => operator.call('POST', `/people/${personId}/link`, REAUTHENTICATION)
    const both = await concurrently('person_links', [link, another])
    expect(both.map(({ status, body }) => [status, body.code]).sort()).toEqual([
      [200, undefined],
      [429, 'TOO_MANY_LINKS'],
    ])
    const friend = { email: 'friend@linked.test', name: 'Friend', role: 'DEALER_STAFF', tenantId, ...REAUTHENTICATION }
    expect((await admin.call('POST', '/people', friend)).body.code).toBe('TOO_MANY_LINKS')
    expect(await listed(admin)).not.toContain(friend.email)
    // The command line is exempt, and other organisations have their own limits.
    expect(await createLink('cli:root')).toMatchObject({ kind: 'PASSWORD_RESET' })
    const elsewhere = { ...friend, tenantId: await addTenant(testbed, 'Elsewhere') }
    expect((await operator.call('POST', '/people', elsewhere)).status).toBe(200)
    // A day later, links can be created again.
    await testbed.db.query({
      text: `update audit_log set audit_id = $2 where tenant_id = $1 and actor = $3 and audit_id = (
               select min(audit_id::text)::uuid from audit_log
               where tenant_id = $1 and actor = $3 and action = 'person.make_link')`,
      values: [tenantId, firstUuidAt(Date.now() - 25 * 3_600_000), `person:${admin.personId}`],
    })
    expect((await link()).status).toBe(200)
  })

  it('calls that require the password are limited to 20 a minute per address', async () => {
    const tenantId = await addTenant(testbed, 'Limited')
    const admin = await signedInAs(testbed, 'DEALER_ADMIN', tenantId)
    for (const path of ['/people', `/people/${testbed.deps.ids.uuid()}/link`]) {
      const codes: string[] = []
      for (let i = 0; i < 21; i++) codes.push((await admin.call('POST', path, {})).body.code)
      expect([path, codes.indexOf('TOO_MANY_CALLS')]).toEqual([path, 20])
    }
  })
})

describe('access tokens', () => {
  it('an access token acts for its person within its scope until deleted, but never on accounts', async () => {
    const admin = await signedInAs(testbed, 'OPERATOR_ADMIN')
    const created = await admin.call('POST', '/account/tokens', { ...tokenInput, name: 'script' })
    const call = (method: 'GET' | 'POST', path: string, payload?: object) =>
      testbed.app.inject({
        method,
        url: `/console/api${path}`,
        headers: { authorization: `Bearer ${created.body.token}` },
        ...(payload && { payload }),
      })
    expect((await call('GET', '/me')).json()).toMatchObject({ email: admin.email, by: 'token' })
    expect((await call('GET', '/account/sessions')).json().code).toBe('SESSION_NEEDED')
    expect((await call('POST', '/account/tokens', { name: 'x', scope: 'WRITE', days: null })).statusCode).toBe(403)
    await admin.call('DELETE', `/account/tokens/${created.body.tokenId}`)
    expect((await call('GET', '/me')).statusCode).toBe(401)
  })
})

describe('the audit log', () => {
  it('records every change with the person and the address, but without secrets', async () => {
    const admin = await signedInAs(testbed, 'OPERATOR_ADMIN')
    await admin.call('POST', '/account/tokens', { ...tokenInput, name: 'audited' })
    const rows = await testbed.db.query<{ action: string; address: string; text: string }>({
      text: `select action, address, audit_log::text as text from audit_log where actor = $1 order by audit_id`,
      values: [`person:${admin.personId}`],
    })
    expect(rows.map((row) => row.action)).toEqual(['person.sign_in', 'person.make_token'])
    expect(rows.every((row) => row.address === admin.address)).toBe(true)
    expect(rows.some((row) => row.text.includes(PASSWORD) || row.text.includes('dep_'))).toBe(false)
  })
})

function signInFrom(remoteAddress: string, email: string, password: string) {
  return {
    method: 'POST' as const,
    url: '/console/api/session',
    remoteAddress,
    headers: { origin: 'https://gateway.test' },
    payload: { email, password },
  }
}

it('a saved view holds no address of a traveller', async () => {
  const person = await signedInAs(testbed, 'OPERATOR_STAFF')
  const save = (search: string, name = 'Mine') => person.call('POST', '/account/views', { list: 'esims', name, search })
  for (const search of ['iccid=mei@traveller.test', 'esimStatus=IN_USE&iccid=mei%40traveller.test', 'iccid=mei'])
    expect(await save(search)).toMatchObject({ status: 422, body: { code: 'VIEW_HAS_ADDRESS' } })
  expect((await save('esimStatus=IN_USE', 'mei@traveller.test')).status).toBe(422)
  expect((await person.call('GET', '/account/views')).body).toEqual({ views: [] })
  for (const search of ['esimStatus=IN_USE', 'iccid=8985+2000+1234+5678+903'])
    expect((await save(search)).status).toBe(200)
})
