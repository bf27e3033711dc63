import { orderNoOf } from '@dealer-esim/contract'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { routes } from '#http/console/console-routes.ts'
import type { Route } from '#http/console/kernel/route.ts'
import { createAccessToken } from '#people/account/access-token.ts'
import { addPackage } from '#test/harness/shop.ts'
import {
  addTenant,
  type ConsoleTestbed,
  ORIGIN,
  REAUTHENTICATION,
  signedInAs,
  startConsole,
} from '../console-testbed.ts'
import { type SeededIds, seedTenant } from '../seeded-console.ts'

let testbed: ConsoleTestbed
let own: string
let other: string
let theirs: SeededIds
/** Headers of callers who may access tenant `own`: its administrator and an operator, each with a session and a token. */
let callers: Record<string, Record<string, string>>
beforeAll(async () => {
  testbed = await startConsole()
  own = await addTenant(testbed, 'Own')
  other = await addTenant(testbed, 'Other')
  await addPackage(testbed.db, 'JP', [])
  theirs = await seedTenant(testbed, other, 'JP')
  const dealer = await signedInAs(testbed, 'DEALER_ADMIN', own)
  const operator = await signedInAs(testbed, 'OPERATOR_STAFF')
  callers = {
    'a session of the dealer': { origin: ORIGIN, cookie: dealer.window.cookie },
    'a token of the dealer': { authorization: `Bearer ${await tokenOf(dealer.personId)}` },
    'a session of the operator': { origin: ORIGIN, cookie: operator.window.cookie },
    'a token of the operator': { authorization: `Bearer ${await tokenOf(operator.personId)}` },
  }
})
afterAll(() => testbed.stop())

describe('ids of another tenant', () => {
  it('every route treats another tenant’s id as unknown, and changes nothing', async () => {
    const before = await rowsOf(other)
    // Those of test mode only: test-mode.test.ts.
    const withIds = routes.filter((one) => idsIn(one).length > 0 && one.testMode !== 'TWIN_ONLY')
    const found = new Set<Route>()
    for (const route of withIds) {
      for (const [caller, headers] of Object.entries(callers)) {
        // Operators may manage any dealer's people, and these paths contain no tenant.
        if (caller.endsWith('operator') && !route.path.includes(':tenantId')) continue
        const answer = await call(route, own, theirs, headers)
        const absent = await call(route, own, unknownIds(), headers)
        const name = `${route.method} ${route.path} by ${caller}`
        expect([name, answer]).toEqual([name, absent])
        if (answer.status === (route.path.includes(':requestId') ? 200 : 404)) found.add(route)
        else expect([name, answer.status]).toEqual([name, 403])
      }
    }
    // On every route, at least one caller has reached the check of the id.
    expect(withIds.filter((route) => !found.has(route)).map((route) => route.path)).toEqual([])
    expect(await rowsOf(other)).toEqual(before)
  })

  it('no list shows a dealer rows of another tenant when filtered by id', async () => {
    const { orderNo, iccid, transactionId } = theirs
    const keys = [orderNo, transactionId, iccid]
    const paths = [
      ...keys.flatMap((q) => [`/orders?q=${q}`, `/search?q=${q}`]),
      `/profiles?orderNo=${orderNo}`,
      `/profiles?iccid=${iccid}`,
      `/events?orderNo=${orderNo}`,
      `/audit?person=${theirs.personId}`,
      `/audit?subject=${theirs.adjustmentId}`,
    ]
    for (const path of paths) {
      for (const [caller, headers] of Object.entries(callers)) {
        const { body } = await inject('GET', path, headers)
        const rows = Object.values(body).find(Array.isArray) ?? []
        if (caller.endsWith('dealer')) expect([path, caller, rows]).toEqual([path, caller, []])
        // The same filter finds the row for the operator.
        else if (!path.startsWith('/audit?person')) expect([path, caller, rows.length]).toEqual([path, caller, 1])
      }
    }
  })
})

const NAMES_WITHOUT_TENANT = [
  'brand',
  ...['tenantId', 'supplier', 'packageCode', 'planName', 'groupName', 'ruleName', 'batchId', 'codeId', 'role'],
  'currencyCode',
]

