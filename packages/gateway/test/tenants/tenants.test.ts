import sql from 'sql-template-tag'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { resetSecret, viewSecret } from '#tenants/app-secret.ts'
import { resumeTenant, suspendTenant } from '#tenants/change-tenant.ts'
import { createTenant } from '#tenants/create-tenant.ts'
import { findTenant, type Tenant } from '#tenants/tenant.ts'
import { changeSettings, type SettingsInput } from '#tenants/tenant-settings.ts'
import { getTenantView, listAllTenants, listTenants } from '#tenants/tenant-views.ts'
import { ALICE, createWalletTestbed } from '../harness/wallets.ts'

const NOBODY = '01a1fd66-89b3-76be-9561-3150f6a29e7a'
const HOUR_MS = 3_600_000

let money: Awaited<ReturnType<typeof createWalletTestbed>>
beforeAll(async () => {
  money = await createWalletTestbed()
})
afterAll(() => money.close())

const load = async (tenantId: string): Promise<Tenant> =>
  (await findTenant(money.db, money.deps.cipher, { tenantId })) as Tenant
const auditOf = (tenantId: string, action: string) =>
  money.db.query<{ actor: string; before: unknown; after: unknown }>(sql`
    select actor, before, after from audit_log where tenant_id = ${tenantId} and action = ${action} order by audit_id`)
const verifying = async (tenantId: string) => (await load(tenantId)).secrets.map((secret) => secret.secret)
/** Pretends that this much time has passed. */
const endGrace = (tenantId: string) =>
  money.db.query(sql`
    update tenant_secrets set valid_until = now() where tenant_id = ${tenantId} and valid_until is not null`)

describe('a new tenant', () => {
  test('has credentials in the documented form and an empty wallet, and is found by its AppKey and its id', async () => {
    const input = { clientName: ' Acme Travel ', currencyCode: 'EUR' }
    const { tenantId, appKey, appSecret } = await createTenant(money.deps, input, ALICE)
    expect(appKey).toMatch(/^ak_main_[A-Za-z0-9]{24}$/)
    expect(Buffer.from(appSecret, 'base64url')).toHaveLength(32)
    const tenant = await load(tenantId)
    expect(tenant).toMatchObject({ appKey, clientName: 'Acme Travel', currencyCode: 'EUR', status: 'ACTIVE' })
    expect(tenant.secrets).toMatchObject([{ secret: appSecret, validUntilMs: null, provenAtMs: null }])
    expect(await findTenant(money.db, money.deps.cipher, { appKey })).toEqual(tenant)
    expect(await getTenantView(money.deps, tenantId)).toMatchObject({ balance: 0n, creditLimit: 0n, qpsLimit: null })
  })

  test.each([
    [{ clientName: ' ', currencyCode: 'USD' }, 'NAME_INVALID'],
    [{ clientName: 'x'.repeat(101), currencyCode: 'USD' }, 'NAME_INVALID'],
    [{ clientName: 'a\u0000b', currencyCode: 'USD' }, 'NAME_INVALID'],
    [{ clientName: 'Acme', currencyCode: 'usd' }, 'CURRENCY_UNKNOWN'],
    [{ clientName: 'Acme', currencyCode: 'ZZZ' }, 'CURRENCY_UNKNOWN'],
  ])('is not created with invalid input: %o', async (input, code) => {
    await expect(createTenant(money.deps, input, ALICE)).rejects.toMatchObject({ code })
  })

  test('has no readable secret in the database or in the audit log', async () => {
    const { tenantId, appSecret } = await money.tenant()
    const reset = await resetSecret(money.deps, tenantId, { graceMs: HOUR_MS }, ALICE)
    await viewSecret(money.deps, tenantId, ALICE)
    const [dump] = await money.db.query<{ text: string }>(sql`
      select (select string_agg(a::text, '') from audit_log a where tenant_id = ${tenantId})
        || (select string_agg(s::text || encode(ciphertext, 'escape'), '') from tenant_secrets s
            where tenant_id = ${tenantId}) as text`)
    expect(dump!.text).toContain('tenant.create')
    for (const secret of [appSecret, reset.appSecret]) expect(dump!.text).not.toContain(secret)
  })
})

