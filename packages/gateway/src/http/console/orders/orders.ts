import { ORDER_STATUSES, ORDER_TYPES, orderIdOf, orderNoOf } from '@dealer-esim/contract'
import { notFound, Refusal } from '@dealer-esim/lib/refusal.ts'
import sql, { raw } from 'sql-template-tag'
import Type, { type Static } from 'typebox'
import { getBuyer, type Snapshot } from '#catalogue/catalogue.ts'
import { locationOf, salesLocation } from '#catalogue/coverage.ts'
import { searchProfiles } from '#esims/search-profiles.ts'
import { listRecipients } from '#esims/sends/list-recipients.ts'
import { IS_OPEN } from '#orders/esim-action.ts'
import { itemKeyOf } from '#orders/order-item.ts'
import { parseEntryNo, parseOrderNo } from '#orders/reading/find-order.ts'
import { readTimeline, type Step } from '#orders/reading/order-timeline.ts'
import { type WaitingItem, waitingOf } from '#orders/reading/order-waiting.ts'
import {
  countOrders,
  type FoundOrder,
  type OrderFilter,
  type OrderSort,
  searchOrders,
} from '#orders/reading/search-orders.ts'
import { sentence } from '#people/languages/translate-answer.ts'
import { getOrderSums, type Sums } from '#sales/list-sales.ts'
import { maySeeTravellers, profileRow, rowOfProfile } from '../esims/esims.ts'
import { createActorNaming } from '../kernel/actors.ts'
import { visibleMembers } from '../kernel/audit-visibility.ts'
import { type ListQuery, listRoutes } from '../kernel/list-routes.ts'
import { type Context, EVERY_ROLE, type Route, route } from '../kernel/route.ts'
import { entryNo, line, location, money, nullable, orderParams, time, toDate, uuid } from '../kernel/route-schemas.ts'
import { viewOf } from '../sales-view.ts'

const orderRow = Type.Object({
  tenantId: Type.String(),
  clientName: Type.String(),
  orderNo: Type.String(),
  entryNo: entryNo(),
  transactionId: Type.String(),
  orderType: Type.Enum(['NEW', 'TOPUP']),
  toppedUpProfileId: nullable(Type.String({ description: 'Of a TOPUP: the eSIM that it adds to' })),
  orderStatus: Type.Enum(ORDER_STATUSES),
  amount: money(),
  refundedAmount: money(),
  currencyCode: Type.String(),
  packages: Type.Array(Type.String()),
  location: location(),
  esims: Type.Integer(),
  unsignedFrom: nullable(Type.String({ description: 'The address of the request without a signature that placed it' })),
  createdAt: time(),
  updatedAt: time(),
})
export type OrderRow = Static<typeof orderRow>

const item = Type.Object({
  itemNo: Type.Integer(),
  packageCode: Type.String(),
  packageName: Type.String({ description: 'As ordered' }),
  location: location(),
  price: money(),
  itemStatus: Type.String(),
  failureReason: nullable(sentence()),
  /** For operators only. */
  supplier: nullable(Type.String()),
  supplierKey: nullable(Type.String({ description: 'The item’s key at suppliers. For operators only' })),
  productCode: nullable(Type.String()),
  cost: nullable(money()),
  costCurrency: nullable(Type.String()),
  /** The amount that the supplier reports as charged. */
  charged: nullable(money()),
  chargedCurrency: nullable(Type.String()),
  attempts: nullable(Type.Integer()),
  cancelInQuestion: Type.Boolean({
    description: 'A cancellation without an answer from the supplier. For operators only',
  }),
})
export type OrderItem = Static<typeof item>

const step = Type.Object({
  at: time(),
  kind: Type.Enum(['REQUEST', 'STATUS', 'DEBIT', 'REFUND', 'ATTEMPT', 'EVENT', 'DELIVERY', 'DECISION']),
  orderStatus: Type.Optional(Type.String()),
  amount: Type.Optional(money()),
  balanceAfter: Type.Optional(money()),
  itemNo: Type.Optional(nullable(Type.Integer())),
  reason: Type.Optional(nullable(sentence())),
  supplier: Type.Optional(Type.String()),
  operation: Type.Optional(Type.String()),
  outcome: Type.Optional(nullable(Type.String())),
  detail: Type.Optional(nullable(sentence())),
  duration_ms: Type.Optional(nullable(Type.Integer())),
  notifyId: Type.Optional(Type.String()),
  notifyType: Type.Optional(Type.String()),
  deliveryState: Type.Optional(Type.String()),
  httpStatus: Type.Optional(nullable(Type.Integer())),
  actor: Type.Optional(Type.String()),
  action: Type.Optional(Type.String()),
  after: Type.Optional(Type.Unknown()),
})
export type TimelineStep = Static<typeof step>

