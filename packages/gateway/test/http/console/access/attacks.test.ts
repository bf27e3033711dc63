import { TOTP } from 'otpauth'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createAlert } from '#alerts/create-alert.ts'
import { waitForBlockedStatements } from '#test/harness/databases/statements.ts'
import {
  addPerson,
  addTenant,
  browser,
  type ConsoleTestbed,
  ORIGIN,
  PASSWORD,
  REAUTHENTICATION,
  signedInAs,
  startConsole,
} from '../console-testbed.ts'

let testbed: ConsoleTestbed
beforeAll(async () => {
  testbed = await startConsole()
})
afterAll(() => testbed.stop())

/** Blocks a call at the person's row after it has verified the password, changes the row, and lets the call continue. */
async function changedDuringCall<Answer>(
  personId: string,
  change: string,
  call: () => Promise<Answer>,
): Promise<Answer> {
  const { answer } = await testbed.db.tx(async (tx) => {
    await tx.query({ text: 'select 1 from people where person_id = $1 for update', values: [personId] })
    const answer = call()
    await waitForBlockedStatements(testbed.db)
    await tx.query({ text: change, values: [personId] })
    return { answer }
  })
  return answer
}

const exec = (text: string, ...values: unknown[]) => testbed.db.query<Record<string, unknown>>({ text, values })

describe('cross-site requests', () => {
  it('a form on another site cannot change anything, even with credentials added by a browser or proxy', async () => {
    const person = await signedInAs(testbed, 'OPERATOR_ADMIN')
    for (const authorization of [undefined, 'Basic dTpw', 'Bearer', 'Digest x']) {
      const answer = await testbed.app.inject({
        method: 'DELETE',
        url: '/console/api/account/sessions',
        headers: { cookie: person.window.cookie, origin: 'https://evil.test', ...(authorization && { authorization }) },
      })
      expect([authorization, answer.statusCode]).toEqual([authorization, 403])
    }
  })

  it('another site cannot render an answer as a page', async () => {
    const { headers } = await browser(testbed.app).call('GET', '/session')
    expect(headers).toMatchObject({
      'x-content-type-options': 'nosniff',
      'cache-control': 'no-store',
      'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
    })
    expect(headers['access-control-allow-origin']).toBeUndefined()
  })
})

