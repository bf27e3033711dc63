import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { makeIccid } from '@dealer-esim/contract'
import { validate } from '@scalar/openapi-parser'
import type { TSchema } from 'typebox'
import { Compile } from 'typebox/compile'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createAlert } from '#alerts/create-alert.ts'
import { setListPrices } from '#catalogue/prices/prices.ts'
import { routes } from '#http/console/console-routes.ts'
import type { Route } from '#http/console/kernel/route.ts'
import { createAccessToken } from '#people/account/access-token.ts'
import { ROLES, type Role } from '#people/person.ts'
import { SYSTEM } from '#platform/audit/audit.ts'
import { setOperatorSettings } from '#platform/deployment/operator-options.ts'
import { saveProducts } from '#products/sync/save-products.ts'
import { ensureSync } from '#products/sync/sync-state.ts'
import { updateSales } from '#sales/update-sales.ts'
import { importStock } from '#stock/import-stock.ts'
import { ensureBalance } from '#suppliers/balance/balance-state.ts'
import { claimBalance, readBalance } from '#suppliers/balance/read-balance.ts'
import { addSupplier } from '#suppliers/manage-suppliers.ts'
import { resetSecret } from '#tenants/app-secret.ts'
import { createKey } from '#tenants/keys/manage-keys.ts'
import { addActions } from '#test/harness/esim-actions.ts'
import { addPackage, payOrders } from '#test/harness/shop.ts'
import { getCheckpoint } from '#wallet/books/checkpoints.ts'
import { issueDueStatements } from '#wallet/statement/issue-loop.ts'
import { addPerson, addTenant, browser, type ConsoleTestbed, PASSWORD, startConsole } from './console-testbed.ts'
import { addPasskey, type SeededIds, seedTenant } from './seeded-console.ts'

interface Operation {
  operationId: string
  security: Record<string, string[]>[]
  'x-roles': string[]
  parameters?: { name: string; in: string; required: boolean }[]
  requestBody?: { required: boolean; content: Record<string, { schema: TSchema }> }
  responses: Record<string, { content: Record<string, { schema: TSchema }> }>
}

const folder = mkdtempSync(join(tmpdir(), 'dealer-esim-console-'))
let testbed: ConsoleTestbed
let document: { paths: Record<string, Record<string, Operation>> }
let tenantId: string
let seeded: SeededIds
let batchId: string
const tokens = {} as Record<Role, string>
const cookies = {} as Record<Role, string>
beforeAll(async () => {
  const cellsFile = join(folder, 'cells.json')
  writeFileSync(cellsFile, JSON.stringify({ cells: [{ name: 'main', nodes: [{ host: '10.0.0.1' }] }] }))
  testbed = await startConsole({ config: { cellsFile } })
  document = (await testbed.app.inject({ url: '/console/api/openapi.json' })).json()
  tenantId = await addTenant(testbed, 'Scripted')
  for (const role of ROLES) {
    const { email, personId } = await addPerson(testbed, role, role.startsWith('DEALER') ? tenantId : null)
    const input = { name: 'a script', scope: 'WRITE' as const, days: 1 }
    tokens[role] = (await testbed.db.tx((tx) => createAccessToken(tx, testbed.deps.ids, personId, input))).token
    const window = browser(testbed.app)
    await window.signIn(email, PASSWORD)
    cookies[role] = window.cookie
    await addPasskey(testbed, personId)
    await testbed.db.query({ text: `update people set muted_alerts = '{LOW_STOCK}'` })
  }
  await fillLists()
  await fillRecovery()
})
afterAll(async () => {
  await testbed.stop()
  rmSync(folder, { recursive: true })
})

