import { TOTP } from 'otpauth'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Actor } from '../../src/audit/audit.ts'
import { firstUuidAt } from '../../src/lib/ids.ts'
import { ensureFirstOperator, FIRST_OPERATOR, makePersonLink } from '../../src/people/manage.ts'
import { hashToken } from '../../src/people/token.ts'
import { waitForBlockedStatements } from '../harness/databases/statements.ts'
import {
  addPerson,
  addTenant,
  browser,
  type ConsoleApp,
  PASSWORD,
  PROOF,
  signedInAs,
  startConsole,
} from './console-app.ts'

let room: ConsoleApp
beforeAll(async () => {
  room = await startConsole()
})
afterAll(() => room.stop())

const tokenWish = { scope: 'READ', days: 1, password: PASSWORD }

const totp = (uri: string, atMs: number) =>
  new TOTP({ secret: new URL(uri).searchParams.get('secret')! }).generate({ timestamp: atMs })

describe('the first operator', () => {
  it('is made once, and must choose a password before anything else', async () => {
    const password = await ensureFirstOperator(room.deps)
    expect(await ensureFirstOperator(room.deps)).toBeUndefined()
    const window = browser(room.app)
    const signedIn = await window.signIn(FIRST_OPERATOR, password!)
    expect(signedIn).toMatchObject({ status: 200, body: { passwordChangeRequired: true, role: 'OPERATOR_ADMIN' } })
    expect(await window.call('GET', '/people')).toMatchObject({
      status: 403,
      body: { code: 'PASSWORD_CHANGE_REQUIRED' },
    })
    const body = { password, newPassword: PASSWORD }
    expect((await window.call('POST', '/account/password', body)).status).toBe(200)
    expect((await window.call('GET', '/people')).status).toBe(200)
    expect((await browser(room.app).signIn(FIRST_OPERATOR, password!)).status).toBe(401)
  })
})

describe('signing in', () => {
  it('answers alike for a wrong password, an unknown address and a disabled person', async () => {
    const { email } = await addPerson(room, 'OPERATOR_STAFF')
    const disabled = await addPerson(room, 'OPERATOR_STAFF')
    await room.db.query({
      text: `update people set status = 'DISABLED' where person_id = $1`,
      values: [disabled.personId],
    })
    const wrong = await browser(room.app).signIn(email, 'not the password')
    const unknown = await browser(room.app).signIn('nobody@people.test')
    const shut = await browser(room.app).signIn(disabled.email)
    expect(wrong.status).toBe(401)
    expect(unknown).toMatchObject({ status: wrong.status, body: wrong.body })
    expect(shut).toMatchObject({ status: wrong.status, body: wrong.body })
  })

  it('is refused to a crowd before it costs a hash, alike for who is there and who is not, and counts as no failure', async () => {
    const { email } = await addPerson(room, 'OPERATOR_STAFF')
    const strangers = Array.from({ length: 100 }, (_, at) => `${at}-${email}`)
    const attempts = strangers.flatMap((stranger) => [
      browser(room.app).signIn(email),
      browser(room.app).signIn(stranger),
    ])
    const answers = await Promise.all(attempts)
    const told = (offset: number) => answers.filter((_, at) => at % 2 === offset)
    for (const [theirs, served] of [
      [told(0), 200],
      [told(1), 401],
    ] as const) {
      const refused = theirs.filter((answer) => answer.body.code === 'PASSWORDS_BUSY')
      expect(new Set(theirs.map((answer) => answer.status))).toEqual(new Set([served, 503]))
      expect(theirs.filter((answer) => answer.status === served).length + refused.length).toBe(100)
    }
    const [counted] = await room.db.query<{ failures: number }>({
      text: `select coalesce(sum(failures), 0)::int as failures from sign_in_failures where email_hash = any($1::bytea[])`,
      values: [[email, ...strangers].map(hashToken)],
    })
    expect(counted!.failures).toBe(told(1).filter((answer) => answer.status === 401).length)
  })

  it('locks an address after ten failures, whether or not anybody has it, even for the right password', async () => {
    const { email } = await addPerson(room, 'OPERATOR_STAFF')
    for (const address of [email, 'ghost@people.test']) {
      for (let i = 0; i < 10; i++) await room.app.inject(signInFrom(`192.0.2.${i}`, address, 'wrong'))
      const locked = await room.app.inject(signInFrom('192.0.2.99', address, PASSWORD))
      expect(locked.statusCode).toBe(429)
      expect(locked.json().code).toBe('TOO_MANY_ATTEMPTS')
    }
  })

  it('limits tries from one address', async () => {
    const codes: number[] = []
    for (let i = 0; i < 22; i++)
      codes.push((await room.app.inject(signInFrom('198.51.100.7', `u${i}@people.test`, 'wrong'))).statusCode)
    expect(codes.slice(0, 20)).toEqual(Array(20).fill(401))
    expect(codes.slice(20)).toEqual([429, 429])
  })

  it('sets a cookie that scripts, other sites and plain connections cannot use', async () => {
    const { email } = await addPerson(room, 'OPERATOR_STAFF')
    const answer = await room.app.inject(signInFrom('192.0.2.50', email, PASSWORD))
    const cookie = String(answer.headers['set-cookie'])
    expect(cookie).toMatch(/^__Host-/)
    for (const attribute of ['HttpOnly', 'Secure', 'SameSite=Strict', 'Path=/']) expect(cookie).toContain(attribute)
    expect(cookie).not.toContain('Domain')
    const stored = await room.db.query<{ n: bigint }>({
      text: `select count(*) n from sessions where encode(token_hash, 'escape') like '%' || $1 || '%'`,
      values: [cookie.split(/[=;]/)[1]],
    })
    expect(stored[0]?.n).toBe(0n)
  })

  it('refuses changes from another origin, and from none', async () => {
    const person = await signedInAs(room, 'OPERATOR_ADMIN')
    for (const origin of ['https://evil.test', 'https://gateway.test.evil.test', 'null', undefined]) {
      const answer = await room.app.inject({
        method: 'DELETE',
        url: '/console/api/session',
        headers: { cookie: person.window.cookie, ...(origin && { origin }) },
      })
      expect([origin, answer.statusCode, answer.json().code]).toEqual([origin, 403, 'FOREIGN_ORIGIN'])
    }
  })
})