describe('sessions', () => {
  it('a sign-in creates a new session, so a cookie planted beforehand grants no access', async () => {
    const planted = '__Host-console=planted-by-an-attacker'
    const victim = await signedInAs(testbed, 'OPERATOR_STAFF')
    const answer = await testbed.app.inject({
      method: 'POST',
      url: '/console/api/session',
      remoteAddress: '10.9.9.9',
      headers: { origin: ORIGIN, cookie: planted },
      payload: { email: victim.email, password: PASSWORD },
    })
    expect(String(answer.headers['set-cookie'])).not.toContain('planted')
    const stolen = await testbed.app.inject({ url: '/console/api/session', headers: { cookie: planted } })
    expect(stolen.statusCode).toBe(401)
  })

  it('a session ends when it has been idle, or when another session changes the password', async () => {
    const here = await signedInAs(testbed, 'DEALER_STAFF', await addTenant(testbed, 'Sessions'))
    const there = browser(testbed.app)
    await there.signIn(here.email)
    const body = { password: PASSWORD, newPassword: `${PASSWORD} new` }
    expect((await here.call('POST', '/account/password', body)).status).toBe(200)
    expect((await there.call('GET', '/session')).status).toBe(401)
    expect((await here.call('GET', '/session')).status).toBe(200)
    await exec(`update sessions set seen_at = now() - interval '13 hours' where person_id = $1`, here.personId)
    expect((await here.call('GET', '/session')).status).toBe(401)
  })

  it('changing the password deletes access tokens on request, and reports what has ended', async () => {
    const person = await signedInAs(testbed, 'OPERATOR_STAFF')
    await browser(testbed.app).signIn(person.email)
    const token = { name: 'script', scope: 'READ', days: 1, ...REAUTHENTICATION }
    const { token: access } = (await person.call('POST', '/account/tokens', token)).body
    const headers = { authorization: `Bearer ${access}` }
    const read = async () => (await testbed.app.inject({ url: '/console/api/tenants', headers })).statusCode
    const passwords = [PASSWORD, `${PASSWORD} 2`, `${PASSWORD} 3`] as const
    const change = async (at: 0 | 1, more: object = {}) => {
      const body = { password: passwords[at], newPassword: passwords[at + 1], ...more }
      return (await person.call('POST', '/account/password', body)).body
    }
    expect(await change(0)).toEqual({ endedSessions: 1, endedTokens: 0 })
    expect(await read()).toBe(200)
    expect(await change(1, { endTokens: true })).toEqual({ endedSessions: 0, endedTokens: 1 })
    expect(await read()).toBe(401)
  })

  it('automatic refreshes do not keep an idle session alive, but a person’s requests do', async () => {
    const unattended = await signedInAs(testbed, 'OPERATOR_STAFF')
    const used = await signedInAs(testbed, 'OPERATOR_STAFF')
    unattended.headers['x-unattended'] = 'true'
    const sevenHoursLater = `update sessions set seen_at = seen_at - interval '7 hours' where person_id = any ($1)`
    const statuses: number[] = []
    for (let round = 0; round < 2; round++) {
      await exec(sevenHoursLater, [unattended.personId, used.personId])
      for (const person of [unattended, used]) statuses.push((await person.call('GET', '/session')).status)
    }
    expect(statuses).toEqual([200, 200, 401, 200])
  })

  it('a stolen session cannot create an access token, because that requires the password', async () => {
    const person = await signedInAs(testbed, 'OPERATOR_STAFF')
    const input = { name: 'permanent', scope: 'WRITE', days: 365 }
    expect((await person.call('POST', '/account/tokens', input)).body.code).toBe('PASSWORD_REQUIRED')
    const guess = await person.call('POST', '/account/tokens', { ...input, password: 'a guess' })
    expect(guess).toMatchObject({ status: 422, body: { code: 'PASSWORD_WRONG' } })
  })
})

describe('access tokens', () => {
  it('an access token stops working when it expires or the password is reset', async () => {
    const admin = await signedInAs(testbed, 'OPERATOR_ADMIN')
    const person = await signedInAs(testbed, 'OPERATOR_STAFF')
    const createToken = async () => {
      const body = { name: 'script', scope: 'READ', days: 1, password: PASSWORD }
      return (await person.call('POST', '/account/tokens', body)).body.token as string
    }
    const status = async (token: string) =>
      (await testbed.app.inject({ url: '/console/api/me', headers: { authorization: `Bearer ${token}` } })).statusCode
    const old = await createToken()
    expect(await status(old)).toBe(200)
    await exec(`update access_tokens set expires_at = now() where person_id = $1`, person.personId)
    expect(await status(old)).toBe(401)
    const fresh = await createToken()
    const { body } = await admin.call('POST', `/people/${person.personId}/link`, REAUTHENTICATION)
    const token = new URL(body.link).hash.slice(1)
    await browser(testbed.app).call('POST', '/link/password', { token, password: `${PASSWORD} again` })
    expect(await status(fresh)).toBe(401)
  })
})

describe('links', () => {
  it('a link stops working when it expires or is replaced, or when its person is disabled', async () => {
    const admin = await signedInAs(testbed, 'OPERATOR_ADMIN')
    const person = await signedInAs(testbed, 'OPERATOR_STAFF')
    const link = async () =>
      new URL((await admin.call('POST', `/people/${person.personId}/link`, REAUTHENTICATION)).body.link).hash.slice(1)
    const useLink = async (token: string) => {
      const window = browser(testbed.app)
      const read = await window.call('POST', '/link', { token })
      const set = await window.call('POST', '/link/password', { token, password: `${PASSWORD} 2` })
      return [read.status, set.status, set.body.code]
    }
    const DEAD = [404, 404, 'LINK_DEAD']
    const replaced = await link()
    const old = await link()
    expect(await useLink(replaced)).toEqual(DEAD)
    await exec(`update person_links set expires_at = now() where person_id = $1`, person.personId)
    expect(await useLink(old)).toEqual(DEAD)
    const last = await link()
    await admin.call('PATCH', `/people/${person.personId}`, { status: 'DISABLED', ...REAUTHENTICATION })
    expect(await useLink(last)).toEqual(DEAD)
  })
})

