import { groupBy } from '../lib/batch.ts'
import type { Wallet } from '../wallet/lock.ts'
import type { BalanceFall } from '../wallet/low-balance-notice.ts'
import {
  type Circumstances,
  decideOrders,
  type ExistingOrder,
  type OrderInput,
  type PlacedOrder,
  type Verdict,
} from './decide.ts'

/** What the orders of several wallets are judged on. */
interface BatchCircumstances extends Pick<Circumstances, 'now' | 'catalogue' | 'available'> {
  /** Earlier orders, by tenant and transactionId. */
  existing: ReadonlyMap<string, Map<string, ExistingOrder>>
}

export interface Judged {
  verdicts: Map<OrderInput, Verdict>
  placed: PlacedOrder[]
  /** Wallets that were debited, with the debits applied. */
  touched: Wallet[]
  /** Those of them that came below, or above, another step of their threshold. */
  falls: BalanceFall[]
}

/** Judges orders wallet by wallet, and applies their debits to the wallets. */
export function judgeOrders(wallets: readonly Wallet[], wishes: OrderInput[], around: BatchCircumstances): Judged {
  const byTenant = groupBy(wishes, ({ tenant }) => tenant.tenantId)
  const judged: Judged = { verdicts: new Map(), placed: [], touched: [], falls: [] }
  for (const wallet of wallets) {
    const ofTenant = byTenant.get(wallet.tenantId) ?? []
    const stepBefore = wallet.lowBalanceStep
    const { verdicts, placed } = decideOrders(wallet, ofTenant, {
      catalogue: around.catalogue,
      available: around.available,
      now: later(around.now, wallet.updatedAt), // created_at never goes back within a wallet
      existing: around.existing.get(wallet.tenantId) ?? new Map(),
    })
    for (const [position, wish] of ofTenant.entries()) judged.verdicts.set(wish, verdicts[position]!)
    if (placed.length === 0) continue
    judged.touched.push(wallet)
    const step = wallet.lowBalanceStep
    if (step !== stepBefore) judged.falls.push({ ...wallet, step, stepBefore })
    judged.placed.push(...placed)
  }
  return judged
}

function later(left: Date, right: Date): Date {
  return left > right ? left : right
}
