import fc from 'fast-check'
import sql from 'sql-template-tag'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { approveAdjustment, proposeAdjustment, rejectAdjustment } from '#wallet/ledger/adjust.ts'
import { topUp } from '#wallet/ledger/top-up-wallet.ts'
import { verifyLedger } from '#wallet/verify/verify-ledger.ts'
import { ALICE, BOB, createWalletTestbed, insertPaidOrder, refuseItems } from '../harness/wallets.ts'

let money: Awaited<ReturnType<typeof createWalletTestbed>>
beforeAll(async () => {
  money = await createWalletTestbed()
})
afterAll(() => money.close())

/** A wallet according to the documented rules, written as simply as possible. */
class Model {
  balance = 0n
  versions = 0n
  readonly topUps = new Map<string, bigint>()
  readonly adjustments = new Map<string, { id: string; amount: bigint; state: 'open' | 'approved' }>()
  readonly orders: { orderId: string; prices: bigint[]; refunded: Set<number> }[] = []

  move(amount: bigint): void {
    this.balance += amount
    this.versions += 1n
  }
}

type Step =
  | { do: 'topUp'; reference: string; amount: bigint }
  | { do: 'propose'; reference: string; amount: bigint }
  | { do: 'decide'; reference: string; approve: boolean; byProposer: boolean }
  | { do: 'order'; prices: bigint[] }
  | { do: 'refund'; order: number; items: number[] }

// Few references, so that they repeat.
const reference = fc.constantFrom('R1', 'R2', 'R3')
const amount = fc.bigInt({ min: 1n, max: 5n })
const steps = fc.array(
  fc.oneof(
    fc.record({ do: fc.constant('topUp' as const), reference, amount }),
    fc.record({
      do: fc.constant('propose' as const),
      reference,
      amount: fc.oneof(
        amount,
        amount.map((a) => -a),
      ),
    }),
    fc.record({ do: fc.constant('decide' as const), reference, approve: fc.boolean(), byProposer: fc.boolean() }),
    fc.record({
      do: fc.constant('order' as const),
      prices: fc.array(fc.bigInt({ min: 0n, max: 9n }), { minLength: 1, maxLength: 4 }),
    }),
    fc.record({
      do: fc.constant('refund' as const),
      order: fc.nat(3),
      items: fc.uniqueArray(fc.integer({ min: 1, max: 4 }), { minLength: 1 }),
    }),
  ),
  { maxLength: 25 },
)

async function play(step: Step, model: Model, tenantId: string): Promise<void> {
  switch (step.do) {
    case 'topUp': {
      const earlier = model.topUps.get(step.reference)
      const posting = topUp(money.deps, { tenantId, ...step }, ALICE)
      if (earlier !== undefined && earlier !== step.amount) {
        await expect(posting).rejects.toMatchObject({ code: 'REFERENCE_USED' })
        return
      }
      if (earlier === undefined) model.move(step.amount)
      model.topUps.set(step.reference, step.amount)
      const answer = await posting
      expect(answer.replayed).toBe(earlier !== undefined)
      if (!answer.replayed) expect(answer.balanceAfter).toBe(model.balance)
      return
    }
    case 'propose': {
      const standing = model.adjustments.get(step.reference)
      const proposing = proposeAdjustment(money.deps, { tenantId, reason: 'model', ...step }, ALICE)
      if (standing && standing.amount !== step.amount) {
        await expect(proposing).rejects.toMatchObject({ code: 'REFERENCE_USED' })
        return
      }
      const proposal = await proposing
      if (standing) expect(proposal.adjustmentId).toBe(standing.id)
      else model.adjustments.set(step.reference, { id: proposal.adjustmentId, amount: step.amount, state: 'open' })
      return
    }
    case 'decide': {
      const standing = model.adjustments.get(step.reference)
      if (!standing) return
      const decide = step.approve ? approveAdjustment : rejectAdjustment
      const deciding = decide(money.deps, tenantId, standing.id, step.byProposer ? ALICE : BOB)
      if (standing.state === 'approved') {
        if (step.approve && !step.byProposer) await deciding
        else await expect(deciding).rejects.toMatchObject({ code: 'ADJUSTMENT_DECIDED' })
      } else if (!step.approve) {
        await deciding
        model.adjustments.delete(step.reference)
      } else if (step.byProposer) {
        await expect(deciding).rejects.toMatchObject({ code: 'SECOND_PERSON_NEEDED' })
      } else {
        await deciding
        standing.state = 'approved'
        model.move(standing.amount)
      }
      // The reference of an approved adjustment stays in use, because a transfer has it.
      return
    }
    case 'order': {
      const orderId = await insertPaidOrder(money.db, tenantId, step.prices)
      model.move(-step.prices.reduce((sum, price) => sum + price, 0n))
      model.orders.push({ orderId, prices: step.prices, refunded: new Set() })
      return
    }
    case 'refund': {
      const order = model.orders[step.order]
      if (!order) return
      const items = step.items
        .filter((itemNo) => itemNo <= order.prices.length)
        .map((itemNo) => ({ itemNo, amount: order.prices[itemNo - 1]! }))
      await refuseItems(money.db, tenantId, order.orderId, items)
      for (const item of items) {
        if (order.refunded.has(item.itemNo)) continue
        order.refunded.add(item.itemNo)
        model.move(item.amount)
      }
      return
    }
    default:
      step satisfies never
  }
}

test('a wallet matches its model, and the ledger is consistent after every step', async () => {
  const property = fc.asyncProperty(steps, async (sequence) => {
    const model = new Model()
    const { tenantId } = await money.tenant()
    for (const step of sequence) {
      await play(step, model, tenantId)
      const faults: string[] = []
      await verifyLedger(money.db, { tenantId, pageRows: 3, onFault: (fault) => faults.push(fault.message) })
      expect(faults).toEqual([])
      const [wallet] = await money.db.query(sql`select balance, version from wallets where tenant_id = ${tenantId}`)
      expect(wallet).toEqual({ balance: model.balance, version: model.versions })
    }
  })
  const seed = Number(process.env.SEED ?? Date.now() % 2 ** 31)
  console.log(`wallet model: SEED=${seed}`)
  await fc.assert(property, { seed, numRuns: 100 })
})