const detail = Type.Object({
  ...orderRow.properties,
  balanceAfter: money(),
  remark: nullable(Type.String()),
  items: Type.Array(item),
  margin: nullable(
    Type.Object(
      { cost: money(), margin: nullable(money()), unknownItems: Type.Integer() },
      { description: 'For operators only' },
    ),
  ),
  profiles: Type.Array(profileRow),
  deliverTo: Type.Array(Type.Object({ email: Type.String(), name: nullable(Type.String()) }), {
    description:
      'To whom the order sends its eSIMs once they are there. Only for people who may send them, until they are forgotten',
  }),
  waiting: nullable(
    Type.Object(
      {
        reason: Type.Enum(['NOT_ASKED', 'NOT_BOUGHT', 'NO_ANSWER', 'REVIEW'], {
          description:
            'NO_ANSWER: the supplier may have sold it. NOT_BOUGHT: the supplier was asked and sold nothing. NOT_ASKED: no supplier has been asked yet. REVIEW: an operator decides',
        }),
        supplier: nullable(Type.String({ description: 'For operators only' })),
        since: time(),
        nextAskAt: nullable(time()),
        reviewAt: nullable(time()),
      },
      {
        description:
          'Which supplier an undecided order is waiting for, since when, when the gateway asks it next, and when the order goes to review',
      },
    ),
  ),
  timeline: Type.Array(step),
})
export type OrderDetail = Static<typeof detail>

const filters = {
  tenantId: Type.Optional(uuid()),
  status: Type.Optional(Type.Enum(ORDER_STATUSES)),
  waiting: Type.Optional(
    Type.Enum(['LATE'], { description: 'LATE: undecided for longer than is usual at the supplier' }),
  ),
  q: Type.Optional(line(100)),
  orderType: Type.Optional(Type.Enum(ORDER_TYPES)),
  packageCode: Type.Optional(line(64)),
  country: Type.Optional(
    Type.String({
      pattern: '^([A-Z]{2}|!RG|!GL)$',
      description: 'Packages of this country only; !RG and !GL: of several',
    }),
  ),
  supplier: Type.Optional(
    Type.String({ minLength: 1, maxLength: 64, description: 'Which delivered. For operators only' }),
  ),
  amountFrom: Type.Optional(money()),
  amountTo: Type.Optional(money()),
  from: Type.Optional(time()),
  to: Type.Optional(time()),
}

export const orderRoutes: Route[] = [
  ...listRoutes({
    name: 'orders',
    path: '/orders',
    access: EVERY_ROLE,
    testMode: 'TWIN',
    summary:
      'Orders, newest first. q is an order number (#1042 for people), a transactionId or an ICCID. Only the operator filters by supplier',
    filters,
    row: orderRow,
    sorts: { createdAt: 'INDEX', amount: 'FILTERED', transactionId: 'FILTERED', clientName: 'FILTERED' },
    firstSort: '-createdAt',
    async find(context, query, { column, ...page }) {
      const found = await searchOrders(context.deps.db, await filterOf(context, query), {
        column: column as OrderSort,
        ...page,
      })
      const snapshot = await context.deps.catalogue.latest()
      return { ...found, rows: found.orders.map((order) => rowOfOrder(order, snapshot)) }
    },
    count: async (context, query) => countOrders(context.deps.db, await filterOf(context, query)),
    csv: {
      orderNo: (row) => row.orderNo,
      transactionId: (row) => row.transactionId,
      dealer: (row) => row.clientName,
      type: (row) => row.orderType,
      status: (row) => row.orderStatus,
      packages: (row) => row.packages.join(', '),
      esims: (row) => row.esims,
      amount: (row) => row.amount,
      refunded: (row) => row.refundedAmount,
      currency: (row) => row.currencyCode,
      createdAt: (row) => row.createdAt,
      updatedAt: (row) => row.updatedAt,
      entryNo: (row) => Number(row.entryNo),
    },
  }),
  route('GET /orders/locations', {
    access: EVERY_ROLE,
    testMode: 'TWIN',
    summary: 'The countries of packages, !RG and !GL among them, by which orders can be filtered',
    answer: Type.Object({ locations: Type.Array(Type.String()) }),
    handle: async (context) => ({ locations: await locationsFor(context) }),
  }),
  route('GET /tenants/:tenantId/orders/:orderNo', {
    access: EVERY_ROLE,
    testMode: 'TWIN',
    summary: 'An order with its eSIMs and its timeline',
    params: orderParams,
    answer: detail,
    handle: (context, { params }) => describe(context, params.tenantId, params.orderNo),
  }),
]

