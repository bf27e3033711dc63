import { Secret } from 'otpauth'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { hashToken } from '#people/secret-token.ts'
import {
  addPerson,
  addTenant,
  browser,
  type ConsoleTestbed,
  PASSWORD,
  REAUTHENTICATION,
  signedInAs,
  startConsole,
} from '../console-testbed.ts'

let testbed: ConsoleTestbed
beforeAll(async () => {
  testbed = await startConsole({ config: { smtpUrl: 'smtp://127.0.0.1:1' } })
})
afterAll(() => testbed.stop())

const exec = <Row extends object>(text: string, ...values: unknown[]) => testbed.db.query<Row>({ text, values })
const forget = (email: string, window = browser(testbed.app)) => window.call('POST', '/forgotten-password', { email })

/** Waits until all work after the answers is done: until then, it holds or awaits a connection. */
async function waitForWork(): Promise<void> {
  const { pool } = testbed.deps.db
  await expect.poll(() => pool.totalCount - pool.idleCount + pool.waitingCount).toBe(0)
}

/** Requests a link and waits until the work that follows the answer is done. */
async function forgetAndWait(email: string): Promise<void> {
  const before = (await tokensMailedTo(email)).length
  await forget(email)
  await expect.poll(async () => (await tokensMailedTo(email)).length).toBe(before + 1)
}

/** The tokens of the links that were queued for an address, in order. */
async function tokensMailedTo(address: string): Promise<string[]> {
  const email = address.trim().toLowerCase()
  const rows = await exec<{ tenantId: string; content: Buffer }>(
    `select tenant_id, content from mails where recipient = $1 and kind = 'FORGOTTEN_PASSWORD' order by mail_id`,
    email,
  )
  return rows.map(({ tenantId, content }) => {
    const { text } = JSON.parse(testbed.deps.cipher.decrypt(content, tenantId).toString())
    return /#([\w-]{43})\n/.exec(text)![1]!
  })
}

