import { orderNoOf } from '@dealer-esim/contract'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Route } from '../../src/console-api/kernel/route.ts'
import { routes } from '../../src/console-api/routes.ts'
import { makeAccessToken } from '../../src/people/access-token.ts'
import { addPackage } from '../harness/shop.ts'
import { addTenant, type ConsoleApp, ORIGIN, PROOF, signedInAs, startConsole } from './console-app.ts'
import { type Furniture, furnish } from './furnished.ts'

let room: ConsoleApp
let own: string
let other: string
let theirs: Furniture
/** Everybody who may name the own tenant in an address: its administrator by session and by token, and operators. */
let callers: Record<string, Record<string, string>>
beforeAll(async () => {
  room = await startConsole()
  own = await addTenant(room, 'Own')
  other = await addTenant(room, 'Other')
  await addPackage(room.db, 'JP', [])
  theirs = await furnish(room, other, 'JP')
  const dealer = await signedInAs(room, 'DEALER_ADMIN', own)
  const operator = await signedInAs(room, 'OPERATOR_STAFF')
  callers = {
    'a session of the dealer': { origin: ORIGIN, cookie: dealer.window.cookie },
    'a token of the dealer': { authorization: `Bearer ${await tokenOf(dealer.personId)}` },
    'a session of the operator': { origin: ORIGIN, cookie: operator.window.cookie },
    'a token of the operator': { authorization: `Bearer ${await tokenOf(operator.personId)}` },
  }
})
afterAll(() => room.stop())

describe('what is another tenant’s', () => {
  it('is absent behind the own tenant’s address, for every id of every route, and is not touched', async () => {
    const before = await everythingOf(other)
    const withIds = routes.filter((one) => idsIn(one).length > 0)
    const found = new Set<Route>()
    for (const route of withIds) {
      for (const [caller, headers] of Object.entries(callers)) {
        // An operator may manage any dealer's people; their path names no tenant.
        if (caller.endsWith('operator') && !route.path.includes(':tenantId')) continue
        const told = await call(route, own, theirs, headers)
        const absent = await call(route, own, nothing(), headers)
        const name = `${route.method} ${route.path} by ${caller}`
        expect([name, told]).toEqual([name, absent])
        if (told.status === (route.path.includes(':requestId') ? 200 : 404)) found.add(route)
        else expect([name, told.status]).toEqual([name, 403])
      }
    }
    // Somebody was let as far as the id, at each of them.
    expect(withIds.filter((route) => !found.has(route)).map((route) => route.path)).toEqual([])
    expect(await everythingOf(other)).toEqual(before)
  })

  it('is in no list that a dealer filters by its ids', async () => {
    const { orderNo, iccid, transactionId } = theirs
    const words = [orderNo, transactionId, iccid]
    const paths = [
      ...words.flatMap((q) => [`/orders?q=${q}`, `/search?q=${q}`]),
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
        // The operator finds it: the same question has an answer.
        else if (!path.startsWith('/audit?person')) expect([path, caller, rows.length]).toEqual([path, caller, 1])
      }
    }
  })
})

const OWN_NAMES = ['tenantId', 'supplier', 'packageCode', 'planName', 'groupName']

/** The ids in a route's path that belong to a tenant or a person; names of the operator's catalogue are no ids. */
function idsIn({ path }: Route): string[] {
  return [...path.matchAll(/:(\w+)/g)].map(([, name = '']) => name).filter((name) => !OWN_NAMES.includes(name))
}

function nothing(): Furniture {
  const id = () => room.deps.ids.uuid()
  const ids = Object.keys(theirs).map((name) => [name, name === 'orderNo' ? orderNoOf(id()) : id()])
  return Object.fromEntries(ids) as Furniture
}

/** Well formed, so that nothing but the id can be refused. */
const BODIES: Record<string, object> = {
  'PATCH /people/:personId': { name: 'Renamed' },
  'POST /people/:personId/link': PROOF,
  'POST /people/:personId/second-factor/remove': PROOF,
  'POST /tenants/:tenantId/orders/:orderNo/cancel': { reason: 'a good one' },
  'POST /tenants/:tenantId/orders/:orderNo/settle': { verdict: 'refused', evidence: 'they said so' },
  'POST /tenants/:tenantId/profiles/:profileId/cancel': { reason: 'a good one' },
  'POST /tenants/:tenantId/profiles/:profileId/settle-cancel': { verdict: 'kept', evidence: 'they said so' },
}

function call(route: Route, tenantId: string, ids: Furniture, headers: Record<string, string>) {
  const path = route.path.replaceAll(/:(\w+)/g, (_, name: string) =>
    name === 'tenantId' ? tenantId : (ids[name as keyof Furniture] ?? `no ${name}`),
  )
  return inject(route.method, path, headers, BODIES[`${route.method} ${route.path}`])
}

async function inject(method: Route['method'], path: string, headers: Record<string, string>, payload?: object) {
  const answer = await room.app.inject({ method, url: `/console/api${path}`, headers, ...(payload && { payload }) })
  return { status: answer.statusCode, body: answer.json() as Record<string, unknown> }
}

async function tokenOf(personId: string): Promise<string> {
  const asked = { name: 'test', scope: 'WRITE' as const, days: 1 }
  return (await room.db.tx((tx) => makeAccessToken(tx, room.deps.ids, personId, asked))).token
}

/** Every row of a tenant in the tables that a caller might reach, and what is audited of it. */
async function everythingOf(tenantId: string) {
  const tables = ['orders', 'profiles', 'events', 'webhook_replays', 'wallet_adjustments', 'people', 'audit_log']
  const rows = await Promise.all(
    tables.map((table) =>
      room.db.query({ text: `select * from ${table} where tenant_id = $1 order by 1, 2`, values: [tenantId] }),
    ),
  )
  const held = await room.db.query({
    text: `select (select count(*) from sessions where person_id = $1), (select count(*) from access_tokens where person_id = $1)`,
    values: [theirs.personId],
  })
  return [...rows, held]
}
