import { afterAll, beforeAll, expect, it } from 'vitest'
import { addTenant, type ConsoleTestbed, REAUTHENTICATION, signedInAs, startConsole } from './console-testbed.ts'

let testbed: ConsoleTestbed
beforeAll(async () => {
  testbed = await startConsole()
})
afterAll(() => testbed.stop())

it('a reset without a grace period voids every older secret immediately', async () => {
  const tenantId = await addTenant(testbed, 'Reset')
  const owner = await signedInAs(testbed, 'DEALER_ADMIN', tenantId)
  const reset = (grace: object) =>
    owner.call('POST', `/tenants/${tenantId}/secret/reset`, { ...REAUTHENTICATION, ...grace })
  const validSecrets = () =>
    testbed.db.query({
      text: 'select from tenant_secrets where tenant_id = $1 and (valid_until is null or valid_until > now())',
      values: [tenantId],
    })
  await reset({})
  const withGrace = await reset({ grace_s: 86_400 })
  expect(Date.parse(withGrace.body.oldValidUntil)).toBeGreaterThan(Date.now() + 23 * 3_600_000)
  expect(await validSecrets()).toHaveLength(2)
  expect(await reset({})).toMatchObject({ status: 200, body: { oldValidUntil: null } })
  expect(await validSecrets()).toHaveLength(1)
  expect((await reset({ grace_s: 86_401 })).status).toBe(400)
})
