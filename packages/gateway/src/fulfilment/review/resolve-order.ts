import { orderNoOf } from '@dealer-esim/contract'
import { notFound, Refusal } from '@dealer-esim/lib/refusal.ts'
import type { CataloguePackage } from '#catalogue/catalogue.ts'
import { parseEvidence } from '#orders/justification.ts'
import { type LockedItem, type LockedOrder, lockWalletAndOrders } from '#orders/lock-orders.ts'
import { itemKeyOf } from '#orders/order-item.ts'
import { audit, type By } from '#platform/audit/audit.ts'
import type { CsvEsim } from '#stock/stock-csv.ts'
import { lockResolving } from '#stock/taken-codes.ts'
import type { Suppliers } from '#suppliers/supplier-registry.ts'
import { OutcomeBatch } from '../outcomes/apply-outcome.ts'
import type { Transition } from '../outcomes/item-transition.ts'
import type { FulfilmentDeps } from '../outcomes/outcome-deps.ts'
import { watchItem } from '../outcomes/outcome-items.ts'
import { listEsimOrders } from '../outcomes/top-up-orders.ts'
import { type AssignedEsim, recordResolvedCodes, refuseDuplicateEsims, refuseTakenEsims } from './taken-esims.ts'

/** The supplier's statement about the eSIMs under review. */
export type ItemVerdict =
  | { kind: 'delivered'; esims: readonly CsvEsim[] }
  /** The package was added to the eSIM of a TOPUP order. */
  | { kind: 'toppedUp' }
  | { kind: 'refused' }
  /** Nothing was bought, and the order may be sent again. */
  | { kind: 'retry' }

export interface Resolution {
  tenantId: string
  orderId: string
  verdict: ItemVerdict
  /** The supplier's statement, a ticket or a name that another operator can check. Goes into the audit log. */
  evidence: string
  /** Absent: every item under review. */
  itemNos?: readonly number[]
}

/**
 * Records what a supplier said about an order's eSIMs under review, with evidence. An item that is resolved as refused while a
 * supplier may still deliver it stays watched: an eSIM that arrives for it later becomes an orphan.
 *
 * Locks: for delivered eSIMs the resolution lock, which deliveries share; then the wallet, the order and, for a top-up, the
 * order that delivered its eSIM.
 * @returns the resolved items.
 * @throws Refusal
 */
export async function resolveOrder(
  deps: Pick<FulfilmentDeps, 'db' | 'ids' | 'cipher' | 'catalogue' | 'wake' | 'linkKey'> & {
    suppliers: Pick<Suppliers, 'get'>
  },
  resolution: Resolution,
  by: By,
): Promise<number[]> {
  const { tenantId, orderId, verdict } = resolution
  const evidence = parseEvidence(resolution.evidence)
  const catalogue = await deps.catalogue.latest()
  const itemNos = await deps.db.tx(async (tx) => {
    if (verdict.kind === 'delivered') {
      refuseDuplicateEsims(deps.linkKey, verdict.esims)
      lockResolving(tx)
    }
    const esimOrderIds = verdict.kind === 'toppedUp' ? await listEsimOrders(tx, tenantId, [orderId]) : []
    const { orders, esimOrders, now, databaseNow } = await lockWalletAndOrders(
      tx,
      tenantId,
      [orderId],
      undefined,
      esimOrderIds,
    )
    const order = orders.get(orderId)
    if (order === undefined) throw notFound('order')
    refuseOtherKind(order, verdict)
    const before = order.orderStatus
    const items = underReview(order, resolution.itemNos)
    const assigned = verdict.kind === 'delivered' ? assignEsims(verdict.esims, orderId, items) : []
    if (assigned.length > 0) await refuseTakenEsims(tx, deps.linkKey, assigned)
    const batch = new OutcomeBatch(deps, tenantId, { now, databaseNow }, (code) => catalogue.find(code))
    for (const [index, item] of items.entries()) {
      const { supplier, inDoubtAt, retryAt } = item
      // A supplier may have bought it, or, if nobody asks it again, may have done so before a restore.
      const mayArrive = inDoubtAt !== null || retryAt === null
      if (supplier === null && (verdict.kind === 'delivered' || verdict.kind === 'toppedUp')) {
        const message = `Item ${item.itemNo} was never ordered from a supplier. Resolve it with --retry or --refused.`
        throw new Refusal(409, 'NEVER_ASKED', message)
      }
      // The item is being retried from review, perhaps by a purchase. When the answer arrives, the item must neither be
      // open for another purchase nor have another eSIM: nobody would look for what was bought. A refunded item is watched
      // instead.
      if (verdict.kind !== 'refused' && retryAt === null && inDoubtAt !== null) {
        const message = `The supplier is currently being asked about item ${item.itemNo}. Try again in a minute.`
        throw new Refusal(409, 'BEING_ASKED', message)
      }
      batch.applyTransition(order, item, transitionOf(verdict, assigned[index], databaseNow), supplier)
      if (verdict.kind === 'refused' && mayArrive && supplier !== null) {
        const { itemNo, productCode } = item
        const isRestored = inDoubtAt === null
        const otherSuppliers = isRestored ? otherSuppliersOf(order, item, catalogue.find(item.packageCode)) : null
        const watched = {
          orderId,
          itemNo,
          purpose: 'REFUNDED_IN_DOUBT',
          supplier,
          productCode,
          otherSuppliers,
        } as const
        watchItem(tx, tenantId, watched, databaseNow)
      }
      if (verdict.kind === 'retry') Object.assign(item, { requestedAt: null, attempts: 1 })
    }
    batch.release(orders, { leaseToken: undefined })
    await batch.write(tx, orders, esimOrders)
    if (verdict.kind === 'delivered') recordResolvedCodes(tx, deps.linkKey, { tenantId, orderId }, verdict.esims)
    audit(tx, deps.ids, {
      tenantId,
      ...by,
      action: 'order.settle',
      subject: orderNoOf(orderId),
      before: { orderStatus: before },
      after: { orderStatus: order.orderStatus, verdict: verdict.kind, items: items.map((i) => i.itemNo), evidence },
    })
    return items.map((item) => item.itemNo)
  })
  deps.wake.wake('webhooks')
  deps.wake.wake('fulfilment')
  return itemNos
}

