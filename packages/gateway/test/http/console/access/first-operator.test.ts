import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ensureFirstOperator, FIRST_OPERATOR } from '#people/manage-people.ts'
import { browser, type ConsoleTestbed, PASSWORD, startConsole } from '../console-testbed.ts'

let testbed: ConsoleTestbed
beforeAll(async () => {
  testbed = await startConsole()
})
afterAll(() => testbed.stop())

describe('the first operator', () => {
  it('the link printed by a local gateway signs in once, and the printed password stays valid', async () => {
    const password = await ensureFirstOperator(testbed.deps)
    const { ids, localSignIn } = testbed.deps
    const open = (token: string) => browser(testbed.app).call('POST', '/session/local', { token })
    expect(await open('A'.repeat(43))).toMatchObject({ status: 422, body: { code: 'LINK_DEAD' } })
    const older = localSignIn.issue(ids)
    const token = localSignIn.issue(ids)
    const answers = await Promise.all([older, token, token].map(open))
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 422, 422])
    expect(answers.find(({ status }) => status === 200)?.body).toMatchObject({ passwordChangeRequired: false })
    expect(await browser(testbed.app).signIn(FIRST_OPERATOR, password!)).toMatchObject({ status: 200 })
    await testbed.db.query({ text: 'update people set password_change_required = true' })
  })

  it('the printed link does not bypass the second factor', async () => {
    await testbed.db.query({ text: `update people set totp_secret = 'x'::bytea, totp_confirmed = true` })
    const token = testbed.deps.localSignIn.issue(testbed.deps.ids)
    const refused = await browser(testbed.app).call('POST', '/session/local', { token })
    expect(refused).toMatchObject({ status: 422, body: { code: 'LINK_DEAD' } })
    await testbed.db.query({ text: 'delete from people' })
  })

  it('the first operator is created once, and must choose a password before anything else', async () => {
    const password = await ensureFirstOperator(testbed.deps)
    expect(await ensureFirstOperator(testbed.deps)).toBeUndefined()
    const window = browser(testbed.app)
    const signedIn = await window.signIn(FIRST_OPERATOR, password!)
    expect(signedIn).toMatchObject({ status: 200, body: { passwordChangeRequired: true, role: 'OPERATOR_ADMIN' } })
    expect(await window.call('GET', '/people')).toMatchObject({
      status: 403,
      body: { code: 'PASSWORD_CHANGE_REQUIRED' },
    })
    const body = { password, newPassword: PASSWORD }
    expect((await window.call('POST', '/account/password', body)).status).toBe(200)
    expect((await window.call('GET', '/people')).status).toBe(200)
    expect((await browser(testbed.app).signIn(FIRST_OPERATOR, password!)).status).toBe(401)
  })
})
