import { TOTP } from 'otpauth'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { notify } from '../../src/alerts/alerts.ts'
import { routes } from '../../src/console-api/routes.ts'
import { waitForBlockedStatements } from '../harness/databases/statements.ts'
import { addPackage } from '../harness/shop.ts'
import {
  addPerson,
  addTenant,
  browser,
  type ConsoleApp,
  ORIGIN,
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

/** Lets a call wait at a person's row once it has proved the password, changes the row meanwhile, and lets it go on. */
async function overtaken<Answer>(personId: string, change: string, call: () => Promise<Answer>): Promise<Answer> {
  const { answer } = await room.db.tx(async (tx) => {
    await tx.query({ text: 'select 1 from people where person_id = $1 for update', values: [personId] })
    const answer = call()
    await waitForBlockedStatements(room.db)
    await tx.query({ text: change, values: [personId] })
    return { answer }
  })
  return answer
}

const exec = (text: string, ...values: unknown[]) => room.db.query<Record<string, unknown>>({ text, values })

describe('another site', () => {
  it('changes nothing by a form that brings the cookie, nor where a proxy adds a password of its own', async () => {
    const person = await signedInAs(room, 'OPERATOR_ADMIN')
    for (const authorization of [undefined, 'Basic dTpw', 'Bearer', 'Digest x']) {
      const answer = await room.app.inject({
        method: 'DELETE',
        url: '/console/api/account/sessions',
        headers: { cookie: person.window.cookie, origin: 'https://evil.test', ...(authorization && { authorization }) },
      })
      expect([authorization, answer.statusCode]).toEqual([authorization, 403])
    }
  })

  it('cannot have an answer taken for a page', async () => {
    const { headers } = await browser(room.app).call('GET', '/session')
    expect(headers).toMatchObject({
      'x-content-type-options': 'nosniff',
      'cache-control': 'no-store',
      'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
    })
    expect(headers['access-control-allow-origin']).toBeUndefined()
  })
})

describe('a session', () => {
  it('is made anew by every sign-in: one that was planted before is worth nothing', async () => {
    const planted = '__Host-console=planted-by-somebody-who-knows-it'
    const victim = await signedInAs(room, 'OPERATOR_STAFF')
    const answer = await room.app.inject({
      method: 'POST',
      url: '/console/api/session',
      remoteAddress: '10.9.9.9',
      headers: { origin: ORIGIN, cookie: planted },
      payload: { email: victim.email, password: PASSWORD },
    })
    expect(String(answer.headers['set-cookie'])).not.toContain('planted')
    const stolen = await room.app.inject({ url: '/console/api/session', headers: { cookie: planted } })
    expect(stolen.statusCode).toBe(401)
  })

  it('ends with a change of the password, but for the one that asked, and with its own days', async () => {
    const here = await signedInAs(room, 'DEALER_STAFF', await addTenant(room, 'Sessions'))
    const there = browser(room.app)
    await there.signIn(here.email)
    const body = { password: PASSWORD, newPassword: `${PASSWORD} new` }
    expect((await here.call('POST', '/account/password', body)).status).toBe(200)
    expect((await there.call('GET', '/session')).status).toBe(401)
    expect((await here.call('GET', '/session')).status).toBe(200)
    await exec(`update sessions set seen_at = now() - interval '13 hours' where person_id = $1`, here.personId)
    expect((await here.call('GET', '/session')).status).toBe(401)
  })

  it('that is only polled ends like one that nobody asks for, and one that is used does not', async () => {
    const left = await signedInAs(room, 'OPERATOR_STAFF')
    const used = await signedInAs(room, 'OPERATOR_STAFF')
    left.headers['x-unattended'] = 'true'
    const sevenHoursLater = `update sessions set seen_at = seen_at - interval '7 hours' where person_id = any ($1)`
    const statuses: number[] = []
    for (let round = 0; round < 2; round++) {
      await exec(sevenHoursLater, [left.personId, used.personId])
      for (const person of [left, used]) statuses.push((await person.call('GET', '/session')).status)
    }
    expect(statuses).toEqual([200, 200, 401, 200])
  })

  it('that was stolen makes no access token: that takes the password', async () => {
    const person = await signedInAs(room, 'OPERATOR_STAFF')
    const wish = { name: 'to stay', scope: 'WRITE', days: 365 }
    expect((await person.call('POST', '/account/tokens', wish)).status).toBe(400)
    const guess = await person.call('POST', '/account/tokens', { ...wish, password: 'a guess' })
    expect(guess).toMatchObject({ status: 422, body: { code: 'PASSWORD_WRONG' } })
  })
})

describe('access tokens', () => {
  it('end on their day, and with a password that was reset', async () => {
    const admin = await signedInAs(room, 'OPERATOR_ADMIN')
    const person = await signedInAs(room, 'OPERATOR_STAFF')
    const make = async () => {
      const body = { name: 'script', scope: 'READ', days: 1, password: PASSWORD }
      return (await person.call('POST', '/account/tokens', body)).body.token as string
    }
    const status = async (token: string) =>
      (await room.app.inject({ url: '/console/api/me', headers: { authorization: `Bearer ${token}` } })).statusCode
    const old = await make()
    expect(await status(old)).toBe(200)
    await exec(`update access_tokens set expires_at = now() where person_id = $1`, person.personId)
    expect(await status(old)).toBe(401)
    const fresh = await make()
    const { body } = await admin.call('POST', `/people/${person.personId}/link`, PROOF)
    const token = new URL(body.link).hash.slice(1)
    await browser(room.app).call('POST', '/link/password', { token, password: `${PASSWORD} again` })
    expect(await status(fresh)).toBe(401)
  })
})

describe('a link', () => {
  it('is dead once it is too old, replaced, or of somebody who was disabled', async () => {
    const admin = await signedInAs(room, 'OPERATOR_ADMIN')
    const person = await signedInAs(room, 'OPERATOR_STAFF')
    const link = async () =>
      new URL((await admin.call('POST', `/people/${person.personId}/link`, PROOF)).body.link).hash.slice(1)
    const tries = async (token: string) => {
      const window = browser(room.app)
      const read = await window.call('POST', '/link', { token })
      const set = await window.call('POST', '/link/password', { token, password: `${PASSWORD} 2` })
      return [read.status, set.status, set.body.code]
    }
    const DEAD = [404, 404, 'LINK_DEAD']
    const replaced = await link()
    const old = await link()
    expect(await tries(replaced)).toEqual(DEAD)
    await exec(`update person_links set expires_at = now() where person_id = $1`, person.personId)
    expect(await tries(old)).toEqual(DEAD)
    const last = await link()
    await admin.call('PATCH', `/people/${person.personId}`, { status: 'DISABLED', ...PROOF })
    expect(await tries(last)).toEqual(DEAD)
  })
})

describe('a password that is set by a link', () => {
  it('overtakes whoever has just proved the old one: no session, password, token or person comes of that', async () => {
    const tenantId = await addTenant(room, 'Overtaken')
    const thief = await signedInAs(room, 'DEALER_ADMIN', tenantId)
    const token = { name: 'to stay', scope: 'WRITE', days: 365, password: PASSWORD }
    const change = { password: PASSWORD, newPassword: `${PASSWORD} of the thief` }
    const friend = { email: 'friend@thief.test', name: 'Friend', role: 'DEALER_ADMIN', tenantId, ...PROOF }
    const calls = [
      () => browser(room.app).signIn(thief.email),
      () => thief.call('POST', '/account/password', change),
      () => thief.call('POST', '/account/tokens', token),
      () => thief.call('POST', '/people', friend),
    ]
    const by = `update people set password_hash = 'by the link' where person_id = $1`
    const codes: string[] = []
    for (const call of calls) {
      const [{ old } = { old: '' }] = await exec(
        `select password_hash as old from people where person_id = $1`,
        thief.personId,
      )
      codes.push((await overtaken(thief.personId, by, call)).body.code)
      await exec(
        `update people set password_hash = $2 where person_id = $1 and password_hash = 'by the link'`,
        thief.personId,
        old,
      )
    }
    expect(codes).toEqual(['SIGN_IN_FAILED', 'PASSWORD_WRONG', 'SIGNED_OUT', 'SIGNED_OUT'])
    expect(await exec('select 1 from people where tenant_id = $1', tenantId)).toHaveLength(1)
    const [held] = await exec(
      `select (select count(*) from sessions where person_id = $1)::int as sessions,
              (select count(*) from access_tokens where person_id = $1)::int as tokens`,
      thief.personId,
    )
    expect(held).toEqual({ sessions: 1, tokens: 0 })
    expect((await browser(room.app).signIn(thief.email)).status).toBe(200)
  })

  it('is set once, however many use the link at the same time', async () => {
    const admin = await signedInAs(room, 'OPERATOR_ADMIN')
    const person = await signedInAs(room, 'OPERATOR_STAFF')
    const { body } = await admin.call('POST', `/people/${person.personId}/link`, PROOF)
    const token = new URL(body.link).hash.slice(1)
    const passwords = [1, 2, 3].map((n) => `${PASSWORD} ${n}`)
    const set = await Promise.all(
      passwords.map((password) => browser(room.app).call('POST', '/link/password', { token, password })),
    )
    expect(set.map((answer) => answer.status).sort()).toEqual([200, 404, 404])
    const winner = passwords[set.findIndex((answer) => answer.status === 200)]
    expect((await browser(room.app).signIn(person.email, winner)).status).toBe(200)
  })
})

describe('a second factor', () => {
  it('that was turned on in one tab is not replaced from another, nor are its recovery codes', async () => {
    const person = await signedInAs(room, 'OPERATOR_STAFF')
    const begin = () => person.call('POST', '/account/second-factor', { password: PASSWORD })
    const { body } = await begin()
    const confirm = `update people set totp_confirmed = true where person_id = $1`
    const other = await overtaken(person.personId, confirm, begin)
    expect(other).toMatchObject({ status: 409, body: { code: 'SECOND_FACTOR_SET' } })
    const code = new TOTP({ secret: body.secret }).generate({ timestamp: room.clock.timeMs })
    const again = await person.call('POST', '/account/second-factor/confirm', { code })
    expect(again).toMatchObject({ status: 409, body: { code: 'SECOND_FACTOR_SET' } })
    expect((await browser(room.app).signIn(person.email, PASSWORD, code)).status).toBe(200)
  })
})

describe('a stolen session of an administrator', () => {
  it('neither takes the account over by a link of its own, nor takes the second factor away', async () => {
    for (const admin of [
      await signedInAs(room, 'OPERATOR_ADMIN'),
      await signedInAs(room, 'DEALER_ADMIN', await addTenant(room, 'Stolen')),
    ]) {
      const own = `/people/${admin.personId}`
      const link = await admin.call('POST', `${own}/link`, PROOF)
      expect(link).toMatchObject({ status: 422, body: { code: 'OWN_ACCOUNT' } })
      expect((await admin.call('POST', `${own}/second-factor/remove`, PROOF)).body.code).toBe('OWN_ACCOUNT')
    }
  })

  it('makes nobody who outlives it: whoever is let in, kept out or given a role is so by the password', async () => {
    for (const [role, tenantId] of [
      ['OPERATOR_ADMIN', null],
      ['DEALER_ADMIN', await addTenant(room, 'Lasting')],
    ] as const) {
      const admin = await signedInAs(room, role, tenantId)
      const { personId } = await addPerson(room, role, tenantId)
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
        const unproven = await admin.call(method, path, body)
        const missing = method === 'PATCH' ? [422, 'PASSWORD_REQUIRED'] : [400, 'REQUEST_INVALID']
        expect([path, unproven.status, unproven.body.code]).toEqual([path, ...missing])
        const guess = await admin.call(method, path, { ...body, password: 'a guess' })
        expect([path, guess.status, guess.body.code]).toEqual([path, 422, 'PASSWORD_WRONG'])
      }
      expect(await everybody()).toEqual(before)
      expect((await admin.call('PATCH', theirs, { name: 'Renamed' })).status).toBe(200)
      for (const [method, path, body] of calls)
        expect([path, (await admin.call(method, path, { ...body, ...PROOF })).status]).toEqual([path, 200])
    }
    const written = await exec('select 1 from audit_log where strpos(audit_log::text, $1) > 0', PASSWORD)
    expect(written).toEqual([])
  })
})