describe('the console API’s OpenAPI document', () => {
  it('the document conforms to OpenAPI 3.1', async () => {
    const result = await validate(structuredClone(document))
    expect(result.errors ?? []).toEqual([])
    expect(result.version).toBe('3.1')
  })

  it('the document contains exactly the declared routes, with unique operation ids', () => {
    const named = (method: string, path: string) => `${method.toUpperCase()} ${path}`
    const documented = Object.entries(document.paths).flatMap(([path, operations]) =>
      Object.keys(operations).map((method) => named(method, path)),
    )
    expect(documented.sort()).toEqual(routes.map((route) => named(route.method, pathOf(route))).sort())
    const names = routes.map((route) => operationOf(route).operationId)
    expect(new Set(names).size).toBe(routes.length)
  })

  it('every operation documents its access, parameters and content types', () => {
    for (const route of routes) {
      const operation = operationOf(route)
      const name = `${route.method} ${route.path}`
      const isPublic = route.access === 'anyone'
      const bySessionOnly = route.access === 'session' || route.sessionOnly
      const declared = [...parametersOf(route.query, 'query'), ...parametersOf(route.params, 'path')]
      expect([name, namesIn(route)]).toEqual([name, declared.flatMap(([where, it]) => (where === 'path' ? [it] : []))])
      expect({
        name,
        roles: operation['x-roles'],
        security: operation.security.flatMap((scheme) => Object.keys(scheme)),
        parameters: (operation.parameters ?? []).map((one) => [one.in, one.name, one.required]).sort(),
        accepts: Object.keys(operation.requestBody?.content ?? {}),
        returns: Object.keys(operation.responses['200']?.content ?? {}),
      }).toEqual({
        name,
        roles: isPublic ? [] : route.access === 'session' ? ROLES : route.access,
        security: isPublic ? [] : bySessionOnly ? ['session'] : ['accessToken', 'session'],
        parameters: declared.sort(),
        accepts: route.body ? [route.bodyType ?? 'application/json'] : [],
        returns: [route.answerType ?? 'application/json'],
      })
    }
  })

  it('the answer of every GET route conforms to its schema for each role', async () => {
    const empty: string[] = []
    const violations: [string, string[]][] = []
    // Those of test mode only: test-mode.test.ts.
    for (const route of routes.filter((one) => one.method === 'GET' && one.testMode !== 'TWIN_ONLY')) {
      const { content } = operationOf(route).responses['200']!
      const [[type, { schema }]] = Object.entries(content) as [[string, { schema: TSchema }]]
      const check = Compile(closed(schema))
      for (const role of ROLES) {
        const answer = await callAs(route, role)
        const name = `${route.path} to ${role}`
        const allowed = typeof route.access === 'string' || route.access.includes(role)
        expect([name, answer.statusCode]).toEqual([name, allowed ? 200 : 403])
        if (!allowed) continue
        expect([name, answer.headers['content-type']]).toEqual([name, expect.stringContaining(type)])
        const body: unknown = type === 'application/json' ? answer.json() : answer.body
        const faults = check.Errors(body).map((fault) => `${fault.instancePath} ${fault.message}`)
        if (faults.length > 0) violations.push([name, faults])
        if (role === 'OPERATOR_ADMIN') empty.push(...emptyListsIn(body).map((at) => `${route.path} ${at}`))
      }
    }
    expect(violations).toEqual([])
    // An empty list would conform to any row schema.
    expect(empty).toEqual([])
  })
})

const pathOf = (route: Route) => `/console/api${route.path.replaceAll(/:(\w+)/g, '{$1}')}`
const namesIn = (route: Route) => [...route.path.matchAll(/:(\w+)/g)].map(([, name]) => name)

function operationOf(route: Route): Operation {
  return document.paths[pathOf(route)]![route.method.toLowerCase()]!
}

function parametersOf(schema: TSchema | undefined, where: string): [string, string, boolean][] {
  const { properties = {}, required = [] } = (schema ?? {}) as { properties?: object; required?: string[] }
  return Object.keys(properties).map((name) => [where, name, required.includes(name)])
}

/** The schema, changed to reject members that it does not define. */
function closed(schema: TSchema): TSchema {
  return JSON.parse(JSON.stringify(schema), (_, node) =>
    node?.type === 'object' && node.properties ? { ...node, additionalProperties: false } : node,
  )
}

function emptyListsIn(body: unknown): string[] {
  return Object.entries(body as object).flatMap(([name, value]) =>
    Array.isArray(value) && value.length === 0 ? [name] : [],
  )
}

const LAST_MONTH = new Date(Date.UTC(new Date().getUTCFullYear(), new Date().getUTCMonth() - 1))
  .toISOString()
  .slice(0, 7)

const thisMonth = () => new Date(testbed.clock.now()).toISOString().slice(0, 7)

const QUERIES: Record<string, () => string> = {
  '/tenants/:tenantId/buyable-packages/at': () => '?place=JP',
  '/supplier-reports/months': () => `?month=${thisMonth()}`,
  '/supplier-reports/months.csv': () => `?month=${thisMonth()}`,
  '/supplier-reports/discrepancies': () => `?month=${thisMonth()}`,
  '/supplier-reports/discrepancies.csv': () => `?month=${thisMonth()}`,
  '/supplier-products/costs': () => '?supplier=warehouse&productCode=P',
  '/sales': () => '?by=dealer',
  '/sales.csv': () => '?by=dealer',
  '/packages/:packageCode/explanation': () => `?tenantId=${tenantId}`,
  '/stock/codes': () => `?iccid=${makeIccid('8985', 1)}`,
  '/search': () => `?q=${seeded.orderNo}`,
  '/tenants/:tenantId/wallet/statement': () => `?month=${LAST_MONTH}`,
  '/tenants/:tenantId/wallet/entries': () => `?month=${thisMonth()}`,
  '/tenants/:tenantId/wallet/entries.csv': () => `?month=${thisMonth()}`,
}

