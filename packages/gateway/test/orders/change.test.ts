import type { OrderStatus } from '@dealer-esim/contract'
import { systemIds } from '@dealer-esim/lib/ids.ts'
import { createDb, type Database } from '@dealer-esim/lib/postgres/db.ts'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { changeOrders } from '#orders/change-order.ts'
import type { LockedItem, LockedOrder } from '#orders/lock-orders.ts'
import { createTestDatabase, type TestDatabase } from '../harness/databases/database.ts'

let database: TestDatabase
let db: Database
beforeAll(async () => {
  database = await createTestDatabase()
  db = createDb({ url: database.url, poolSize: 1, applicationName: 'test change' })
})
afterAll(async () => {
  await db.close()
  await database.drop()
})

/** A paid order whose only eSIM has just been delivered. */
function deliveredOrder(): LockedOrder {
  return {
    ...{ orderId: systemIds.uuid(), transactionId: 'T', orderType: 'NEW', toppedUpProfileId: null },
    ...{ orderStatus: 'PAID', refundedAmount: 0n, currencyCode: 'USD', eventSequence: 1, packageLines: [] },
    createdAt: new Date(),
    items: [{ itemNo: 1, itemStatus: 'DELIVERED', attempts: 1, routeNo: 0 } as LockedItem],
    profiles: [],
  }
}

test('a status is counted in the metric after its commit, but not after a rollback', async () => {
  const counted: OrderStatus[] = []
  const deps = { ids: systemIds, orderMetrics: { entered: (status: OrderStatus) => void counted.push(status) } }
  const change = (fail: boolean) =>
    db.tx(async (tx) => {
      const changes = [{ order: deliveredOrder(), profilesChanged: true }]
      changeOrders(tx, deps, systemIds.uuid(), changes, new Date())
      expect(counted).toEqual([])
      if (fail) throw new Error('a later statement failed')
    })
  await expect(change(true)).rejects.toThrow('a later statement failed')
  expect(counted).toEqual([])
  await change(false)
  expect(counted).toEqual(['ALLOCATING', 'DELIVERED'])
})