describe('setting a password with a link', () => {
  it('stops concurrent requests that have just verified the old password', async () => {
    const tenantId = await addTenant(testbed, 'Concurrent')
    const thief = await signedInAs(testbed, 'DEALER_ADMIN', tenantId)
    const token = { name: 'permanent', scope: 'WRITE', days: 365, password: PASSWORD }
    const change = { password: PASSWORD, newPassword: `${PASSWORD} of the thief` }
    const friend = { email: 'friend@thief.test', name: 'Friend', role: 'DEALER_ADMIN', tenantId, ...REAUTHENTICATION }
    const calls = [
      () => browser(testbed.app).signIn(thief.email),
      () => thief.call('POST', '/account/password', change),
      () => thief.call('POST', '/account/tokens', token),
      () => thief.call('POST', '/people', friend),
    ]
    const setByLink = `update people set password_hash = 'by the link' where person_id = $1`
    const codes: string[] = []
    for (const call of calls) {
      const [{ old } = { old: '' }] = await exec(
        `select password_hash as old from people where person_id = $1`,
        thief.personId,
      )
      codes.push((await changedDuringCall(thief.personId, setByLink, call)).body.code)
      await exec(
        `update people set password_hash = $2 where person_id = $1 and password_hash = 'by the link'`,
        thief.personId,
        old,
      )
    }
    expect(codes).toEqual(['SIGN_IN_FAILED', 'PASSWORD_WRONG', 'SIGNED_OUT', 'SIGNED_OUT'])
    expect(await exec('select 1 from people where tenant_id = $1', tenantId)).toHaveLength(1)
    const [existing] = await exec(
      `select (select count(*) from sessions where person_id = $1)::int as sessions,
              (select count(*) from access_tokens where person_id = $1)::int as tokens`,
      thief.personId,
    )
    expect(existing).toEqual({ sessions: 1, tokens: 0 })
    expect((await browser(testbed.app).signIn(thief.email)).status).toBe(200)
  })

  it('succeeds for only one of several concurrent uses of the link', async () => {
    const admin = await signedInAs(testbed, 'OPERATOR_ADMIN')
    const person = await signedInAs(testbed, 'OPERATOR_STAFF')
    const { body } = await admin.call('POST', `/people/${person.personId}/link`, REAUTHENTICATION)
    const token = new URL(body.link).hash.slice(1)
    const passwords = [1, 2, 3].map((n) => `${PASSWORD} ${n}`)
    const set = await Promise.all(
      passwords.map((password) => browser(testbed.app).call('POST', '/link/password', { token, password })),
    )
    expect(set.map((answer) => answer.status).sort()).toEqual([200, 404, 404])
    const winner = passwords[set.findIndex((answer) => answer.status === 200)]
    expect((await browser(testbed.app).signIn(person.email, winner)).status).toBe(200)
  })
})

describe('the second factor', () => {
  it('a second factor confirmed in one tab cannot be replaced in another tab', async () => {
    const person = await signedInAs(testbed, 'OPERATOR_STAFF')
    const setUp = () => person.call('POST', '/account/second-factor', { password: PASSWORD })
    const { body } = await setUp()
    const confirm = `update people set totp_confirmed = true where person_id = $1`
    const other = await changedDuringCall(person.personId, confirm, setUp)
    expect(other).toMatchObject({ status: 409, body: { code: 'SECOND_FACTOR_SET' } })
    const code = new TOTP({ secret: body.secret }).generate({ timestamp: testbed.clock.timeMs })
    const again = await person.call('POST', '/account/second-factor/confirm', { code })
    expect(again).toMatchObject({ status: 409, body: { code: 'SECOND_FACTOR_SET' } })
    expect((await browser(testbed.app).signIn(person.email, PASSWORD, code)).status).toBe(200)
  })
})

