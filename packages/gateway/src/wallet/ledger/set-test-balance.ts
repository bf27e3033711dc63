import { ApiError } from '@dealer-esim/lib/api-error.ts'
import type { Ids } from '@dealer-esim/lib/ids.ts'
import type { Db } from '@dealer-esim/lib/postgres/db.ts'
import { Refusal } from '@dealer-esim/lib/refusal.ts'
import { lowBalancePercent, reportLowBalance } from './balance.ts'
import { checkAmount, checkFits, checkWhole } from './ledger-checks.ts'
import { lockWallet } from './lock-wallets.ts'
import { post } from './post.ts'

/**
 * Sets the balance of a test account: posts the difference as an adjustment, if there is one. No second person approves it, because
 * it is not real money. Example: a balance of 12.50 that is set to 10.00 is adjusted by -2.50.
 * Locks: the wallet.
 * @throws ApiError 000108 if the difference or the balance is out of range, or a fraction that the currency does not have
 */
export async function setTestBalance(deps: { db: Db; ids: Ids }, tenantId: string, balance: bigint): Promise<void> {
  try {
    await deps.db.tx(async (tx) => {
      const wallet = await lockWallet(tx, tenantId)
      const amount = balance - wallet.balance
      if (amount === 0n) return
      checkWhole(balance, wallet.currencyCode)
      checkAmount(amount, 'either')
      await checkFits(tx, wallet, amount)
      const reference = `test-${deps.ids.uuid()}`
      const [posted] = await post(tx, wallet, [
        { kind: 'ADJUSTMENT', amount, reference, reason: 'test/balance/set', actor: 'tenant' },
      ])
      const percent = lowBalancePercent(balance, wallet.lowBalanceThreshold)
      const percentBefore = wallet.lowBalanceAlertedPercent
      reportLowBalance(tx, deps.ids, { ...wallet, balance, updatedAt: posted!.createdAt, percent, percentBefore })
    })
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    throw new ApiError('000108', { details: [{ field: 'balance', reason: error.message }] })
  }
}