describe('whoever was disabled', () => {
  it('comes back, if at all, without the tokens and links of before', async () => {
    const admin = await signedInAs(room, 'OPERATOR_ADMIN')
    const person = await signedInAs(room, 'OPERATOR_STAFF')
    const wish = { name: 'script', scope: 'READ', days: 1, password: PASSWORD }
    const { token } = (await person.call('POST', '/account/tokens', wish)).body
    const { link } = (await admin.call('POST', `/people/${person.personId}/link`, PROOF)).body
    for (const status of ['DISABLED', 'ACTIVE'])
      await admin.call('PATCH', `/people/${person.personId}`, { status, ...PROOF })
    const headers = { authorization: `Bearer ${token}` }
    expect((await room.app.inject({ url: '/console/api/me', headers })).statusCode).toBe(401)
    const read = await browser(room.app).call('POST', '/link', { token: new URL(link).hash.slice(1) })
    expect(read.body.code).toBe('LINK_DEAD')
  })
})

describe('a role', () => {
  it('cannot be raised out of the organisation, whoever asks', async () => {
    const tenantId = await addTenant(room, 'Climbers')
    const staff = await signedInAs(room, 'DEALER_STAFF', tenantId)
    const admin = await signedInAs(room, 'DEALER_ADMIN', tenantId)
    const operator = await signedInAs(room, 'OPERATOR_STAFF')
    const change = { role: 'OPERATOR_ADMIN', ...PROOF }
    for (const by of [admin, operator])
      expect((await by.call('PATCH', `/people/${staff.personId}`, change)).body.code).toBe('ROLE_ELSEWHERE')
    for (const body of [{ role: 'DEALER_ADMIN' }, { status: 'DISABLED' }])
      expect((await staff.call('PATCH', `/people/${staff.personId}`, body)).status).toBe(403)
    const invitation = { email: 'friend@climbers.test', name: 'F', tenantId: null, role: 'OPERATOR_ADMIN', ...PROOF }
    expect((await operator.call('POST', '/people', invitation)).status).toBe(403)
    const wrongOrganisation = { ...invitation, tenantId, role: 'OPERATOR_STAFF' }
    expect((await admin.call('POST', '/people', wrongOrganisation)).body.code).toBe('ROLE_ELSEWHERE')
    expect((await operator.call('POST', `/people/${operator.personId}/link`, PROOF)).status).toBe(403)
  })

  it('that was taken holds for the next request of an open session', async () => {
    const tenantId = await addTenant(room, 'Demoted')
    const boss = await signedInAs(room, 'DEALER_ADMIN', tenantId)
    const other = await signedInAs(room, 'DEALER_ADMIN', tenantId)
    await boss.call('PATCH', `/people/${other.personId}`, { role: 'DEALER_STAFF', ...PROOF })
    expect((await other.call('PATCH', `/tenants/${tenantId}/settings`, {})).status).toBe(401)
  })
})

