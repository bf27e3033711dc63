import type { Batcher } from '@dealer-esim/lib/batch.ts'
import { systemClock } from '@dealer-esim/lib/clock.ts'
import { systemIds } from '@dealer-esim/lib/ids.ts'
import { createDb, type Db } from '@dealer-esim/lib/postgres/db.ts'
import { maintainPartitions } from '#platform/retention/retention-table.ts'
import { type AdmissionInput, type AdmissionResult, createAdmissionBatcher } from '#tenants/admission/admit-batch.ts'
import { createTestDatabase } from '#test/harness/databases/database.ts'

export const MINUTE_MS = 60_000
export const HOUR_MS = 3_600_000

/** One node's admission, with a database clock that a test sets. */
interface TestNode extends Batcher<AdmissionInput, AdmissionResult> {
  /** The database's time as assumed by this node. */
  nowMs: number
  partitionsMade: number
}

export interface AdmissionNodes {
  db: Db
  url: string
  nodes: TestNode[]
  addTenant(qpsLimit?: number): Promise<string>
  close(): Promise<void>
}

/** Starts nodes on one database, as createAdmission does, without the checks that precede admission. */
export async function startAdmissionNodes(count = 2): Promise<AdmissionNodes> {
  const database = await createTestDatabase()
  const db = createDb({ url: database.url, poolSize: 4, applicationName: 'test' })
  const pools = Array.from({ length: count }, (_, i) =>
    createDb({
      ...{ url: database.url, poolSize: 3, applicationName: `test node ${i}` },
      ...{ asynchronousCommit: true, genericPlans: true },
    }),
  )
  const nodes = pools.map((pool): TestNode => {
    const clock = { now: () => node.nowMs, observe: () => {} }
    const batches = createAdmissionBatcher({
      db: pool,
      clock: systemClock,
      databaseClock: clock,
      defaultQpsLimit: 100_000,
      maintainPartitions() {
        node.partitionsMade++
        return maintainPartitions(db)
      },
    })
    const node: TestNode = Object.assign(batches, { nowMs: Date.now(), partitionsMade: 0 })
    return node
  })
  return {
    db,
    url: database.url,
    nodes,
    async addTenant(qpsLimit) {
      const tenantId = systemIds.uuid()
      await db.query({
        text: `insert into tenants (tenant_id, app_key, tenant_name, currency_code, qps_limit)
               values ($1::uuid, $1::text, 'Test', 'USD', $2)`,
        values: [tenantId, qpsLimit ?? null],
      })
      return tenantId
    },
    async close() {
      await Promise.all(pools.map((pool) => pool.close()))
      await db.close()
      await database.drop()
    },
  }
}

/** The next full hour by the machine's clock. There are partitions on both sides of it. */
export function nextEdgeMs(): number {
  return Math.ceil((Date.now() + 1) / HOUR_MS) * HOUR_MS
}

export function inputOf(tenantId: string, requestId: string, timestampMs: number, version = 1n): AdmissionInput {
  return { tenantId, requestId, timestampMs, version }
}
