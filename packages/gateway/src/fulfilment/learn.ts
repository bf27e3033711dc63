import { itemKeyOf } from '../orders/item-key.ts'
import type { Supplied } from '../suppliers/registry.ts'
import type { Outcome } from '../suppliers/supplier.ts'
import type { Attempt } from './begin.ts'
import type { FulfilmentDeps } from './deps.ts'
import { finishWork } from './finish.ts'

/** Takes in an eSIM that is known to exist: delivered where the item still wants it, else an orphan. */
export async function learnOutcome(
  deps: FulfilmentDeps,
  supplied: Supplied,
  item: { tenantId: string; orderId: string; itemNo: number; productCode: string },
  outcome: Outcome,
): Promise<void> {
  const { tenantId, orderId, itemNo, productCode } = item
  const attempt: Attempt = {
    attemptId: deps.ids.uuid(), // of no row: nothing was sent
    orderId,
    itemNo,
    key: itemKeyOf(orderId, itemNo),
    supplied,
    productCode,
    operation: 'QUERY',
    startedAt: new Date(deps.clock.now()),
    doubtSince: null,
  }
  await finishWork(deps, tenantId, { leaseToken: undefined }, [{ orderId, itemNo, outcome, attempt }])
}
