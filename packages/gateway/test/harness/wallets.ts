import { createCipher } from '@dealer-esim/lib/crypto.ts'
import { systemIds } from '@dealer-esim/lib/ids.ts'
import { createDb, type Db, type Tx } from '@dealer-esim/lib/postgres/db.ts'
import sql from 'sql-template-tag'
import type { Topic } from '#deps.ts'
import { lockWalletAndOrders } from '#orders/lock-orders.ts'
import { type RefundedItem, refundItems } from '#orders/refund.ts'
import type { Actor } from '#platform/audit/audit.ts'
import { createTenant } from '#tenants/create-tenant.ts'
import { lockWallet } from '#wallet/ledger/lock-wallets.ts'
import { createTestDatabase } from './databases/database.ts'

export const ALICE = { actor: 'cli:alice' as Actor }
export const BOB = { actor: 'person:bob' as Actor }

/** A separate database with the dependencies of the tenant and wallet modules. `woken` collects wakeups. */
export async function createWalletTestbed(poolSize = 10) {
  const database = await createTestDatabase()
  const db = createDb({ url: database.url, poolSize, applicationName: 'test wallets' })
  const woken: Topic[] = []
  const deps = {
    db,
    ids: systemIds,
    config: { cellName: 'main' },
    cipher: createCipher([systemIds.bytes(32)]),
    wake: { wake: (topic: Topic) => void woken.push(topic) },
  }
  return {
    deps,
    db,
    url: database.url,
    woken,
    tenant: async (currencyCode = 'USD') => createTenant(deps, { clientName: 'Test dealer', currencyCode }, ALICE),
    async close() {
      await db.close()
      await database.drop()
    },
  }
}

/**
 * Inserts an order with the rows that the order path writes, one item per price. Does not check the balance.
 */
export async function insertPaidOrder(db: Db, tenantId: string, prices: bigint[]): Promise<string> {
  const orderId = systemIds.uuid()
  const amount = prices.reduce((sum, price) => sum + price, 0n)
  await db.tx(async (tx) => {
    const wallet = await lockWallet(tx, tenantId)
    const [version, balance] = [wallet.version + 1n, wallet.balance - amount]
    const [row] = await tx.query<{ updatedAt: Date }>(sql`
      update wallets set version = ${version}, balance = ${balance},
        spent = case when spent_on = (clock_timestamp() at time zone 'utc')::date then spent else 0 end + ${amount},
        spent_on = (clock_timestamp() at time zone 'utc')::date,
        updated_at = greatest(date_trunc('milliseconds', clock_timestamp()), updated_at)
      where tenant_id = ${tenantId} returning updated_at`)
    tx.send(sql`
      insert into transfers (tenant_id, wallet_version, kind, from_account, to_account, amount, balance_after,
                             order_id, created_at)
      values (${tenantId}, ${version}, 'ORDER', 'WALLET', 'SALES', ${amount}, ${balance}, ${orderId},
              ${row!.updatedAt})`)
    tx.send(sql`
      insert into orders (tenant_id, order_id, transaction_id, order_status, amount, currency_code, balance_after,
                          wallet_version, package_lines, status_history, event_sequence, created_at, updated_at)
      values (${tenantId}, ${orderId}, ${`T-${orderId}`}, 'PAID', ${amount}, 'USD', ${balance}, ${version}, '[]',
              jsonb_build_array(jsonb_build_object('orderStatus', 'PAID', 'time', ${row!.updatedAt}::timestamptz)), 1, ${row!.updatedAt}, ${row!.updatedAt})`)
    for (const [index, price] of prices.entries()) {
      tx.send(sql`
        insert into order_items (tenant_id, order_id, item_no, line_no, package_code, price, updated_at)
        values (${tenantId}, ${orderId}, ${index + 1}, 0, 'P', ${price}, ${row!.updatedAt})`)
    }
  })
  return orderId
}

/** Refunds items as fulfilment does. @returns the order's total refund */
export async function refundLocked(tx: Tx, tenantId: string, orderId: string, items: RefundedItem[]): Promise<bigint> {
  const { orders } = await lockWalletAndOrders(tx, tenantId, [orderId])
  const order = orders.get(orderId)!
  await refundItems(tx, tenantId, order, items, 'refused')
  return order.refundedAmount
}

/** Marks items as refused by their supplier and refunds them, in one transaction. */
export async function refuseItems(db: Db, tenantId: string, orderId: string, items: RefundedItem[]): Promise<void> {
  await db.tx(async (tx) => {
    await refundLocked(tx, tenantId, orderId, items)
    tx.send(sql`
      update order_items set item_status = 'REFUSED'
      where tenant_id = ${tenantId} and order_id = ${orderId} and item_no = any(${items.map((item) => item.itemNo)})`)
  })
}