type OrderQuery = ListQuery<typeof filters>

function rowOfOrder({ orderId, packageCode, ...row }: FoundOrder, snapshot: Pick<Snapshot, 'find'>) {
  return { ...row, orderNo: orderNoOf(orderId), location: locationOf(snapshot, packageCode) }
}

async function filterOf(context: Context, query: OrderQuery): Promise<OrderFilter> {
  const { q, packageCode, country, supplier, from, to, ...others } = query
  return {
    ...others,
    ...idFilter(q),
    tenantId: context.onlyTenant ?? query.tenantId ?? null,
    packageCodes: await packagesOf(context, { packageCode, country }),
    supplier: supplierFilter(context, supplier),
    from: toDate(from),
    to: toDate(to),
  }
}

/** Any text may be a transactionId, even one in the form of an order number (a ULID) or an ICCID. */
function idFilter(q: string | undefined): Pick<OrderFilter, 'orderId' | 'entryNo' | 'transactionId' | 'iccid'> {
  if (q === undefined) return {}
  const orderId = orderIdOf(q.toUpperCase())
  const entryNo = parseEntryNo(q)
  const iccid = /^\d{18,20}F?$/i.test(q) ? q.replace(/F$/i, '') : undefined
  return {
    transactionId: q,
    ...(orderId !== undefined && { orderId }),
    ...(entryNo !== undefined && { entryNo }),
    ...(iccid !== undefined && { iccid }),
  }
}

/** The locations for filtering orders. A dealer gets those of packages with a price for it, on sale or not. */
async function locationsFor({ deps, onlyTenant }: Context): Promise<string[]> {
  const snapshot = await deps.catalogue.latest()
  const items =
    onlyTenant === null
      ? snapshot.packages
      : [...snapshot.quotes(await getBuyer(deps.db, onlyTenant))].map((quoted) => quoted.item)
  return [...new Set(items.map((item) => salesLocation(item.coverage)))].sort()
}

/** The packages to which the filters apply; undefined: all. */
async function packagesOf({ deps }: Context, query: { packageCode: string | undefined; country: string | undefined }) {
  const { packageCode, country } = query
  if (country === undefined) return packageCode === undefined ? undefined : [packageCode]
  const packages = (await deps.catalogue.latest()).packages
  return packages
    .filter((item) => salesLocation(item.coverage) === country)
    .map((item) => item.packageCode)
    .filter((code) => packageCode === undefined || code === packageCode)
}

/** Dealers do not see which supplier delivers. @throws Refusal */
function supplierFilter({ onlyTenant }: Context, supplier: string | undefined): string | undefined {
  if (supplier === undefined || onlyTenant === null) return supplier
  throw new Refusal(403, 'NOT_ALLOWED', 'Only the operator can filter by supplier. Remove this filter.')
}