describe('a second factor', () => {
  it('is asked for once it is set, and each code works once', async () => {
    const person = await signedInAs(room, 'OPERATOR_STAFF')
    const begun = await person.call('POST', '/account/second-factor', { password: PASSWORD })
    const { uri } = begun.body
    const code = totp(uri, room.clock.timeMs)
    const confirmed = await person.call('POST', '/account/second-factor/confirm', { code })
    expect(confirmed.body.recoveryCodes).toHaveLength(10)
    const window = browser(room.app)
    expect((await window.signIn(person.email)).body.code).toBe('CODE_REQUIRED')
    expect((await window.signIn(person.email, PASSWORD, code)).body.code).toBe('CODE_WRONG')
    room.clock.timeMs += 30_000
    const next = totp(uri, room.clock.timeMs)
    const both = await Promise.all([1, 2].map(() => browser(room.app).signIn(person.email, PASSWORD, next)))
    expect(both.map((answer) => answer.status).sort()).toEqual([200, 422])
    const [recovery] = confirmed.body.recoveryCodes
    expect((await window.signIn(person.email, PASSWORD, recovery.toLowerCase())).status).toBe(200)
    expect((await browser(room.app).signIn(person.email, PASSWORD, recovery)).status).toBe(422)
  })
})

describe('links', () => {
  it('let the invited choose a password, once', async () => {
    const tenantId = await addTenant(room, 'Invited Ltd')
    const admin = await signedInAs(room, 'OPERATOR_ADMIN')
    const asked = { email: 'New@People.test', name: 'New', role: 'DEALER_ADMIN', tenantId, ...PROOF }
    const invited = await admin.call('POST', '/people', asked)
    const token = new URL(invited.body.link).hash.slice(1)
    const window = browser(room.app)
    expect((await window.call('POST', '/link', { token })).body).toMatchObject({ email: 'new@people.test' })
    expect((await window.call('POST', '/link/password', { token, password: 'short' })).body.code).toBe('PASSWORD_WEAK')
    expect((await window.call('POST', '/link/password', { token, password: PASSWORD })).status).toBe(200)
    expect((await window.call('POST', '/link/password', { token, password: PASSWORD })).status).toBe(404)
    const signedIn = await window.signIn('new@people.test')
    expect(signedIn.body).toMatchObject({ role: 'DEALER_ADMIN', tenant: { clientName: 'Invited Ltd' } })
  })

  it('to reset a password end every session', async () => {
    const admin = await signedInAs(room, 'OPERATOR_ADMIN')
    const other = await signedInAs(room, 'OPERATOR_STAFF')
    const { body } = await admin.call('POST', `/people/${other.personId}/link`, PROOF)
    const token = new URL(body.link).hash.slice(1)
    await browser(room.app).call('POST', '/link/password', { token, password: `${PASSWORD}!` })
    expect((await other.call('GET', '/session')).status).toBe(401)
    expect((await browser(room.app).signIn(other.email, `${PASSWORD}!`)).status).toBe(200)
  })
})

