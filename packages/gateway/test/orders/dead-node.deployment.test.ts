import { afterAll, beforeAll, expect, it } from 'vitest'
import { addDealer, call, type Node, startNode } from '../harness/api-node.ts'
import { createTestDatabase, type TestDatabase } from '../harness/databases/database.ts'
import { startTcpProxy, type TcpProxy } from '../harness/databases/database-proxies.ts'
import { waitForBlockedStatements } from '../harness/databases/statements.ts'
import { addPackages } from '../http/dealer/api-fixture.ts'

let database: TestDatabase
let proxy: TcpProxy
let silent: Node
let other: Node
beforeAll(async () => {
  database = await createTestDatabase()
  proxy = await startTcpProxy(database.url)
  other = await startNode(database.url)
  await addPackages(other)
  silent = await startNode(proxy.url)
})
afterAll(async () => {
  proxy.cut()
  await Promise.all([silent.stop(0), other.stop()])
  await proxy.close()
  await database.drop()
})

const ORDERS = 'dealer-esim orders'

it('wallets locked by a node whose machine dies are released before another node refuses its order', async () => {
  const dealer = await addDealer(other.deps)
  const order = (at: Node, transactionId: string) => {
    const body = JSON.stringify({ transactionId, packageInfoList: [{ packageCode: 'JP_1_7', count: 1 }] })
    return call(at, dealer, 'esim/order', { body })
  }
  const { db } = other.deps
  const standing = {
    text: `select from pg_stat_activity where application_name = $1 and state = 'idle in transaction'
           and datname = current_database()`,
    values: [ORDERS],
  }
  await db.tx(async (tx) => {
    await tx.query({ text: 'select from wallets where tenant_id = $1 for update', values: [dealer.tenantId] })
    order(silent, 'LOST').catch(() => {})
    await waitForBlockedStatements(db)
    proxy.freeze(ORDERS)
  })
  await expect.poll(() => db.query(standing)).toHaveLength(1)
  // An order that waits too long for its wallet is refused with 000002.
  expect((await order(other, 'KEPT')).code).toBe('000000')
})