async function describe(context: Context, tenantId: string, orderNo: string) {
  const { deps, onlyTenant } = context
  const orderId = parseOrderNo(orderNo)
  const {
    orders: [found],
  } = await searchOrders(deps.db, { tenantId, orderId }, { limit: 1 })
  if (!found) throw notFound('order')
  const [[columns], items, { profiles }, sums, recipients] = await Promise.all([
    deps.db.query<OrderColumns>(sql`
      select balance_after, remark, status_history as history, created_at, due_at
      from orders where tenant_id = ${tenantId} and order_id = ${orderId}`),
    deps.db.query<ItemColumns>(sql`
      select item_no, package_code, (
               select o.package_lines -> i.line_no ->> 'packageName' from orders o
               where o.tenant_id = i.tenant_id and o.order_id = i.order_id) as package_name,
             price, item_status,
             failure_reason, supplier, product_code, cost,
             cost_currency, supplier_charge as charged,
             supplier_charge_currency as charged_currency, attempts, requested_at, in_doubt_at, retry_at,
             exists (select from profiles p join esim_actions a using (tenant_id, profile_id)
                     where p.tenant_id = i.tenant_id and p.order_id = i.order_id and p.item_no = i.item_no
                       and a.action = 'CANCEL' and a.attempts > 0 and ${raw(IS_OPEN)})
               as cancel_in_question
      from order_items i where tenant_id = ${tenantId} and order_id = ${orderId} order by item_no`),
    searchProfiles(deps.db, { tenantId, orderId }, { limit: 200 }),
    onlyTenant === null ? getOrderSums(deps.db, tenantId, orderId) : null,
    maySeeTravellers(context) ? listRecipients(deps, tenantId, orderId) : [],
  ])
  const { balanceAfter, remark, history, ...times } = columns as OrderColumns
  const catalogue = await deps.catalogue.latest()
  const timeline = await readTimeline(deps.db, tenantId, orderId, history)
  return {
    ...rowOfOrder(found, catalogue),
    balanceAfter,
    remark,
    items: items
      .map(({ requestedAt: _, inDoubtAt: __, retryAt: ___, ...row }) => ({
        ...row,
        location: locationOf(catalogue, row.packageCode),
        supplierKey: itemKeyOf(orderId, row.itemNo),
      }))
      .map((row) => (onlyTenant === null ? row : forDealer(row))),
    margin: sums && marginOf(sums),
    deliverTo: recipients.map(({ email, name = null }) => ({ email, name })),
    profiles: profiles.map((profile) => rowOfProfile(context, profile, catalogue)).reverse(),
    waiting: describeWaiting(context, items, times),
    timeline: await visibleSteps(context, timeline),
  }
}

function marginOf(sums: Sums) {
  const { cost, margin, unknownItems } = viewOf(sums)
  return { cost, margin, unknownItems }
}

interface OrderColumns {
  balanceAfter: bigint
  remark: string | null
  history: { orderStatus: (typeof ORDER_STATUSES)[number]; time: string }[]
  createdAt: Date
  dueAt: Date | null
}

type ItemColumns = Omit<OrderItem, 'supplierKey' | 'location' | 'itemStatus' | 'attempts'> & WaitingItem

function describeWaiting({ deps, onlyTenant }: Context, items: readonly ItemColumns[], times: Times) {
  const giveUpAfterMs = (supplier: string) => deps.suppliers.get(supplier)?.supplier.traits.giveUpAfterMs
  const waiting = waitingOf(items, times, new Date(deps.databaseClock.now()), giveUpAfterMs)
  if (waiting === undefined) return null
  return { ...waiting, supplier: onlyTenant === null ? waiting.supplier : null }
}

type Times = Pick<OrderColumns, 'createdAt' | 'dueAt'>

/** Hides the supplier, costs, and the supplier's messages from a dealer. As in esim/query, a dealer sees why an eSIM failed. */
function forDealer(row: OrderItem): OrderItem {
  const failed = row.itemStatus === 'REFUSED' || row.itemStatus === 'CANCELLED'
  const costs = { cost: null, costCurrency: null, charged: null, chargedCurrency: null }
  const supplier = { productCode: null, attempts: null, supplier: null, supplierKey: null, cancelInQuestion: false }
  return { ...row, failureReason: failed ? row.failureReason : null, ...costs, ...supplier }
}

async function visibleSteps(context: Context, steps: Step[]) {
  const visible = context.onlyTenant === null ? steps : steps.filter((one) => one.kind !== 'ATTEMPT')
  const nameOf = await createActorNaming(
    context,
    visible.map((one) => (one.kind === 'DECISION' ? one.actor : null)),
  )
  return visible.map((one) => {
    if ('durationMs' in one) {
      const { durationMs, ...rest } = one
      return { ...rest, duration_ms: durationMs }
    }
    if (one.kind !== 'DECISION') return one
    return { ...one, actor: nameOf(one.actor) ?? one.actor, after: visibleMembers(context, one.after) }
  })
}
