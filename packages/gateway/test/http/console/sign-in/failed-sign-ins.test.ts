import { TOTP } from 'otpauth'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { COUNTED_PER_MINUTE_MAX } from '#platform/audit/audit-count.ts'
import {
  addPerson,
  addTenant,
  browser,
  type ConsoleTestbed,
  PASSWORD,
  signedInAs,
  startConsole,
} from '../console-testbed.ts'

interface Entry {
  tenantId: string | null
  actor: string
  subject: string | null
  after: { reason?: string; count: number; others?: boolean; signedIn?: boolean; knownBrowser?: boolean }
  address: string | null
}

let testbed: ConsoleTestbed
let operator: Awaited<ReturnType<typeof signedInAs>>
let tenantId = ''
beforeAll(async () => {
  testbed = await startConsole()
  operator = await signedInAs(testbed, 'OPERATOR_READ_ONLY')
  tenantId = await addTenant(testbed, 'Guessed')
})
afterAll(() => testbed.stop())
// Each test has its own minute.
beforeEach(() => {
  testbed.clock.timeMs = Math.ceil((testbed.clock.timeMs + 1) / 60_000) * 60_000
})

/** Failed sign-ins since the start of the minute, as shown to a person. */
async function entriesFor(reader: typeof operator = operator): Promise<Entry[]> {
  const from = new Date(Math.floor(testbed.clock.timeMs / 60_000) * 60_000).toISOString()
  const { status, body } = await reader.call('GET', `/audit?action=person.fail_sign_in&from=${from}&limit=200`)
  expect(status).toBe(200)
  return body.entries
}

it('wrong passwords for a person are combined into one entry per minute, with a count', async () => {
  const { email } = await addPerson(testbed, 'DEALER_STAFF', tenantId)
  const stranger = browser(testbed.app)
  for (const guess of ['a wrong guess', 'my other password', 'a third one'])
    expect((await stranger.signIn(email, guess)).body.code).toBe('SIGN_IN_FAILED')
  const expected = {
    ...{ tenantId, actor: 'Not signed in', subject: email, address: stranger.address },
    after: { reason: 'PASSWORD', count: 3 },
  }
  expect(await entriesFor()).toMatchObject([expected])
  const admin = await signedInAs(testbed, 'DEALER_ADMIN', tenantId)
  expect(await entriesFor(admin)).toMatchObject([expected])
  testbed.clock.timeMs += 60_000
  await stranger.signIn(email, 'a fourth one')
  expect(await entriesFor()).toMatchObject([{ after: { count: 1 } }])
  const { body } = await operator.call('GET', '/audit.csv?action=person.fail_sign_in')
  for (const typed of ['guess', 'other password', 'third', 'fourth']) expect(body).not.toContain(typed)
})

it('sign-ins with unknown addresses are counted per network, without the entered text', async () => {
  const stranger = browser(testbed.app)
  for (const typed of ['nobody@people.test', 'My-Pass@word.1', 'other@people.test'])
    expect((await stranger.signIn(typed, 'whatever it is')).body.code).toBe('SIGN_IN_FAILED')
  const entries = await entriesFor()
  expect(entries).toMatchObject([
    { tenantId: null, subject: null, address: stranger.address, after: { reason: 'ADDRESS', count: 3 } },
  ])
  expect(JSON.stringify(entries)).not.toMatch(/nobody|word|other@/)
  const admin = await signedInAs(testbed, 'DEALER_ADMIN', tenantId)
  expect(await entriesFor(admin)).toEqual([])
})

it('an attack from many networks adds a limited number of entries, but every failure is counted', async () => {
  const attempts = COUNTED_PER_MINUTE_MAX - 5
  // Ten failures lock an address, and attempts refused after that no longer count as guesses.
  for (let i = 0; i < 12; i++) await browser(testbed.app).signIn('flooded@people.test', `guess ${i}`)
  for (let i = 0; i < attempts; i++) await browser(testbed.app).signIn(`nobody-${i}@people.test`, 'whatever it is')
  const entries = await entriesFor()
  expect(entries).toHaveLength(COUNTED_PER_MINUTE_MAX + 1)
  const others = entries.filter((entry) => entry.after.others)
  expect(others).toMatchObject([{ subject: null, address: null }])
  const counted = entries.reduce((sum, entry) => sum + entry.after.count, 0)
  expect(counted).toBe(10 + attempts)
})

it('concurrent failures are all counted', async () => {
  const { email } = await addPerson(testbed, 'OPERATOR_STAFF')
  const elsewhere = browser(testbed.app)
  await Promise.all(Array.from({ length: 8 }, (_, i) => browser(testbed.app).signIn(email, `guess ${i}`)))
  expect(await entriesFor()).toMatchObject([{ subject: email, after: { count: 8 } }])
  await elsewhere.signIn('nobody@elsewhere.test', 'whatever it is')
  expect((await entriesFor()).map((entry) => entry.address)).toContain(elsewhere.address)
})

it('a wrong code, a disabled person, a known browser and a signed-in person are distinguished', async () => {
  const person = await signedInAs(testbed, 'OPERATOR_STAFF')
  await person.window.signIn(person.email, 'a wrong guess')
  await person.call('POST', '/account/second-factor', { password: 'a wrong guess' })
  expect(await entriesFor()).toMatchObject(
    expect.arrayContaining([
      expect.objectContaining({ actor: 'Not signed in', after: { reason: 'PASSWORD', knownBrowser: true, count: 1 } }),
      expect.objectContaining({ actor: person.email, after: { reason: 'PASSWORD', signedIn: true, count: 1 } }),
    ]),
  )
  const { uri } = (await person.call('POST', '/account/second-factor', { password: PASSWORD })).body
  const secret = new URL(uri).searchParams.get('secret') ?? ''
  const code = new TOTP({ secret }).generate({ timestamp: testbed.clock.timeMs })
  await person.call('POST', '/account/second-factor/confirm', { code })
  await browser(testbed.app).signIn(person.email, PASSWORD, '000000')
  await testbed.db.query({ text: `update people set status = 'DISABLED' where email = $1`, values: [person.email] })
  await browser(testbed.app).signIn(person.email, PASSWORD)
  const reasons = (await entriesFor()).map(({ after }) => after.reason)
  expect(reasons.sort()).toEqual(['CODE', 'DISABLED', 'PASSWORD', 'PASSWORD'])
})