describe('a file for a spreadsheet', () => {
  it('holds no formula that somebody wrote into a text, whichever route answers it', async () => {
    const FORMULA = '=HYPERLINK("https://evil.test","click")'
    const tenantId = await addTenant(room, 'Sheets')
    const operator = await signedInAs(room, 'OPERATOR_ADMIN')
    await operator.call('POST', `/tenants/${tenantId}/wallet/top-ups`, { amount: 1, reference: FORMULA, reason: '@x' })
    const inner = { amount: 1, reference: 'a;=WEBSERVICE("x")', reason: 'b;"+2' }
    await operator.call('POST', `/tenants/${tenantId}/wallet/top-ups`, inner)
    await addPackage(room.db, 'JP', [{ supplier: 'sandbox', productCode: 'JP' }])
    await exec(`update packages set name = $1, description = $2`, FORMULA, "'=1;=2\n=3\t@4")
    const networks = [
      { locationCode: 'JP', locationName: 'Japan', operatorList: [{ operatorName: 'x;=1', networkType: '5G' }] },
    ]
    await exec(`update coverages set location_networks = $1`, JSON.stringify(networks))
    const month = new Date().toISOString().slice(0, 7)
    const files = routes.filter((route) => route.answerType === 'text/csv')
    expect(files.length).toBeGreaterThan(2)
    for (const { path } of files) {
      const query = path.includes('wallet') ? `?month=${month}` : ''
      const file = String((await operator.call('GET', path.replace(':tenantId', tenantId) + query)).body)
      expect([path, file.includes('HYPERLINK')]).toEqual([path, true])
      // What a spreadsheet takes for a formula begins a cell: at a line's start or a separator, of which some countries
      // have another one, quoted or not. Only amounts begin with a minus.
      expect([path, /(^|[,;\t])"*([=+@]|-(?!\d))/m.exec(file)?.[0]]).toEqual([path, undefined])
    }
    const imported = await room.app.inject({
      method: 'POST',
      url: '/console/api/packages/import?dryRun=true',
      headers: { origin: ORIGIN, cookie: operator.window.cookie, 'content-type': 'text/csv' },
      payload: String((await operator.call('GET', '/packages.csv')).body),
    })
    expect(imported.json()).toMatchObject({ rows: 1, unchanged: 1, errorRows: 0 })
  })
})

describe('an address of a person', () => {
  it.each([
    ...['a;=1@people.test', 'a@people.test,@x', 'A<a@people.test>', '"a"@people.test', 'a(b)@people.test'],
    ...['\u001b]0;a@people.test', 'a@people.test\u0007', 'a\u009b2J@people.test', 'a\u202e@people.test'],
  ])('has no sign that separates, quotes or begins a formula, and none that a terminal obeys (%j)', async (email) => {
    const operator = await signedInAs(room, 'OPERATOR_ADMIN')
    const invitation = { email, name: 'F', tenantId: null, role: 'OPERATOR_STAFF', ...PROOF }
    expect((await operator.call('POST', '/people', invitation)).status).toBe(400)
  })
})

describe('ids of others', () => {
  it('mark no notice of another organisation as read', async () => {
    const [mine, theirs] = [await addTenant(room, 'Mine'), await addTenant(room, 'Theirs')]
    const base = { kind: 'LOW_BALANCE', message: 'x', data: {} } as const
    await room.db.tx(async (tx) => {
      notify(tx, room.deps.ids, { ...base, tenantId: theirs, audience: 'TENANT' })
      notify(tx, room.deps.ids, { ...base, tenantId: mine, audience: 'OPERATOR' })
    })
    const rows = await exec(`select alert_id from alerts where tenant_id = any($1)`, [mine, theirs])
    const noticeIds = rows.map((row) => row.alertId)
    const dealer = await signedInAs(room, 'DEALER_ADMIN', mine)
    expect((await dealer.call('POST', '/notices/read', { noticeIds })).status).toBe(200)
    const unread = `select 1 from alerts where alert_id = any($1) and read_at is null`
    expect(await exec(unread, noticeIds)).toHaveLength(2)
  })

  it('end no session and delete no token but one’s own', async () => {
    const victim = await signedInAs(room, 'OPERATOR_ADMIN')
    const thief = await signedInAs(room, 'OPERATOR_ADMIN')
    const token = { name: 'theirs', scope: 'READ', days: 1, password: PASSWORD }
    const { tokenId } = (await victim.call('POST', '/account/tokens', token)).body
    const { sessions } = (await victim.call('GET', '/account/sessions')).body
    const absent = await thief.call('DELETE', `/account/sessions/${room.deps.ids.uuid()}`)
    expect(await thief.call('DELETE', `/account/sessions/${sessions[0].sessionId}`)).toMatchObject({
      status: 404,
      body: absent.body,
    })
    expect((await thief.call('DELETE', `/account/tokens/${tokenId}`)).status).toBe(404)
    expect((await victim.call('GET', '/account/tokens')).body.tokens).toHaveLength(1)
  })
})
