import { createCatalogue } from '@dealer-esim/gateway/catalogue/catalogue.ts'
import { queryUsage } from '@dealer-esim/gateway/esims/esim-usage.ts'
import { listProfiles } from '@dealer-esim/gateway/esims/list-profiles.ts'
import { getOrderWithProfiles } from '@dealer-esim/gateway/esims/query-order.ts'
import { searchProfiles } from '@dealer-esim/gateway/esims/search-profiles.ts'
import { createOrderPlacer } from '@dealer-esim/gateway/orders/placing/order-placer.ts'
import { listOrders } from '@dealer-esim/gateway/orders/reading/list-orders.ts'
import { countOrders, searchOrders } from '@dealer-esim/gateway/orders/reading/search-orders.ts'
import { ensureDeployment } from '@dealer-esim/gateway/platform/deployment/ensure-deployment.ts'
import { listBalancesByDaysLeft, listSales } from '@dealer-esim/gateway/sales/list-sales.ts'
import { listOrderParts } from '@dealer-esim/gateway/sales/order-cells.ts'
import { type CheckpointDeps, getCheckpoint } from '@dealer-esim/gateway/wallet/books/checkpoints.ts'
import { proveConsistency, proveEntry } from '@dealer-esim/gateway/wallet/books/prove-entries.ts'
import { getBalance } from '@dealer-esim/gateway/wallet/ledger/balance.ts'
import { listStatement } from '@dealer-esim/gateway/wallet/statement/list-statements.ts'
import { getStatementPage } from '@dealer-esim/gateway/wallet/statement/statement-entries.ts'
import { searchEvents } from '@dealer-esim/gateway/webhooks/list-events.ts'
import { systemClock } from '@dealer-esim/lib/clock.ts'
import type { Cipher } from '@dealer-esim/lib/crypto.ts'
import { createCursor } from '@dealer-esim/lib/cursor.ts'
import { systemIds } from '@dealer-esim/lib/ids.ts'
import { createDb, type Database, type Db } from '@dealer-esim/lib/postgres/db.ts'
import { orderBody, topUpBody } from '../load.ts'
import { type OrderHistory, orderAt, ordersOf, profileIdAt } from './history.ts'

export const PATHS = [
  'order',
  'topup',
  'query',
  'usage/query',
  'order/list, first page',
  'order/list, deep page',
  'profile/list, first page',
  'profile/list, deep page',
  'balance',
  'account/statement, first page',
  'account/statement, deep page',
  'ledger/proof',
  'ledger/consistency',
  'ledger/checkpoint',
  'statement, first page',
  'statement, deep page',
  'console orders, all dealers',
  'console orders, deep page',
  'console orders, by package',
  'console orders, count',
  'console eSIMs, all dealers',
  'console events, all dealers',
  'sales by day',
  'sales by package',
  'sales by dealer',
  'sales of one dealer',
  'sales by days left',
  'sales dashboard, all dealers',
  'sales dashboard of one dealer',
] as const
export type Path = (typeof PATHS)[number]

/** Orders and deep pages that are read in turn: few enough to be in memory on both sides. */
const SAMPLES = 64
const STATEMENT_PAGE = 100
const CONSOLE_PAGE = { limit: 50 }
/** Counting reads every row, up to 10 000, so both sides count as many: none that the bench has added. */
const COUNTED = 4_000
/** More than the calls of a figure. */
const CHECKPOINTS = 4_000
const WEEK_MS = 7 * 24 * 3_600_000