describe('a secret reset', () => {
  test('without a grace period leaves only the new secret', async () => {
    const { tenantId, appSecret } = await money.tenant()
    const reset = await resetSecret(money.deps, tenantId, { graceMs: 0 }, ALICE)
    expect(reset).toMatchObject({ oldValidUntil: null })
    expect(reset.appSecret).not.toBe(appSecret)
    expect(await verifying(tenantId)).toEqual([reset.appSecret])
  })

  test('with a grace period keeps the old secret after the new one until the period ends', async () => {
    const { tenantId, appSecret } = await money.tenant()
    const beforeMs = Date.now()
    const reset = await resetSecret(money.deps, tenantId, { graceMs: HOUR_MS }, ALICE)
    expect(await verifying(tenantId)).toEqual([reset.appSecret, appSecret])
    const untilMs = reset.oldValidUntil!.getTime()
    expect(untilMs - beforeMs).toBeGreaterThanOrEqual(HOUR_MS - 1_000)
    expect(untilMs - beforeMs).toBeLessThan(HOUR_MS + 10_000)
    expect((await load(tenantId)).secrets[1]!.validUntilMs).toBe(untilMs)
    await endGrace(tenantId)
    expect(await verifying(tenantId)).toEqual([reset.appSecret])
  })

  test('ends an older grace period, so that at most two secrets verify', async () => {
    const { tenantId } = await money.tenant()
    const second = await resetSecret(money.deps, tenantId, { graceMs: 24 * HOUR_MS }, ALICE)
    const third = await resetSecret(money.deps, tenantId, { graceMs: 1_000 }, ALICE)
    expect(await verifying(tenantId)).toEqual([third.appSecret, second.appSecret])
  })

  test('with a tenant id in upper case encrypts and audits under the stored form of the id', async () => {
    const { tenantId } = await money.tenant()
    const { appSecret } = await resetSecret(money.deps, tenantId.toUpperCase(), { graceMs: 0 }, ALICE)
    expect(await verifying(tenantId)).toEqual([appSecret])
    const entries = await money.db.query(sql`
      select from audit_log where action = 'tenant.reset_secret' and subject = ${tenantId}`)
    expect(entries).toHaveLength(1)
  })

  test('without a grace period ends every earlier grace period', async () => {
    const { tenantId } = await money.tenant()
    await resetSecret(money.deps, tenantId, { graceMs: HOUR_MS }, ALICE)
    const last = await resetSecret(money.deps, tenantId, { graceMs: 0 }, ALICE)
    expect(await verifying(tenantId)).toEqual([last.appSecret])
  })

  test.each([-1, 24 * HOUR_MS + 1, 1.5, Number.NaN])('with a grace period of %s ms is refused', async (graceMs) => {
    const { tenantId, appSecret } = await money.tenant()
    const reset = resetSecret(money.deps, tenantId, { graceMs }, ALICE)
    await expect(reset).rejects.toMatchObject({ code: 'GRACE_OUT_OF_RANGE' })
    expect(await verifying(tenantId)).toEqual([appSecret])
  })

  test('leaves one current secret and one in its grace period, even after ten concurrent resets', async () => {
    const { tenantId } = await money.tenant()
    const resets = Array.from({ length: 10 }, () => resetSecret(money.deps, tenantId, { graceMs: HOUR_MS }, ALICE))
    const secrets = (await Promise.all(resets)).map((reset) => reset.appSecret)
    const now = await verifying(tenantId)
    expect(now).toHaveLength(2)
    for (const secret of now) expect(secrets).toContain(secret)
  })

  test('shows the new secret in a view that is audited with actor and address', async () => {
    const { tenantId } = await money.tenant()
    const { appSecret } = await resetSecret(money.deps, tenantId, { graceMs: HOUR_MS }, ALICE)
    const by = { actor: 'person:eve', address: '203.0.113.7' } as const
    expect(await viewSecret(money.deps, tenantId, by)).toBe(appSecret)
    const entries = await money.db.query(sql`
      select actor, address from audit_log where tenant_id = ${tenantId} and action = 'tenant.view_secret'`)
    expect(entries).toEqual([by])
  })
})