describe('people of an organisation', () => {
  it('who are disabled are out at once', async () => {
    const admin = await signedInAs(room, 'OPERATOR_ADMIN')
    const other = await signedInAs(room, 'OPERATOR_STAFF')
    expect((await admin.call('PATCH', `/people/${other.personId}`, { status: 'DISABLED', ...PROOF })).status).toBe(200)
    expect((await other.call('GET', '/session')).status).toBe(401)
  })

  it('of a dealer see and manage only their own', async () => {
    const mine = await addTenant(room, 'Mine')
    const theirs = await addTenant(room, 'Theirs')
    const other = await addPerson(room, 'DEALER_STAFF', theirs)
    const dealer = await signedInAs(room, 'DEALER_ADMIN', mine)
    const listed = await dealer.call('GET', `/people?tenantId=${theirs}`)
    expect(listed.body.people.map((person: { email: string }) => person.email)).toEqual([dealer.email])
    expect((await dealer.call('PATCH', `/people/${other.personId}`, { status: 'DISABLED', ...PROOF })).status).toBe(404)
    const absent = await dealer.call('PATCH', `/people/${room.deps.ids.uuid()}`, { status: 'DISABLED', ...PROOF })
    expect((await dealer.call('POST', `/people/${other.personId}/link`, PROOF)).body).toEqual(absent.body)
    const invite = { email: 'x@people.test', name: 'X', role: 'OPERATOR_ADMIN', tenantId: null, ...PROOF }
    expect((await dealer.call('POST', '/people', invite)).status).toBe(404)
    const promote = await dealer.call('PATCH', `/people/${dealer.personId}`, { role: 'OPERATOR_ADMIN', ...PROOF })
    expect(promote.status).toBe(422)
  })

  it('keep at least one administrator', async () => {
    const admin = await signedInAs(room, 'OPERATOR_ADMIN')
    const people = (await admin.call('GET', '/people')).body.people as { personId: string; role: string }[]
    const others = people.filter((person) => person.role === 'OPERATOR_ADMIN' && person.personId !== admin.personId)
    for (const { personId } of others)
      await admin.call('PATCH', `/people/${personId}`, { status: 'DISABLED', ...PROOF })
    expect((await admin.call('PATCH', `/people/${admin.personId}`, { role: 'OPERATOR_STAFF', ...PROOF })).status).toBe(
      422,
    )
  })
})

