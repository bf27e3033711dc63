import sql from 'sql-template-tag'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { setOperatorDetails } from '#wallet/statement/operator-details.ts'
import { addDealer, NODE_ENV, type Node, OPERATOR, startNode } from '../harness/api-node.ts'
import { createTestDatabase, type TestDatabase } from '../harness/databases/database.ts'
import { spawnGateway, startGateway, stopGateways } from '../harness/processes/gateway-process.ts'

/* A gateway is killed while it issues statements, and two others continue simultaneously. */

let database: TestDatabase
let inspector: Node
beforeAll(async () => {
  database = await createTestDatabase()
  inspector = await startNode(database.url)
  const details = { legalName: 'Operator Ltd', taxId: null, address: null }
  await setOperatorDetails(inspector.deps, details, OPERATOR)
})
afterAll(async () => {
  await inspector.stop()
  await stopGateways()
  await database.drop()
})

const DEALERS = 12
const MONTHS = 2

/** Dealers whose accounts began in the month before last. */
async function addDealers(): Promise<string[]> {
  const { db } = inspector.deps
  const ids: string[] = []
  for (let count = 0; count < DEALERS; count++) ids.push((await addDealer(inspector.deps, 1)).tenantId)
  await db.query(sql`
    update tenants set created_at = date_trunc('month', now() at time zone 'utc') at time zone 'utc' - interval '40 days'
    where tenant_id = any (${ids}::uuid[])`)
  return ids
}

const issued = (ids: string[]) =>
  inspector.deps.db.query<{ key: string; document: string }>(sql`
    select tenant_id || ' ' || month as key, document from issued_statements
    where tenant_id = any (${ids}::uuid[]) order by 1`)

describe('a crash while statements are issued', () => {
  it.each([
    { point: 'statement.written', left: 3 },
    { point: 'statement.committed', left: 4 },
  ])('at $point leaves only complete statements, one per dealer and month', async ({ point, left }) => {
    const ids = await addDealers()
    const options = { databaseUrl: database.url, role: 'worker' } as const
    const env = { MASTER_KEY: NODE_ENV.MASTER_KEY }
    // It may die before it is ready.
    const doomed = spawnGateway({ ...options, env: { ...env, PAUSE_AT: `${point}:kill:4` } })
    expect(await doomed.exited).toMatchObject({ signal: 'SIGKILL' })
    const before = await issued(ids)
    expect(before).toHaveLength(left)

    const next = await Promise.all([startGateway({ ...options, env }), startGateway({ ...options, env })])
    await expect.poll(async () => (await issued(ids)).length, { timeout: 60_000 }).toBe(DEALERS * MONTHS)
    const after = await issued(ids)
    expect(new Set(after.map(({ key }) => key)).size).toBe(DEALERS * MONTHS)
    for (const statement of before) expect(after).toContainEqual(statement)
    const entries = await inspector.deps.db.query<{ subject: string }>(sql`
      select subject from audit_log where tenant_id = any (${ids}::uuid[]) and action = 'statement.issue'`)
    expect(entries).toHaveLength(DEALERS * MONTHS)
    expect(new Set(entries.map(({ subject }) => subject)).size).toBe(DEALERS * MONTHS)
    await Promise.all(next.map((gateway) => gateway.kill('SIGTERM')))
  })
})
