import type { OrderDryRunAnswer, TopupDryRunAnswer } from '@dealer-esim/contract'
import type { Offer } from '#catalogue/catalogue.ts'
import { readKeySpending } from '#tenants/keys/key-spending.ts'
import { readWallet } from '#wallet/ledger/lock-wallets.ts'
import { publicLineOf } from '../order-item.ts'
import { decideWallet, type PlacedOrder, type Verdict } from './decide-order.ts'
import type { OrderInput } from './order-input.ts'
import { keysOf, type PlacementDeps, readOrderContext } from './place-batch.ts'
import { readSentTo } from './refuse-hand-over.ts'
import { readRestored } from './restored-orders.ts'
import { readToppedUpEsims } from './topped-up-esims.ts'

/** The answer of a dry run of `esim/order`, or of `esim/topup`, which also names its eSIM. */
export type DryRunAnswer = OrderDryRunAnswer & Partial<TopupDryRunAnswer>

export type DryRunVerdict = { kind: 'accepted'; answer: DryRunAnswer } | Exclude<Verdict, { kind: 'placed' }>

/**
 * Decides an order as `placeBatch` does, on the same facts, but without a lock and without writing anything. It promises
 * nothing: another order may take the balance or the last eSIM before the real call.
 */
export async function dryRun(deps: PlacementDeps, input: OrderInput): Promise<DryRunVerdict> {
  const [wallet, { now, catalogueVersion, existing }, esims, keys, restored, sentTo] = await deps.db.tx((tx) =>
    Promise.all([
      readWallet(tx, input.tenant.tenantId),
      readOrderContext(tx, [input]),
      readToppedUpEsims(tx, [input]),
      readKeySpending(tx, keysOf([input])),
      readRestored(tx, [input]),
      readSentTo(tx, [input], deps.databaseClock.now()),
    ]),
  )
  const catalogue = await deps.catalogue.current(catalogueVersion)
  const counted = new Map<string, number | undefined>()
  const available = (offer: Offer) => {
    const count = deps.stock.available(offer)
    counted.set(offer.packageCode, count)
    return count
  }
  const context = { now, catalogue, existing, esims, keys, restored, sentTo, available, suppliers: deps.suppliers }
  const { verdicts, placed } = decideWallet(wallet, [input], context)
  const verdict = verdicts[0]!
  return verdict.kind === 'placed' ? { kind: 'accepted', answer: answerOf(placed[0]!, counted) } : verdict
}

function answerOf(order: PlacedOrder, counted: ReadonlyMap<string, number | undefined>): DryRunAnswer {
  return {
    validateOnly: true,
    amount: Number(order.amount),
    currencyCode: order.currencyCode,
    balanceAfter: Number(order.balanceAfter),
    packageInfoList: order.packageLines.map((line) => ({
      ...publicLineOf(line),
      available: counted.get(line.packageCode) ?? null,
    })),
    ...(order.toppedUpProfileId !== null && { esimTranNo: order.toppedUpProfileId }),
  }
}