describe('settings', () => {
  test('change in one call, are stored in canonical form, and are audited with old and new values', async () => {
    const { tenantId } = await money.tenant()
    const changed = await changeSettings(
      money.deps,
      tenantId,
      {
        ipAllowlist: ['203.0.113.7/24', '::ffff:198.51.100.7'],
        qpsLimit: 50,
        creditLimit: 5_000_000n,
        dailySpendLimit: 10_000_000n,
        legalName: ' Acme Travel Ltd ',
        billingAddress: '1 Road\nTown',
        billingEmail: 'money@acme.example',
      },
      ALICE,
    )
    const after = {
      ipAllowlist: ['203.0.113.0/24', '198.51.100.7'],
      qpsLimit: 50,
      creditLimit: 5_000_000n,
      dailySpendLimit: 10_000_000n,
      legalName: 'Acme Travel Ltd',
      billingAddress: '1 Road\nTown',
      billingEmail: 'money@acme.example',
    }
    expect(changed.after).toEqual(after)
    expect(await getTenantView(money.deps, tenantId)).toMatchObject(after)
    expect(await auditOf(tenantId, 'tenant.set')).toEqual([
      {
        actor: 'cli:alice',
        before: {
          ...{ ipAllowlist: [], qpsLimit: null, creditLimit: '0', dailySpendLimit: null },
          ...{ legalName: null, billingAddress: null, billingEmail: null },
        },
        after: { ...after, creditLimit: '5000000', dailySpendLimit: '10000000' },
      },
    ])
  })

  test('can be cleared one by one without affecting the others', async () => {
    const { tenantId } = await money.tenant()
    await changeSettings(money.deps, tenantId, { qpsLimit: 5, taxId: 'T', ipAllowlist: ['::1'] }, ALICE)
    await changeSettings(money.deps, tenantId, { qpsLimit: null, ipAllowlist: [] }, ALICE)
    expect(await getTenantView(money.deps, tenantId)).toMatchObject({ qpsLimit: null, ipAllowlist: [], taxId: 'T' })
  })

  test.each<[SettingsInput, string]>([
    [{ ipAllowlist: ['127.1'] }, '“127.1”'],
    [{ qpsLimit: 0 }, '“0”'],
    [{ qpsLimit: 1.5 }, '“1.5”'],
    [{ qpsLimit: 100_001 }, '“100001”'],
    [{ creditLimit: -1n }, '-0.0001'],
    [{ dailySpendLimit: 2n ** 53n }, '900719925474.0992'],
    [{ lowBalanceThreshold: -1n }, '-0.0001'],
    [{ billingEmail: 'nobody' }, '“nobody”'],
    [{ clientName: '' }, 'name is empty'],
    [{ legalName: 'a\nb' }, 'cannot be printed'],
  ])('with %o are refused with a message, and do not change', async (wrong, words) => {
    const { tenantId } = await money.tenant()
    const before = await load(tenantId)
    const change = changeSettings(money.deps, tenantId, { taxId: 'T-1', ...wrong }, ALICE)
    await expect(change).rejects.toMatchObject({ code: 'SETTING_INVALID', message: expect.stringContaining(words) })
    expect(await load(tenantId)).toEqual(before)
    expect(await getTenantView(money.deps, tenantId)).toMatchObject({ taxId: null })
  })

  test('with several faults are refused with a list of all of them', async () => {
    const { tenantId } = await money.tenant()
    const wrong = { qpsLimit: 0, creditLimit: -1n, billingEmail: 'x' }
    await expect(changeSettings(money.deps, tenantId, wrong, ALICE)).rejects.toMatchObject({
      data: { faults: [expect.any(String), expect.any(String), expect.any(String)] },
    })
  })

  test('keep all concurrent changes', async () => {
    const { tenantId } = await money.tenant()
    const inputs: SettingsInput[] = [{ qpsLimit: 7 }, { taxId: 'T' }, { creditLimit: 9n }, { ipAllowlist: ['::1'] }]
    await Promise.all(inputs.map((input) => changeSettings(money.deps, tenantId, input, ALICE)))
    const after = { qpsLimit: 7, taxId: 'T', creditLimit: 9n, ipAllowlist: ['::1'] }
    expect(await getTenantView(money.deps, tenantId)).toMatchObject(after)
  })

  test('allow a credit limit below the used credit', async () => {
    const { tenantId } = await money.tenant()
    await changeSettings(money.deps, tenantId, { creditLimit: 100n }, ALICE)
    await money.db.query(sql`update wallets set balance = -80 where tenant_id = ${tenantId}`)
    await changeSettings(money.deps, tenantId, { creditLimit: 0n }, ALICE)
    expect(await getTenantView(money.deps, tenantId)).toMatchObject({ balance: -80n, creditLimit: 0n })
    await money.db.query(sql`update wallets set balance = 0 where tenant_id = ${tenantId}`)
  })
})