/** The module functions that the APIs call, each on one connection, for the dealer with half of the orders. */
export async function createOperations({
  url,
  cipher,
  history,
}: {
  url: string
  cipher: Cipher
  history: OrderHistory
}) {
  const db = createDb({ url, poolSize: 1, applicationName: 'bench operations' })
  const orderDb = createDb({ url, poolSize: 1, applicationName: 'bench orders', genericPlans: true })
  const linkKey = await ensureDeployment({ db, cipher, ids: systemIds }, 'local')
  const catalogue = createCatalogue({ db, linkKey, databaseClock: systemClock })
  const tenantId = history.tenantIds[0]!
  const tenant = { tenantId, currencyCode: 'USD', testOffsetMs: 0 }
  const reading = { db, cipher, linkKey, links: { publicUrl: 'http://127.0.0.1' } }
  const placer = createOrderPlacer({
    ...{ db: orderDb, ids: systemIds, clock: systemClock, databaseClock: systemClock, catalogue },
    stock: { available: () => undefined },
    suppliers: { get: () => undefined },
    maintainPartitions: async () => {},
    wake: { wake() {} },
    log: {
      warn({ err }: { err: unknown }) {
        throw err
      },
    },
  })
  const count = ordersOf(history, 0)
  /** An order of the dealer: samples are spread evenly over the middle half of the history. */
  const sampleAt = (index: number) => 2 * Math.floor(count / 4 + ((index % SAMPLES) * count) / (2 * SAMPLES))

  function body(path: Path, index: number): string {
    const n = sampleAt(index)
    const cursorOf = (list: string, key: string) =>
      JSON.stringify({ cursor: createCursor(linkKey, { list, tenantId, filters: {} }, [key]) })
    switch (path) {
      case 'order':
        return orderBody()
      case 'topup':
        return topUpBody(profileIdAt(history, n))
      case 'query':
        return JSON.stringify({ transactionId: orderAt(history, n).transactionId })
      case 'usage/query':
        return JSON.stringify({ esimTranNoList: [profileIdAt(history, n)] })
      case 'order/list, deep page':
        return cursorOf('order/list', orderAt(history, n).orderId)
      case 'profile/list, deep page':
        return cursorOf('esim/profile/list', profileIdAt(history, n))
      case 'account/statement, deep page':
        return cursorOf('account/statement', String(orderAt(history, n).index + 2))
      default:
        return isLedgerPath(path) ? ledgerBody(path, count + 1, orderAt(history, n).index + 2) : '{}'
    }
  }

  function call(path: Path, index: number): Promise<unknown> {
    const request = JSON.parse(body(path, index))
    switch (path) {
      case 'order':
        return placer.place({ tenant, orderId: systemIds.uuid(), request })
      case 'topup':
        return placer.place({ tenant, orderId: systemIds.uuid(), orderType: 'TOPUP', request })
      case 'usage/query':
        return queryUsage(db, tenantId, request.esimTranNoList)
      case 'order/list, first page':
      case 'order/list, deep page':
        return listOrders(reading, tenantId, request)
      case 'query':
        return getOrderWithProfiles(reading, tenantId, request, tenant)
      case 'profile/list, first page':
      case 'profile/list, deep page':
        return listProfiles(reading, tenantId, request)
      case 'balance':
        return getBalance(db, tenantId)
      case 'account/statement, first page':
      case 'account/statement, deep page':
        return listStatement(reading, tenantId, request)
      case 'statement, first page':
        return getStatementPage(db, tenantId, { limit: STATEMENT_PAGE })
      case 'statement, deep page':
        return getStatementPage(db, tenantId, { limit: STATEMENT_PAGE, after: entryBefore(history, sampleAt(index)) })
      default:
        if (isLedgerPath(path)) return callLedger(reading, path, tenantId, request)
        if (isSalesPath(path)) return readSales(db, path, history)
        return callConsole(path, { db, history, order: sampleAt(index) })
    }
  }

  return { db, orderDb, body, call, close: () => Promise.all([db.close(), orderDb.close()]) }
}

type LedgerPath = Extract<Path, `ledger/${string}`>

function isLedgerPath(path: Path): path is LedgerPath {
  return path.startsWith('ledger/')
}

let checkpoints = 0

