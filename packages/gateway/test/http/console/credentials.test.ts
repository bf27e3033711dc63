import { afterAll, beforeAll, expect, it } from 'vitest'
import { createKey } from '#tenants/keys/manage-keys.ts'
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

it('a dealer’s administrator and the operator say whether its programs sell, and it changes no access', async () => {
  const operator = await signedInAs(testbed, 'OPERATOR_STAFF')
  const made = { clientName: 'Shop', currencyCode: 'USD' }
  const { tenantId } = (await operator.call('POST', '/tenants', { ...made, sellsThrough: 'PORTAL' })).body
  const byDefault = (await operator.call('POST', '/tenants', made)).body.tenantId
  expect((await operator.call('GET', `/tenants/${byDefault}`)).body.sellsThrough).toBe('API')
  const [owner, clerk] = [
    await signedInAs(testbed, 'DEALER_ADMIN', tenantId),
    await signedInAs(testbed, 'DEALER_STAFF', tenantId),
  ]
  const stranger = await signedInAs(testbed, 'DEALER_ADMIN', byDefault)
  const seen = async () => (await clerk.call('GET', '/session')).body.tenant.sellsThrough
  const change = async ({ call }: typeof owner, sellsThrough: string) =>
    (await call('PATCH', `/tenants/${tenantId}/settings`, { sellsThrough })).status
  expect(await seen()).toBe('PORTAL')
  expect((await owner.call('POST', `/tenants/${tenantId}/secret/view`, REAUTHENTICATION)).status).toBe(200)
  expect(await change(clerk, 'API')).toBe(403)
  expect(await change(stranger, 'API')).toBe(404)
  expect(await change(owner, 'SHOP')).toBe(400)
  expect(await seen()).toBe('PORTAL')
  expect(await change(owner, 'API')).toBe(200)
  expect(await seen()).toBe('API')
  const { entries } = (await owner.call('GET', '/audit?action=tenant.set')).body
  expect(entries).toMatchObject([{ before: { sellsThrough: 'PORTAL' }, after: { sellsThrough: 'API' } }])
  expect(await change(operator, 'PORTAL')).toBe(200)
  expect(await seen()).toBe('PORTAL')
})

it('the finder leads operators from the AppKey of a restricted key to its dealer, and shows dealers nothing', async () => {
  const tenantId = await addTenant(testbed, 'Has keys')
  const { appKey } = await createKey(testbed.deps, tenantId, { label: 'shop' }, { actor: 'cli:tester' })
  const operator = await signedInAs(testbed, 'OPERATOR_READ_ONLY', null)
  const { results } = (await operator.call('GET', `/search?q=${appKey}`)).body
  expect(results).toMatchObject([{ kind: 'TENANT', label: 'Has keys', to: `/tenants/${tenantId}` }])
  const stranger = await signedInAs(testbed, 'DEALER_ADMIN', await addTenant(testbed, 'Other'))
  expect((await stranger.call('GET', `/search?q=${appKey}`)).body.results).toEqual([])
})