describe('an administrator’s stolen session', () => {
  it('a stolen session can neither create a link for its own person nor remove their second factor', async () => {
    for (const admin of [
      await signedInAs(testbed, 'OPERATOR_ADMIN'),
      await signedInAs(testbed, 'DEALER_ADMIN', await addTenant(testbed, 'Stolen')),
    ]) {
      const own = `/people/${admin.personId}`
      const link = await admin.call('POST', `${own}/link`, REAUTHENTICATION)
      expect(link).toMatchObject({ status: 422, body: { code: 'OWN_ACCOUNT' } })
      expect((await admin.call('POST', `${own}/second-factor/remove`, REAUTHENTICATION)).body.code).toBe('OWN_ACCOUNT')
    }
  })

  it('a stolen session cannot invite, disable or promote people without the password', async () => {
    for (const [role, tenantId] of [
      ['OPERATOR_ADMIN', null],
      ['DEALER_ADMIN', await addTenant(testbed, 'Permanent')],
    ] as const) {
      const admin = await signedInAs(testbed, role, tenantId)
      const { personId } = await addPerson(testbed, role, tenantId)
      const theirs = `/people/${personId}`
      const calls = [
        ['POST', '/people', { email: `friend@${role}.test`, name: 'Friend', role, tenantId }],
        ['POST', `${theirs}/link`, {}],
        ['POST', `${theirs}/second-factor/remove`, {}],
        ['PATCH', theirs, { role: role.replace('ADMIN', 'STAFF') }],
        ['PATCH', theirs, { name: 'Renamed', status: 'DISABLED' }],
      ] as const
      const everybody = () =>
        Promise.all([exec('select * from people order by person_id'), exec('select * from person_links order by 1')])
      const before = await everybody()
      for (const [method, path, body] of calls) {
        const withoutPassword = await admin.call(method, path, body)
        expect([path, withoutPassword.status, withoutPassword.body.code]).toEqual([path, 422, 'PASSWORD_REQUIRED'])
        const guess = await admin.call(method, path, { ...body, password: 'a guess' })
        expect([path, guess.status, guess.body.code]).toEqual([path, 422, 'PASSWORD_WRONG'])
      }
      expect(await everybody()).toEqual(before)
      expect((await admin.call('PATCH', theirs, { name: 'Renamed' })).status).toBe(200)
      for (const [method, path, body] of calls)
        expect([path, (await admin.call(method, path, { ...body, ...REAUTHENTICATION })).status]).toEqual([path, 200])
    }
    const written = await exec('select 1 from audit_log where strpos(audit_log::text, $1) > 0', PASSWORD)
    expect(written).toEqual([])
  })
})

describe('a disabled person', () => {
  it('a re-enabled person does not regain earlier tokens and links', async () => {
    const admin = await signedInAs(testbed, 'OPERATOR_ADMIN')
    const person = await signedInAs(testbed, 'OPERATOR_STAFF')
    const input = { name: 'script', scope: 'READ', days: 1, password: PASSWORD }
    const { token } = (await person.call('POST', '/account/tokens', input)).body
    const { link } = (await admin.call('POST', `/people/${person.personId}/link`, REAUTHENTICATION)).body
    for (const status of ['DISABLED', 'ACTIVE'])
      await admin.call('PATCH', `/people/${person.personId}`, { status, ...REAUTHENTICATION })
    const headers = { authorization: `Bearer ${token}` }
    expect((await testbed.app.inject({ url: '/console/api/me', headers })).statusCode).toBe(401)
    const read = await browser(testbed.app).call('POST', '/link', { token: new URL(link).hash.slice(1) })
    expect(read.body.code).toBe('LINK_DEAD')
  })
})