describe('a forgotten password', () => {
  it('can be replaced once with the mailed link, which ends every session and token', async () => {
    const person = await signedInAs(testbed, 'OPERATOR_STAFF')
    const { email } = person
    const input = { name: 'script', scope: 'READ', days: 1, ...REAUTHENTICATION }
    const { token: access } = (await person.call('POST', '/account/tokens', input)).body
    await forgetAndWait(email)
    await forgetAndWait(` ${email.toUpperCase()} `)
    const [first = '', second = ''] = await tokensMailedTo(email)
    expect((await person.call('GET', '/session')).status).toBe(200)
    expect((await browser(testbed.app).signIn(email)).status).toBe(200)
    const set = (token: string, password = `${PASSWORD} 2`) =>
      browser(testbed.app).call('POST', '/link/password', { token, password })
    expect((await set(first)).status).toBe(200)
    expect((await set(first)).body.code).toBe('LINK_DEAD')
    expect((await set(second)).body.code).toBe('LINK_DEAD')
    expect((await person.call('GET', '/session')).status).toBe(401)
    const me = await testbed.app.inject({ url: '/console/api/me', headers: { authorization: `Bearer ${access}` } })
    expect(me.statusCode).toBe(401)
    expect((await browser(testbed.app).signIn(email)).status).toBe(401)
    expect((await browser(testbed.app).signIn(email, `${PASSWORD} 2`)).status).toBe(200)
    const actions = await exec<{ action: string }>(
      `select action from audit_log where subject = $1 and action like 'person.%password' order by audit_id`,
      email,
    )
    expect(actions.map(({ action }) => action)).toEqual([
      'person.forget_password',
      'person.forget_password',
      'person.reset_password',
    ])
  })

  it('is audited for the dealer with the caller’s address, as requested without a sign-in', async () => {
    const administrator = await signedInAs(testbed, 'DEALER_ADMIN', await addTenant(testbed, 'Forgetful'))
    await forgetAndWait(administrator.email)
    const { entries } = (await administrator.call('GET', '/audit?action=person.forget_password')).body
    expect(entries).toMatchObject([{ actor: 'Not signed in', address: expect.any(String), personId: null }])
  })

  it('gets the same answer for every address, before the work is done', async () => {
    const { email } = await addPerson(testbed, 'OPERATOR_STAFF')
    const disabled = await addPerson(testbed, 'OPERATOR_STAFF')
    await exec(`update people set status = 'DISABLED' where person_id = $1`, disabled.personId)
    const invited = await addPerson(testbed, 'OPERATOR_STAFF')
    await exec(`update people set password_hash = null where person_id = $1`, invited.personId)
    const others = ['nobody@people.test', disabled.email, invited.email]
    // While this transaction locks the people, any work on them waits, as with a slow database.
    await testbed.db.tx(async (tx) => {
      await tx.query({ text: 'lock table people in access exclusive mode' })
      for (const address of [email, ...others]) expect(await forget(address)).toMatchObject({ status: 200, body: {} })
    })
    await expect.poll(async () => (await tokensMailedTo(email)).length).toBe(1)
    for (const address of others) expect(await tokensMailedTo(address)).toEqual([])
  })

  it('gets the same answer if the work fails afterwards', async () => {
    const { email } = await addPerson(testbed, 'OPERATOR_STAFF')
    await exec('alter table person_links rename to person_links_away')
    const answer = await forget(email)
    await waitForWork()
    await exec('alter table person_links_away rename to person_links')
    expect(answer).toMatchObject({ status: 200, body: {} })
  })

  it('allows three links an hour per e-mail address and five answers a minute per caller', async () => {
    const { email } = await addPerson(testbed, 'OPERATOR_STAFF')
    await Promise.all(Array.from({ length: 8 }, () => forget(email)))
    await waitForWork()
    expect(await tokensMailedTo(email)).toHaveLength(3)
    const window = browser(testbed.app)
    const statuses = await Promise.all(Array.from({ length: 7 }, (_, at) => forget(`n${at}@people.test`, window)))
    expect(statuses.map(({ status }) => status).sort()).toEqual([200, 200, 200, 200, 200, 429, 429])
  })

  it('is replaced with a link that expires after an hour and is stored only as a hash', async () => {
    const { email, personId } = await addPerson(testbed, 'OPERATOR_STAFF')
    await forgetAndWait(email)
    const [token = ''] = await tokensMailedTo(email)
    const [link] = await exec<{ hash: Buffer; minutes: number }>(
      `select token_hash as hash, round(extract(epoch from expires_at - now()) / 60)::int as minutes
       from person_links where person_id = $1`,
      personId,
    )
    expect(link).toEqual({ hash: hashToken(token), minutes: 60 })
    await exec(`update person_links set expires_at = now() where person_id = $1`, personId)
    const answer = await browser(testbed.app).call('POST', '/link/password', { token, password: `${PASSWORD} 2` })
    expect(answer.body.code).toBe('LINK_DEAD')
  })

  it('can be reported by a stranger without voiding an administrator’s link', async () => {
    const admin = await signedInAs(testbed, 'OPERATOR_ADMIN')
    const { email, personId } = await addPerson(testbed, 'OPERATOR_STAFF')
    const { link } = (await admin.call('POST', `/people/${personId}/link`, REAUTHENTICATION)).body
    await forgetAndWait(email)
    const token = new URL(link).hash.slice(1)
    expect((await browser(testbed.app).call('POST', '/link', { token })).status).toBe(200)
  })

  it('still requires the second factor after the reset', async () => {
    const { email, personId } = await addPerson(testbed, 'OPERATOR_STAFF')
    await exec(
      `update people set totp_secret = $2, totp_confirmed = true where person_id = $1`,
      personId,
      testbed.deps.cipher.encrypt(new Secret().base32, personId),
    )
    await forgetAndWait(email)
    const [token = ''] = await tokensMailedTo(email)
    const password = `${PASSWORD} 2`
    const window = browser(testbed.app)
    expect((await window.call('POST', '/link/password', { token, password })).headers['set-cookie']).toBeUndefined()
    expect((await window.signIn(email, password)).body.code).toBe('CODE_REQUIRED')
  })

  it('cannot be reported from a foreign page, and without a mail server the answer says whom to ask', async () => {
    const window = browser(testbed.app)
    window.headers.origin = 'https://evil.test'
    expect((await forget('a@people.test', window)).body.code).toBe('FOREIGN_ORIGIN')
    const silent = await startConsole()
    const answer = await browser(silent.app).call('POST', '/forgotten-password', { email: 'a@people.test' })
    expect(answer.body).toMatchObject({ code: 'MAIL_OFF', message: expect.stringContaining('administrator') })
    expect((await browser(silent.app).call('GET', '/sign-in-options')).body).toMatchObject({ mail: false })
    await silent.stop()
  })
})