/** @param entries of the ledger, the first of which is the top-up */
function ledgerBody(path: LedgerPath, entries: number, entryNo: number): string {
  switch (path) {
    case 'ledger/proof':
      return JSON.stringify({ entryNo: String(entryNo), treeSize: entries })
    case 'ledger/consistency':
      return JSON.stringify({ fromSize: entryNo, toSize: entries })
    case 'ledger/checkpoint':
      // Another size each time: the stored note of a size is answered without signing.
      return JSON.stringify({ treeSize: entries - (checkpoints++ % CHECKPOINTS) })
    default:
      return path satisfies never
  }
}

function callLedger(
  reading: Omit<CheckpointDeps, 'ids' | 'config'>,
  path: LedgerPath,
  tenantId: string,
  request: { entryNo: string; treeSize: number } & { fromSize: number; toSize: number },
): Promise<unknown> {
  switch (path) {
    case 'ledger/proof':
      return proveEntry(reading.db, tenantId, request)
    case 'ledger/consistency':
      return proveConsistency(reading.db, tenantId, request)
    case 'ledger/checkpoint':
      return getCheckpoint({ ...reading, ids: systemIds, config: { cellName: 'main' } }, tenantId, request)
    default:
      return path satisfies never
  }
}

function entryBefore(history: OrderHistory, order: number): bigint {
  return BigInt(orderAt(history, order).index + 2)
}

type ConsolePath = Extract<Path, `console ${string}`>

/** Lists of the console, of all dealers or of the one with half of the orders. */
function callConsole(
  path: ConsolePath,
  { db, history, order }: { db: Pick<Database, 'query'>; history: OrderHistory; order: number },
): Promise<unknown> {
  const tenantId = history.tenantIds[0]!
  switch (path) {
    case 'console orders, all dealers':
      return searchOrders(db, { tenantId: null }, CONSOLE_PAGE)
    case 'console orders, deep page':
      return searchOrders(db, { tenantId }, { ...CONSOLE_PAGE, after: [orderAt(history, order).orderId] })
    case 'console orders, by package':
      return searchOrders(db, { tenantId: null, packageCodes: ['JP_1_7'] }, CONSOLE_PAGE)
    case 'console orders, count':
      return countOrders(db, { tenantId, from: timeOfLast(history, COUNTED), to: timeOfLast(history, 0) })
    case 'console eSIMs, all dealers':
      return searchProfiles(db, { tenantId: null }, CONSOLE_PAGE)
    case 'console events, all dealers':
      return searchEvents(db, {}, CONSOLE_PAGE)
    default:
      return path satisfies never
  }
}

/** The time at which the dealer with half of the orders had placed all but the last `count` of them. */
function timeOfLast({ startMs, orders }: OrderHistory, count: number): Date {
  return new Date(startMs + (1 - (2 * count) / orders) * WEEK_MS)
}

type SalesPath = Extract<Path, `sales ${string}`>

function isSalesPath(path: SalesPath | ConsolePath): path is SalesPath {
  return path.startsWith('sales ')
}

/** Figures of the week of the history: of all dealers, or of the one with half of the orders. */
function readSales(db: Db, path: SalesPath, { startMs, tenantIds }: OrderHistory): Promise<unknown> {
  const dayOf = (timeMs: number) => new Date(timeMs).toISOString().slice(0, 10)
  const week = { from: dayOf(startMs), to: dayOf(startMs + WEEK_MS) }
  const starts = Array.from({ length: 8 }, (_, day) => new Date(Date.parse(week.from) + (day * WEEK_MS) / 7))
  switch (path) {
    case 'sales by day':
      return listSales(db, 'day', week)
    case 'sales by package':
      return listSales(db, 'package', week)
    case 'sales by dealer':
      return listSales(db, 'tenant', week)
    case 'sales by days left':
      return listBalancesByDaysLeft(db, { ...week, limit: 100 })
    case 'sales dashboard, all dealers':
      return listOrderParts(db, { tenantId: null, starts })
    case 'sales dashboard of one dealer':
      return listOrderParts(db, { tenantId: tenantIds[0]!, starts })
    case 'sales of one dealer':
      return listSales(db, 'package', { ...week, tenantIds: tenantIds.slice(0, 1) })
    default:
      return path satisfies never
  }
}