/** The path parameters that are ids of a tenant's or a person's rows rather than names in the operator's catalogue. */
function idsIn({ path }: Route): string[] {
  return [...path.matchAll(/:(\w+)/g)]
    .map(([, name = '']) => name)
    .filter((name) => !NAMES_WITHOUT_TENANT.includes(name))
}

function unknownIds(): SeededIds {
  const id = () => testbed.deps.ids.uuid()
  const ids = Object.keys(theirs).map((name) => [name, name === 'orderNo' ? orderNoOf(id()) : id()])
  return Object.fromEntries(ids) as SeededIds
}

/** Valid bodies, so that only the id can cause a refusal. */
const BODIES: Record<string, object> = {
  'PATCH /tenants/:tenantId/keys/:appKey': {
    ...{ ...REAUTHENTICATION, label: 'a key', perOrderMax: null, perDayMax: null, totalMax: null },
    ...{ ipAllowlist: [], expiresAt: null },
  },
  'POST /tenants/:tenantId/keys/:appKey/revoke': REAUTHENTICATION,
  'PATCH /account/passkeys/:passkeyId': { name: 'Renamed' },
  'POST /account/passkeys/:passkeyId/remove': REAUTHENTICATION,
  'PATCH /people/:personId': { name: 'Renamed' },
  'POST /people/:personId/link': REAUTHENTICATION,
  'POST /people/:personId/second-factor/remove': REAUTHENTICATION,
  'POST /people/:personId/provider/unlink': REAUTHENTICATION,
  'POST /tenants/:tenantId/orders/:orderNo/cancel': { reason: 'a good one' },
  'POST /tenants/:tenantId/orders/:orderNo/notes': { text: 'a note' },
  'POST /tenants/:tenantId/orders/:orderNo/questions': { text: 'a question' },
  'POST /tenants/:tenantId/questions': { text: 'a question' },
  'POST /tenants/:tenantId/orders/:orderNo/settle': { verdict: 'refused', evidence: 'they said so' },
  'POST /tenants/:tenantId/profiles/:profileId/actions': { action: 'CANCEL', transactionId: 'A' },
  'POST /tenants/:tenantId/profiles/:profileId/top-ups': { packageCode: 'P', transactionId: 'A', amount: 1 },
  'POST /tenants/:tenantId/profiles/:profileId/share-link/mail': { email: 'a@people.test' },
  'POST /tenants/:tenantId/top-up-requests/:topUpRequestId/decline': { reason: 'a good one' },
  'POST /tenants/:tenantId/profiles/:profileId/operator-actions': { action: 'REVOKE', reason: 'a good one' },
  'POST /tenants/:tenantId/profiles/:profileId/settle-cancel': { verdict: 'kept', evidence: 'they said so' },
}

function call(route: Route, tenantId: string, ids: SeededIds, headers: Record<string, string>) {
  const path = route.path.replaceAll(/:(\w+)/g, (_, name: string) =>
    name === 'tenantId' ? tenantId : (ids[name as keyof SeededIds] ?? `no ${name}`),
  )
  return inject(route.method, path, headers, BODIES[`${route.method} ${route.path}`])
}

async function inject(method: Route['method'], path: string, headers: Record<string, string>, payload?: object) {
  const answer = await testbed.app.inject({ method, url: `/console/api${path}`, headers, ...(payload && { payload }) })
  return { status: answer.statusCode, body: answer.json() as Record<string, unknown> }
}

async function tokenOf(personId: string): Promise<string> {
  const input = { name: 'test', scope: 'WRITE' as const, days: 1 }
  return (await testbed.db.tx((tx) => createAccessToken(tx, testbed.deps.ids, personId, input))).token
}

/** A tenant's rows in the tables that a caller might change, including the tenant's audit log. */
async function rowsOf(tenantId: string) {
  const tables = [
    'orders',
    'profiles',
    'events',
    'webhook_replays',
    'wallet_adjustments',
    'top_up_requests',
    'people',
    'audit_log',
  ]
  const rows = await Promise.all(
    tables.map((table) =>
      testbed.db.query({ text: `select * from ${table} where tenant_id = $1 order by 1, 2`, values: [tenantId] }),
    ),
  )
  const counts = await testbed.db.query({
    text: `select (select count(*) from sessions where person_id = $1), (select count(*) from access_tokens where person_id = $1),
             (select array_agg(name) from passkeys where person_id = $1)`,
    values: [theirs.personId],
  })
  return [...rows, counts]
}
