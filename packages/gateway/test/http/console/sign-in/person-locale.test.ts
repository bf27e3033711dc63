import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { addTenant, type ConsoleTestbed, signedInAs, startConsole } from '../console-testbed.ts'

let testbed: ConsoleTestbed
beforeAll(async () => {
  testbed = await startConsole()
})
afterAll(() => testbed.stop())

describe('the language and the time zone of a person', () => {
  const chosen = { language: 'zh-Hans', timeZone: 'Asia/Shanghai' }
  const byBrowser = { language: null, timeZone: null }

  it('are the browser’s until the person chooses, and can be so again', async () => {
    const person = await signedInAs(testbed, 'DEALER_STAFF', await addTenant(testbed, 'Readers'))
    const other = await signedInAs(testbed, 'OPERATOR_STAFF')
    expect((await person.call('GET', '/session')).body).toMatchObject(byBrowser)
    for (const locale of [chosen, byBrowser]) {
      expect((await person.call('PUT', '/account/locale', locale)).status).toBe(200)
      expect((await person.call('GET', '/session')).body).toMatchObject(locale)
    }
    expect((await other.call('GET', '/session')).body).toMatchObject(byBrowser)
  })

  it.each([
    { ...chosen, timeZone: 'Mars/Olympus' },
    { ...chosen, timeZone: '' },
    { ...chosen, language: 'zh-Hans; drop' },
    { ...chosen, language: '' },
    { language: 'zh-Hans' },
  ])('are refused if malformed or unknown: %j', async (locale) => {
    const person = await signedInAs(testbed, 'OPERATOR_STAFF')
    expect((await person.call('PUT', '/account/locale', locale)).status).toBeGreaterThanOrEqual(400)
    expect((await person.call('GET', '/session')).body).toMatchObject(byBrowser)
  })
})