test('only a call that changes something increments the version and wakes the nodes', async () => {
  const { tenantId } = await money.tenant()
  const steps: [() => Promise<unknown>, boolean][] = [
    [() => changeSettings(money.deps, tenantId, { qpsLimit: 5 }, ALICE), true],
    [() => changeSettings(money.deps, tenantId, { qpsLimit: 5 }, ALICE), false],
    [() => changeSettings(money.deps, tenantId, {}, ALICE), false],
    [() => suspendTenant(money.deps, tenantId, ALICE), true],
    [() => suspendTenant(money.deps, tenantId, ALICE), false],
    [() => resumeTenant(money.deps, tenantId, ALICE), true],
    [() => resumeTenant(money.deps, tenantId, ALICE), false],
    [() => resetSecret(money.deps, tenantId, { graceMs: 0 }, ALICE), true],
  ]
  for (const [step, changes] of steps) {
    const [{ version }, woken] = [await load(tenantId), money.woken.length]
    await step()
    expect((await load(tenantId)).version - version).toBe(changes ? 1n : 0n)
    expect(money.woken.slice(woken)).toEqual(changes ? ['settings'] : [])
  }
})

test('suspension and resumption are audited', async () => {
  const { tenantId } = await money.tenant()
  await suspendTenant(money.deps, tenantId, ALICE)
  expect((await load(tenantId)).status).toBe('SUSPENDED')
  expect(await auditOf(tenantId, 'tenant.suspend')).toEqual([
    { actor: 'cli:alice', before: { status: 'ACTIVE' }, after: { status: 'SUSPENDED' } },
  ])
})

test.each([NOBODY, 'acme', ''])('the nonexistent tenant “%s” is not found', async (tenantId) => {
  const attempts = [
    () => getTenantView(money.deps, tenantId),
    () => changeSettings(money.deps, tenantId, { qpsLimit: 1 }, ALICE),
    () => suspendTenant(money.deps, tenantId, ALICE),
    () => resetSecret(money.deps, tenantId, { graceMs: 0 }, ALICE),
    () => viewSecret(money.deps, tenantId, ALICE),
  ]
  for (const attempt of attempts) await expect(attempt()).rejects.toMatchObject({ status: 404 })
})

test('a dealer is found by its full AppKey', async () => {
  const { tenantId, appKey } = await createTenant(money.deps, { clientName: 'Quoting Ltd', currencyCode: 'USD' }, ALICE)
  expect((await listTenants(money.db, { keyword: appKey })).map((tenant) => tenant.tenantId)).toEqual([tenantId])
  expect(await listTenants(money.db, { keyword: appKey.slice(0, -1) })).toEqual([])
})

test('the tenant list is filtered and sorted newest first, and its pages together are complete', async () => {
  const names = ['Zebra One', 'Zebra Two', 'Zebra Three']
  const made: string[] = []
  for (const clientName of names) {
    made.unshift((await createTenant(money.deps, { clientName, currencyCode: 'USD' }, ALICE)).tenantId)
  }
  await suspendTenant(money.deps, made[1]!, ALICE)
  const found = await listAllTenants(money.db, { keyword: 'zEbRa' })
  expect(found.map((tenant) => tenant.tenantId)).toEqual(made)
  const paged: string[] = []
  for (let after: string | undefined; ; after = paged.at(-1)) {
    const page = await listTenants(money.db, { keyword: 'Zebra', limit: 2, ...(after ? { after } : {}) })
    paged.push(...page.map((tenant) => tenant.tenantId))
    if (page.length < 2) break
  }
  expect(paged).toEqual(made)
  expect(await listAllTenants(money.db, { keyword: 'Zebra', status: 'SUSPENDED' })).toHaveLength(1)
})