/** Calls with the role's token, or with its session if the route requires one. */
function callAs(route: Route, role: Role) {
  const supplier = route.path.startsWith('/stock/') ? 'codes' : 'warehouse'
  const names = {
    ...{ ...seeded, tenantId, planName: 'GOLD', groupName: 'PARTNERS', packageCode: 'JP', supplier, batchId },
    month: LAST_MONTH,
  } as Record<string, string>
  const path = route.path.replaceAll(/:(\w+)/g, (_, name: string) => names[name]!)
  const bySession = route.access === 'session'
  return testbed.app.inject({
    url: `/console/api${path}${QUERIES[route.path]?.() ?? ''}`,
    headers: bySession ? { cookie: cookies[role] } : { authorization: `Bearer ${tokens[role]}` },
  })
}

const PRODUCT = {
  ...{ productCode: 'P', name: 'Japan', packageType: 'BASE' as const, countries: ['JP'], volume: 1_000n },
  ...{ isDayPass: false, durationDays: 7, cost: 5n, currencyCode: 'USD' },
}

/** Creates a row for every list, through the calls of an operator's script. */
/** A restore of a backup, with something in every part of its report. */
async function fillRecovery() {
  await payOrders(testbed.db, tenantId, 'JP')
  await testbed.db.query({
    text: `insert into restores (restore_id, backup_started_at, restored_at, prepared_at, paused_suppliers)
           values (gen_random_uuid(), now() - interval '2 hours', now(), now(), '{}')`,
  })
  await testbed.db.query({
    text: `insert into restored_transactions (tenant_id, transaction_id, listed, order_no, amount, state, decided_at)
           values ($1, 'T', true, 'N', 5, 'IN_DOUBT', null), ($1, 'SOLD', true, 'M', 5, 'SOLD', now())`,
    values: [tenantId],
  })
  await testbed.db.query({
    text: `insert into restores (restore_id, backup_started_at, restored_at, recovering, ended_at, ended_because, accepted_doubts)
           values (gen_random_uuid(), now() - interval '2 days', now() - interval '1 day', false, now(), 'asked', '{a doubt}')`,
  })
  await testbed.db.query({ text: `update unclaimed_esims set found_at = now() + interval '1 second'` })
  await testbed.db.query({ text: 'update stock_codes set held_at = now()' })
  await addActions(testbed.deps, tenantId, { status: 'UNDER_REVIEW' })
  await testbed.db.query({ text: `update esim_actions set due_at = null where action_status = 'UNDER_REVIEW'` })
}