describe('roles', () => {
  it('nobody can give a person a role in another organisation', async () => {
    const tenantId = await addTenant(testbed, 'Climbers')
    const staff = await signedInAs(testbed, 'DEALER_STAFF', tenantId)
    const admin = await signedInAs(testbed, 'DEALER_ADMIN', tenantId)
    const operator = await signedInAs(testbed, 'OPERATOR_STAFF')
    const change = { role: 'OPERATOR_ADMIN', ...REAUTHENTICATION }
    for (const by of [admin, operator])
      expect((await by.call('PATCH', `/people/${staff.personId}`, change)).body.code).toBe('ROLE_ELSEWHERE')
    for (const body of [{ role: 'DEALER_ADMIN' }, { status: 'DISABLED' }])
      expect((await staff.call('PATCH', `/people/${staff.personId}`, body)).status).toBe(403)
    const invitation = {
      email: 'friend@climbers.test',
      name: 'F',
      tenantId: null,
      role: 'OPERATOR_ADMIN',
      ...REAUTHENTICATION,
    }
    expect((await operator.call('POST', '/people', invitation)).status).toBe(403)
    const wrongOrganisation = { ...invitation, tenantId, role: 'OPERATOR_STAFF' }
    expect((await admin.call('POST', '/people', wrongOrganisation)).body.code).toBe('ROLE_ELSEWHERE')
    expect((await operator.call('POST', `/people/${operator.personId}/link`, REAUTHENTICATION)).status).toBe(403)
  })

  it('a reduced role applies to the next request in an open session', async () => {
    const tenantId = await addTenant(testbed, 'Demoted')
    const boss = await signedInAs(testbed, 'DEALER_ADMIN', tenantId)
    const other = await signedInAs(testbed, 'DEALER_ADMIN', tenantId)
    await boss.call('PATCH', `/people/${other.personId}`, { role: 'DEALER_STAFF', ...REAUTHENTICATION })
    expect((await other.call('PATCH', `/tenants/${tenantId}/settings`, {})).status).toBe(401)
  })
})

describe('ids of other people', () => {
  it('another organisation’s alert cannot be marked as read', async () => {
    const [mine, theirs] = [await addTenant(testbed, 'Mine'), await addTenant(testbed, 'Theirs')]
    await testbed.db.tx(async (tx) => {
      createAlert(tx, testbed.deps.ids, { kind: 'LOW_BALANCE', tenantId: theirs, message: 'x' })
      createAlert(tx, testbed.deps.ids, { kind: 'TOP_UP_REQUESTED', tenantId: mine, message: 'x' })
    })
    const rows = await exec(`select alert_id from alerts where tenant_id = any($1)`, [mine, theirs])
    const noticeIds = rows.map((row) => row.alertId)
    const dealer = await signedInAs(testbed, 'DEALER_ADMIN', mine)
    expect((await dealer.call('POST', '/notices/read', { noticeIds })).status).toBe(200)
    const unread = `select 1 from alerts where alert_id = any($1) and read_at is null`
    expect(await exec(unread, noticeIds)).toHaveLength(2)
  })

  it('another person’s sessions and tokens cannot be deleted', async () => {
    const victim = await signedInAs(testbed, 'OPERATOR_ADMIN')
    const thief = await signedInAs(testbed, 'OPERATOR_ADMIN')
    const token = { name: 'theirs', scope: 'READ', days: 1, password: PASSWORD }
    const { tokenId } = (await victim.call('POST', '/account/tokens', token)).body
    const { sessions } = (await victim.call('GET', '/account/sessions')).body
    const absent = await thief.call('DELETE', `/account/sessions/${testbed.deps.ids.uuid()}`)
    expect(await thief.call('DELETE', `/account/sessions/${sessions[0].sessionId}`)).toMatchObject({
      status: 404,
      body: absent.body,
    })
    expect((await thief.call('DELETE', `/account/tokens/${tokenId}`)).status).toBe(404)
    expect((await victim.call('GET', '/account/tokens')).body.tokens).toHaveLength(1)
  })
})