describe('an organisation', () => {
  /** People as bare rows, as many as that. */
  const crowd = (tenantId: string, count: number) =>
    room.db.query({
      text: `insert into people (person_id, tenant_id, email, name, role, status)
             select id, $1, id || '@crowd.test', 'One of many', 'DEALER_STAFF', 'DISABLED' from unnest($2::uuid[]) as id`,
      values: [tenantId, Array.from({ length: count }, () => room.deps.ids.uuid())],
    })
  type Caller = Pick<ReturnType<typeof browser>, 'call'>
  const listed = async (person: Caller) =>
    (await person.call('GET', '/people')).body.people.map((one: { email: string }) => one.email)

  /** Lets all go on at once that come as far as to write: whoever counts without a lock has not seen the others. */
  async function atOnce<Answer>(table: string, calls: (() => Promise<Answer>)[]): Promise<Answer[]> {
    const { answers } = await room.db.tx(async (tx) => {
      await tx.query({ text: `lock table ${table} in share row exclusive mode` })
      const answers = Promise.all(calls.map((call) => call()))
      await waitForBlockedStatements(room.db, calls.length)
      return { answers }
    })
    return answers
  }

  it('has five hundred people at most, however many are invited at once, and lists whoever came last', async () => {
    const tenantId = await addTenant(room, 'Crowded')
    const admin = await signedInAs(room, 'DEALER_ADMIN', tenantId)
    const operators = await Promise.all([1, 2].map(() => signedInAs(room, 'OPERATOR_STAFF')))
    await crowd(tenantId, 498)
    const names = ['one', 'two', 'three']
    const invite = (by: Caller, name: string) =>
      by.call('POST', '/people', { email: `${name}@crowded.test`, name, role: 'DEALER_STAFF', tenantId, ...PROOF })
    const answers = await atOnce(
      'people',
      [admin, ...operators].map((by, at) => () => invite(by, names[at]!)),
    )
    expect(answers.map(({ status, body }) => [status, body.code]).sort()).toEqual([
      [200, undefined],
      [409, 'ORGANISATION_FULL'],
      [409, 'ORGANISATION_FULL'],
    ])
    const last = names[answers.findIndex((answer) => answer.status === 200)]
    expect(await listed(admin)).toContain(`${last}@crowded.test`)
    // Where there were more already, it is the first that are left out.
    await crowd(tenantId, 2)
    const [{ email } = { email: '' }] = await room.db.query<{ email: string }>({
      text: 'select email from people where tenant_id = $1 order by person_id desc limit 1',
      values: [tenantId],
    })
    expect(await listed(admin)).toContain(email)
  })

  it('gets fifty links a day from the console, since each may be an e-mail to any address', async () => {
    const tenantId = await addTenant(room, 'Linked')
    const admin = await signedInAs(room, 'DEALER_ADMIN', tenantId)
    const other = await addPerson(room, 'DEALER_STAFF', tenantId)
    const makeLink = (actor: Actor) => room.db.tx((tx) => makePersonLink(tx, room.deps.ids, other.personId, { actor }))
    for (let i = 0; i < 49; i++) await makeLink(`person:${admin.personId}`)
    const operator = await signedInAs(room, 'OPERATOR_ADMIN')
    const link = () => admin.call('POST', `/people/${other.personId}/link`, PROOF)
    const { personId } = await addPerson(room, 'DEALER_STAFF', tenantId)
    const another = () => operator.call('POST', `/people/${personId}/link`, PROOF)
    const both = await atOnce('person_links', [link, another])
    expect(both.map(({ status, body }) => [status, body.code]).sort()).toEqual([
      [200, undefined],
      [429, 'TOO_MANY_LINKS'],
    ])
    const friend = { email: 'friend@linked.test', name: 'Friend', role: 'DEALER_STAFF', tenantId, ...PROOF }
    expect((await admin.call('POST', '/people', friend)).body.code).toBe('TOO_MANY_LINKS')
    expect(await listed(admin)).not.toContain(friend.email)
    // Whoever has the command line helps out, and other organisations have days of their own.
    expect(await makeLink('cli:root')).toMatchObject({ kind: 'PASSWORD_RESET' })
    const elsewhere = { ...friend, tenantId: await addTenant(room, 'Elsewhere') }
    expect((await operator.call('POST', '/people', elsewhere)).status).toBe(200)
    // A day later it begins anew.
    await room.db.query({
      text: `update audit_log set audit_id = $2 where tenant_id = $1 and actor = $3 and audit_id = (
               select min(audit_id::text)::uuid from audit_log
               where tenant_id = $1 and actor = $3 and action = 'person.make_link')`,
      values: [tenantId, firstUuidAt(Date.now() - 25 * 3_600_000), `person:${admin.personId}`],
    })
    expect((await link()).status).toBe(200)
  })

  it('is asked from one address a few times a minute', async () => {
    const tenantId = await addTenant(room, 'Hurried')
    const admin = await signedInAs(room, 'DEALER_ADMIN', tenantId)
    for (const path of ['/people', `/people/${room.deps.ids.uuid()}/link`]) {
      const codes: string[] = []
      for (let i = 0; i < 21; i++) codes.push((await admin.call('POST', path, {})).body.code)
      expect([path, codes.indexOf('TOO_MANY_CALLS')]).toEqual([path, 20])
    }
  })
})

describe('access tokens', () => {
  it('act for their person within their scope, never on accounts, until deleted', async () => {
    const admin = await signedInAs(room, 'OPERATOR_ADMIN')
    const made = await admin.call('POST', '/account/tokens', { ...tokenWish, name: 'script' })
    const call = (method: 'GET' | 'POST', path: string, payload?: object) =>
      room.app.inject({
        method,
        url: `/console/api${path}`,
        headers: { authorization: `Bearer ${made.body.token}` },
        ...(payload && { payload }),
      })
    expect((await call('GET', '/me')).json()).toMatchObject({ email: admin.email, by: 'token' })
    expect((await call('GET', '/account/sessions')).json().code).toBe('SESSION_NEEDED')
    expect((await call('POST', '/account/tokens', { name: 'x', scope: 'WRITE', days: null })).statusCode).toBe(403)
    await admin.call('DELETE', `/account/tokens/${made.body.tokenId}`)
    expect((await call('GET', '/me')).statusCode).toBe(401)
  })
})

describe('the audit log', () => {
  it('names the person and the address of every change, and holds no secret', async () => {
    const admin = await signedInAs(room, 'OPERATOR_ADMIN')
    await admin.call('POST', '/account/tokens', { ...tokenWish, name: 'audited' })
    const rows = await room.db.query<{ action: string; address: string; text: string }>({
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
