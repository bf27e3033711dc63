import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { fulfilmentLoop } from '#fulfilment/fulfilment-loop.ts'
import { packageRoot } from '#platform/package-root.ts'
import { bundleForChildren, type ChildBundle, spawnFulfilment } from '../harness/processes/child-process.ts'
import { addPackage, addTenant, payOrders, statuses, waitUntil, walletOf } from '../harness/shop.ts'
import {
  ACTED_POINTS,
  airaloScene,
  CANCEL_POINTS,
  type CrashScene,
  ES2PLUS_POINTS,
  es2plusScene,
  esimAccessScene,
  esimGoScene,
  gatewayScene,
  localScene,
  MOBIMATTER_POINTS,
  mobimatterScene,
  SLOW_POINTS,
  zenditScene,
} from './crash-scenes.ts'

/*
 * A worker is killed at each failpoint while it buys, and another one takes over: no eSIM is bought twice, lost after its
 * purchase, or refunded on a guess. Each failpoint has its own dealer, package and process. All crashes with one supplier
 * type come first, one after another. Then a single worker takes over all orders, so that it waits only once for doubtful
 * calls to be settled.
 */
const POINTS = [
  'fulfilment.claimed',
  'fulfilment.before-attempt',
  'fulfilment.after-attempt',
  'fulfilment.before-call',
  'fulfilment.after-call',
  'fulfilment.outcome-half-written',
  'fulfilment.before-outcome-commit',
  'fulfilment.after-outcome',
] as const

const REFUND_POINTS = [
  'fulfilment.after-call',
  'fulfilment.outcome-half-written',
  'fulfilment.before-outcome-commit',
  'fulfilment.after-outcome',
] as const

/** Between the writes of one outcome; the code is the same for all suppliers. */
const OUTCOME_POINTS = ['fulfilment.items-written', 'fulfilment.profiles-written'] as const

const POINTS_AFTER_CALLS = [...POINTS.slice(POINTS.indexOf('fulfilment.after-call')), ...ES2PLUS_POINTS]

interface Kind {
  name: string
  open(): Promise<CrashScene>
  points: readonly string[]
  /** Failpoints whose purchase may stay in doubt, because the supplier cannot be queried about it. */
  inDoubt: readonly string[]
  refunds: readonly string[]
}

const KINDS: Kind[] = [
  {
    name: 'sandbox',
    open: () => localScene('sandbox'),
    points: [...POINTS, ...OUTCOME_POINTS, ...SLOW_POINTS, 'sandbox.issued'],
    inDoubt: [],
    refunds: [...REFUND_POINTS, ...OUTCOME_POINTS],
  },
  {
    name: 'stock',
    open: () => localScene('stock'),
    points: [...POINTS, 'stock.before-commit', 'stock.reserved'],
    inDoubt: [],
    refunds: REFUND_POINTS,
  },
  {
    name: 'es2plus with ICCIDs of ours',
    open: () => es2plusScene(true),
    points: [...POINTS, ...ES2PLUS_POINTS],
    inDoubt: [],
    refunds: REFUND_POINTS,
  },
  {
    name: 'es2plus with ICCIDs of the SM-DP+',
    open: () => es2plusScene(false),
    points: [...POINTS, ...ES2PLUS_POINTS],
    // While one order is at the failpoint, DownloadOrders for the others are in flight.
    inDoubt: POINTS_AFTER_CALLS,
    refunds: [],
  },
  {
    name: 'gateway',
    open: gatewayScene,
    points: [...POINTS, 'gateway.ordered'],
    inDoubt: [],
    refunds: REFUND_POINTS,
  },
  {
    name: 'airalo',
    open: airaloScene,
    points: [...POINTS, 'airalo.ordered'],
    inDoubt: [],
    refunds: REFUND_POINTS,
  },
  {
    name: 'esim-access',
    open: esimAccessScene,
    points: [...POINTS, 'esim-access.ordered'],
    inDoubt: [],
    refunds: REFUND_POINTS,
  },
  {
    name: 'esim-go',
    open: esimGoScene,
    points: [...POINTS, 'esim-go.before-order', 'esim-go.ordered'],
    inDoubt: [],
    refunds: REFUND_POINTS,
  },
  {
    name: 'mobimatter',
    open: mobimatterScene,
    points: [...POINTS, ...MOBIMATTER_POINTS],
    inDoubt: [],
    refunds: REFUND_POINTS,
  },
  {
    name: 'zendit',
    open: zenditScene,
    points: [...POINTS, 'zendit.ordered'],
    inDoubt: [],
    refunds: REFUND_POINTS,
  },
]

const ORDERS = 3

let bundle: ChildBundle
beforeAll(async () => {
  bundle = await bundleForChildren(new URL('../harness/processes/fulfilment-node.ts', import.meta.url))
})
afterAll(() => bundle.remove())
const PATIENCE_MS = 120_000
/** A scene starts up to twenty workers one after another, as do the other scenes in parallel. */
const ALL_PLAYS_MS = 480_000

