import type { OrderPaidContent } from '@dealer-esim/contract'
import type { Ids } from '../lib/ids.ts'
import { plainArray, ROWS, type RowFormat } from '../lib/postgres/columns.ts'
import type { Tx } from '../lib/postgres/db.ts'
import type { CachedWallet } from '../wallet/cache.ts'
import { movedValues } from '../wallet/debit.ts'
import type { PlacedOrder } from './decide.ts'
import type { Judged } from './judge.ts'
import { WRITE, WRITE_IF_UNCHANGED, WRITE_ONE_IF_UNCHANGED } from './write.sql.ts'

/**
 * Writes what a batch has placed: orders, items, debits, events and what is left of the wallets, by one statement
 * without a round trip of its own. The caller holds the wallets' row locks, so nothing here waits for a lock: all other
 * rows are new. After the commit the caller wakes fulfilment and the sender.
 *
 * Measured, in µs of the server's time an order, for a lone one, 16 of 16 wallets, 64 of one wallet and 64 of 64: 617,
 * 145, 74 and 90; by a statement a table and JSON for orders and items 894, 157, 88 and 105; by this statement over
 * jsonb_to_recordset 829, 158, 91 and 107.
 */
export async function writePlaced(tx: Tx, ids: Ids, judged: Judged): Promise<CachedWallet[]> {
  if (judged.placed.length === 0) return []
  const [row] = await tx.query<WrittenRow>({ ...WRITE, values: valuesOf(ROWS, ids, judged) })
  return rememberedOf(judged, row!)
}

/** What orders were judged on without a look at the database. */
export interface Assumptions {
  /** Of the wallets, in ascending tenant order. */
  rowHashes: readonly string[]
  catalogueVersion: bigint
  /** The UTC day that was taken for today. */
  today: string
}

/**
 * Locks the wallets and writes the same, provided that what was assumed holds; else nothing. Orders are dated after the
 * locks, by the database's clock.
 * @returns the wallets as they are now; undefined where something did not hold
 * @throws SQLSTATE 23505 where there is an order of one of the transactionIds
 */
export async function writeIfUnchanged(
  tx: Tx,
  ids: Ids,
  judged: Judged,
  assumed: Assumptions,
): Promise<{ now: Date; wallets: CachedWallet[] } | undefined> {
  const { rowHashes, catalogueVersion, today } = assumed
  const isOne = judged.placed.length === 1 && judged.placed[0]!.packageLines.length === 1
  const { name, text, shape } = isOne ? WRITE_ONE_IF_UNCHANGED : WRITE_IF_UNCHANGED
  const values = [...valuesOf(shape, ids, judged), plainArray(rowHashes), catalogueVersion, today]
  const [row] = await tx.query<WrittenRow & { nowMs: number }>({ name, text, values })
  if (!row) return undefined
  const now = new Date(row.nowMs)
  for (const wallet of judged.touched) wallet.updatedAt = now
  return { now, wallets: rememberedOf(judged, row) }
}

interface WrittenRow {
  /** Of the wallets in ascending tenant order, joined by commas: a row for each took the gateway longer to read. */
  rowHashes: string
}

function rememberedOf({ touched }: Judged, written: WrittenRow): CachedWallet[] {
  const rowHashes = written.rowHashes.split(',')
  return touched.map((wallet, index) => Object.assign(wallet, { rowHash: rowHashes[index]! }))
}

function valuesOf(shape: RowFormat, ids: Ids, { placed, touched }: Judged): unknown[] {
  return [...placedValues(shape, ids, placed), ...lineValues(shape, placed), ...movedValues(shape, touched)]
}

function placedValues(shape: RowFormat, ids: Ids, placed: readonly PlacedOrder[]): unknown[] {
  return [
    shape.ids(placed.map((order) => order.tenantId)),
    shape.ids(placed.map((order) => order.orderId)),
    shape.texts(placed.map((order) => order.transactionId)),
    shape.plain(placed.map((order) => order.amount)),
    shape.plain(placed.map((order) => order.currencyCode)),
    shape.plain(placed.map((order) => order.balanceAfter)),
    shape.plain(placed.map((order) => order.walletVersion)),
    shape.jsonbs(placed.map((order) => JSON.stringify(order.packageLines))),
    shape.texts(placed.map((order) => order.remark)),
    shape.times(placed.map((order) => order.createdAt.getTime())),
    shape.ids(placed.map(() => ids.uuid())),
    shape.jsons(placed.map((order) => JSON.stringify(paidContent(order)))),
  ]
}

function lineValues(shape: RowFormat, placed: readonly PlacedOrder[]): unknown[] {
  const lines = placed.flatMap((order) => {
    let items = 0
    return order.packageLines.map(({ packageCode, count, price }, lineNo) => {
      items += count
      return { order, first: items - count + 1, last: items, lineNo, packageCode, price }
    })
  })
  return [
    shape.ids(lines.map(({ order }) => order.tenantId)),
    shape.ids(lines.map(({ order }) => order.orderId)),
    shape.plain(lines.map((line) => line.first)),
    shape.plain(lines.map((line) => line.last)),
    shape.plain(lines.map((line) => line.lineNo)),
    shape.texts(lines.map((line) => line.packageCode)),
    shape.plain(lines.map((line) => line.price)),
    shape.times(lines.map(({ order }) => order.createdAt.getTime())),
  ]
}

function paidContent(order: PlacedOrder): OrderPaidContent {
  return {
    orderNo: order.orderNo,
    transactionId: order.transactionId,
    orderStatus: order.orderStatus,
    sequence: 1,
    amount: Number(order.amount),
    currencyCode: order.currencyCode,
    balanceAfter: Number(order.balanceAfter),
    packageInfoList: order.packageLines,
  }
}