/**
 * After a restore, nobody knows at which supplier of the package the lost gateway bought. A top-up is bought where its eSIM is.
 * @returns each other supplier with its product, or null if the package has no other
 */
function otherSuppliersOf(
  { orderType }: LockedOrder,
  { supplier }: LockedItem,
  bought: CataloguePackage | undefined,
): Record<string, string> | null {
  const others = (bought?.routes ?? []).filter((route) => route.supplier !== supplier)
  if (orderType === 'TOPUP' || others.length === 0) return null
  return Object.fromEntries(others.map((route) => [route.supplier, route.productCode]))
}

function refuseOtherKind({ orderType }: LockedOrder, { kind }: ItemVerdict): void {
  if (kind === 'delivered' && orderType === 'TOPUP') {
    throw new Refusal(422, 'ORDER_IS_TOP_UP', 'The order is a top-up and has no eSIMs. Resolve it as topped up.')
  }
  if (kind === 'toppedUp' && orderType === 'NEW') {
    throw new Refusal(
      422,
      'ORDER_IS_NO_TOP_UP',
      'The order is for new eSIMs. Resolve it with the eSIMs that were delivered.',
    )
  }
}

function underReview(order: LockedOrder, itemNos: readonly number[] | undefined): LockedItem[] {
  const items = order.items.filter((item) => item.itemStatus === 'REVIEW')
  if (items.length === 0) throw new Refusal(409, 'NOT_UNDER_REVIEW', 'No item of this order is under review.')
  if (itemNos === undefined) return items
  const chosen = items.filter((item) => itemNos.includes(item.itemNo))
  if (chosen.length !== new Set(itemNos).size) {
    const open = items.map((item) => item.itemNo).join(', ')
    throw new Refusal(409, 'NOT_UNDER_REVIEW', `Only items ${open} of this order are under review.`)
  }
  return chosen
}

/** Assigns an eSIM of the file to each item. @returns one for each item, in their order. */
function assignEsims(esims: readonly CsvEsim[], orderId: string, items: readonly LockedItem[]): AssignedEsim[] {
  if (esims.length !== items.length) {
    const message = `${items.length} eSIMs are under review, but the file contains ${esims.length}.`
    throw new Refusal(422, 'ESIMS_MISMATCH', message)
  }
  const numbered = esims.some((row) => row.itemNo !== undefined)
  return items.map(({ itemNo }, index) => {
    const row = numbered ? esims.find((esim) => esim.itemNo === itemNo) : esims[index]
    if (row === undefined) throw new Refusal(422, 'ESIMS_MISMATCH', `The file has no eSIM for item ${itemNo}.`)
    return { ...row, key: itemKeyOf(orderId, itemNo) }
  })
}

function transitionOf(verdict: ItemVerdict, assigned: AssignedEsim | undefined, now: Date): Transition {
  switch (verdict.kind) {
    case 'delivered':
      return { to: 'DELIVERED', esim: assigned!.esim }
    case 'toppedUp':
      return { to: 'TOPPED_UP', added: { kind: 'toppedUp' } }
    case 'refused':
      return { to: 'REFUSED', message: 'refused by the supplier' }
    case 'retry':
      return { to: 'WAITING', message: 'not bought; will be tried again', retryAt: now }
    default:
      return verdict satisfies never
  }
}