it('every named failpoint has a crash test', () => {
  const tested = [...KINDS.flatMap(({ points, refunds }) => [...points, ...refunds]), ...CANCEL_POINTS, ...ACTED_POINTS]
  expect(namedPoints(FOLDERS)).toEqual([...new Set(tested)].sort())
})

const FOLDERS = [
  'gateway/src/esims/actions',
  'gateway/src/fulfilment',
  'gateway/src/stock',
  'gateway/src/suppliers',
  'wholesalers/src',
]

/** The failpoints in the sources of these folders of packages/. */
function namedPoints(folders: string[]): string[] {
  const files = folders.flatMap((folder) =>
    readdirSync(join(packageRoot(), '..', folder), { recursive: true, withFileTypes: true }),
  )
  const points = files
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .flatMap((entry) => [
      ...readFileSync(join(entry.parentPath, entry.name), 'utf8').matchAll(/failpoint\('([^']+)'\)/g),
    ])
    .map(([, point]) => point!)
  return [...new Set(points)].sort()
}

describe.concurrent.each(KINDS)('a worker of $name', ({ open, points, inDoubt, refunds }) => {
  let scene: CrashScene
  const played = new Map<string, string>()
  const failures = new Map<string, string>()

  beforeAll(async () => {
    scene = await open()
    const plays = [
      ...points.map((point) => ({ point, refused: false })),
      ...refunds.map((point) => ({ point, refused: true })),
    ]
    for (const { point, refused } of plays) {
      const name = `${refused ? 'refused ' : ''}${point}`
      const packageCode = name.replace(/\W/g, '_')
      const productCode = await scene.product(name, refused)
      await addPackage(scene.shop.db, packageCode, [{ supplier: scene.supplier, productCode }])
      const tenantId = await addTenant(scene.shop.db)
      played.set(name, tenantId)
      await payOrders(scene.shop.db, tenantId, packageCode, { orders: ORDERS })
      const killed = spawnFulfilment(bundle.path, scene.databaseUrl, point)
      let stderr = ''
      killed.stderr!.on('data', (text) => (stderr += text))
      const [code, signal] = (await killed.ended) as [number | null, string | null]
      if (signal !== 'SIGKILL' || !stderr.includes(`paused at ${point}`)) {
        failures.set(name, `it was not killed there: ${signal ?? code} ${stderr}`)
      }
      // The next worker gets its own orders, so these wait until all workers have died.
      await scene.shop.db.query({
        text: `update orders set due_at = now() + interval '1 hour', lease_until = null where tenant_id = $1 and due_at is not null`,
        values: [tenantId],
      })
    }
    // As if half a minute had passed: the leases of the dead workers have expired.
    await scene.shop.db.query({ text: 'update orders set due_at = now() where due_at is not null' })
    scene.prepareTakeover()
    const successor = fulfilmentLoop(scene.shop)
    try {
      await waitUntil(async () => {
        const all = await Promise.all([...played.values()].map((tenantId) => statuses(scene.shop.db, tenantId)))
        return all.every((now) => !now.PAID && !now.ALLOCATING)
      }, PATIENCE_MS)
    } finally {
      await successor.stop(5_000)
    }
  }, ALL_PLAYS_MS)
  afterAll(() => scene?.close())

  async function countOf(name: string) {
    expect(failures.get(name)).toBeUndefined()
    const tenantId = played.get(name)!
    const [row] = await scene.shop.db.query<{ delivered: number; review: number; refused: number; orphans: number }>({
      text: `select (select count(distinct iccid)::int from profiles where tenant_id = $1) as delivered,
               (select count(*)::int from order_items where tenant_id = $1 and item_status = 'REVIEW') as review,
               (select count(*)::int from order_items where tenant_id = $1 and item_status = 'REFUSED') as refused,
               (select count(*)::int from orphans where tenant_id = $1) as orphans`,
      values: [tenantId],
    })
    const wallet = await walletOf(scene.shop.db, tenantId)
    expect(wallet.balance).toBe(wallet.sum)
    expect(wallet.refunds).toBe(row!.refused)
    return { ...row!, taken: await scene.soldCount(name) }
  }

  it.each(points)('neither loses an eSIM nor buys one twice if it dies at %s while buying', async (point) => {
    const { delivered, review, refused, orphans, taken } = await countOf(point)
    expect([refused, orphans]).toEqual([0, 0])
    if (!inDoubt.includes(point)) {
      expect({ delivered, review, taken }).toEqual({ delivered: ORDERS, review: 0, taken: ORDERS })
      return
    }
    expect(delivered + review).toBe(ORDERS)
    expect(taken).toBeLessThanOrEqual(ORDERS)
    expect(taken - delivered).toBeLessThanOrEqual(review)
  })

  it.each(refunds)('refunds every eSIM exactly once if it dies at %s while refunding', async (point) => {
    const { delivered, refused, taken } = await countOf(`refused ${point}`)
    expect({ delivered, refused, taken }).toEqual({ delivered: 0, refused: ORDERS, taken: 0 })
  })
})