async function fillLists() {
  const settings = { newDealerQpsLimit: 50, alertEmails: ['ops@operator.test'], twinsByDealers: true }
  await setOperatorSettings(testbed.deps, settings, SYSTEM)
  await addPackage(testbed.db, 'JP', [{ supplier: 'warehouse', productCode: 'P', cost: 5n }])
  await setListPrices(testbed.deps, [{ packageCode: 'JP', currencyCode: 'USD', price: 10n }], SYSTEM)
  seeded = await seedTenant(testbed, tenantId, 'JP')
  await testbed.db.query({
    text: `insert into saved_views (view_id, person_id, list, name, search)
           select gen_random_uuid(), person_id, 'orders', 'mine', '' from people`,
  })
  await updateSales(testbed.db)
  await resetSecret(testbed.deps, tenantId, { graceMs: 0 }, { actor: 'cli:test' })
  await createKey(testbed.deps, tenantId, { label: 'webshop' }, { actor: 'cli:test' })
  const config = { url: 'https://upstream.test', appKey: 'ak_0123456789', appSecret: 'secret' }
  await addSupplier(testbed.deps, { name: 'warehouse', type: 'gateway', config }, { actor: 'cli:test' })
  await addSupplier(testbed.deps, { name: 'codes', type: 'stock', config: {} }, { actor: 'cli:test' })
  const file = Readable.from([`iccid,ac\n${makeIccid('8985', 1)},LPA:1$a.example$X\n`])
  const importing = { supplier: 'codes', productCode: 'P', file }
  ;({ batchId } = await importStock(testbed.deps, importing, { actor: 'cli:test' }))
  await testbed.db.tx(async (tx) => {
    await ensureSync(tx, 'warehouse')
    await saveProducts(tx, 'warehouse', new Map(), [PRODUCT])
    await ensureBalance(tx, 'warehouse')
  })
  await testbed.db.query({
    text: `insert into supplier_attempts (tenant_id, attempt_id, order_id, item_no, supplier, operation, lease_token,
             started_at, finished_at, outcome, message)
           select tenant_id, $2, order_id, 1, 'warehouse', 'ORDER', $2, now(), now(), 'refused', 'none left'
           from orders where tenant_id = $1 limit 1`,
    values: [tenantId, testbed.deps.ids.uuid()],
  })
  await testbed.db.query({
    text: `with item as (
             update order_items set supplier = 'warehouse', cost = 5, cost_currency = 'USD'
             where (tenant_id, order_id, item_no) = (
               select tenant_id, order_id, item_no from order_items
               where tenant_id = $1 and item_status = 'DELIVERED' limit 1)
             returning order_id, item_no),
           price as (
             insert into supplier_prices (supplier, product_code, currency_code, price, seen_at)
             values ('warehouse', 'P', 'USD', 6, now()))
           insert into supplier_attempts (tenant_id, attempt_id, order_id, item_no, supplier, operation, lease_token,
             started_at, finished_at, outcome)
           select $1, $2, order_id, item_no, 'warehouse', 'ORDER', $2, now(), now(), 'delivered' from item`,
    values: [tenantId, testbed.deps.ids.uuid()],
  })
  await testbed.db.query({
    text: `insert into unclaimed_esims (supplier, key, iccid) values ('warehouse', 'KEY', '8985')`,
  })
  const claim = (await claimBalance(testbed.db, ['warehouse']))!
  await readBalance(testbed.deps, claim, {
    balance: async () => ({ kind: 'balance', amount: 5n, currencyCode: 'USD' }),
  })
  await testbed.db.query({
    text: `insert into supplier_balance_days (supplier, day, currency_code, fell, rose, bought_min, bought_max, unexplained)
           values ('warehouse', (now() at time zone 'utc')::date - 1, 'USD', 9, 0, 5, 5, 4)`,
  })
  await testbed.db.tx(async (tx) => createAlert(tx, testbed.deps.ids, { kind: 'LOW_STOCK', message: 'x' }))
  await testbed.db.query({
    text: `insert into orders (tenant_id, order_id, transaction_id, order_type, topped_up_profile_id, order_status, amount,
             currency_code, balance_after, wallet_version, package_lines, status_history, event_sequence, created_at,
             updated_at)
           values ($1, $2, 'U-1', 'TOPUP', $3, 'DELIVERED', 5, 'USD', 0, 1000,
             '[{"packageCode": "TOPUP", "packageName": "Top-up", "count": 1, "price": 5}]', '[]', 1, now(), now())`,
    values: [tenantId, testbed.deps.ids.uuid(), seeded.profileId],
  })
  // Statements are issued only for months in which the account existed.
  await testbed.db.query({
    text: `update tenants set created_at = now() - interval '70 days' where tenant_id = $1`,
    values: [tenantId],
  })
  for (const [method, path, payload] of [
    ['POST', '/price-plans', { planName: 'GOLD' }],
    ['PUT', '/price-plans/GOLD/rules', { percent: '-5' }],
    ['POST', '/price-groups', { groupName: 'PARTNERS' }],
    ['PUT', '/price-groups/PARTNERS/plan', { planName: 'GOLD' }],
    ['PUT', `/tenants/${tenantId}/price-plan`, { planName: 'GOLD' }],
    ['PUT', `/tenants/${tenantId}/price-group`, { groupName: 'PARTNERS' }],
    ['PUT', `/tenants/${tenantId}/own-prices/JP`, { price: 10 }],
    ['PUT', '/sale-rules/ALL', { currencyCode: 'USD', percent: '5' }],
    [
      'PUT',
      '/exchange-rates',
      { costCurrency: 'EUR', saleCurrency: 'USD', rate: '1.1', ratedAt: '2026-11-20T00:00:00.000Z' },
    ],
    ['POST', '/stock/low', { supplier: 'warehouse', productCode: 'P', lowAt: 5 }],
    ['PATCH', `/tenants/${tenantId}/settings`, { ipAllowlist: ['192.0.2.1'] }],
    ['POST', `/tenants/${tenantId}/wallet/top-ups`, { amount: 5, reference: 'R' }],
    ['PUT', '/operator-details', { legalName: 'Operator Ltd', taxId: null, address: null }],
  ] as const) {
    const headers = { authorization: `Bearer ${tokens.OPERATOR_ADMIN}` }
    const answer = await testbed.app.inject({ method, url: `/console/api${path}`, headers, payload })
    expect([path, answer.body]).toEqual([path, expect.not.stringContaining('"code"')])
  }
  await getCheckpoint(testbed.deps, tenantId, {})
  await issueDueStatements({ ...testbed.deps, checkpointWaitMs: 0 })
}
