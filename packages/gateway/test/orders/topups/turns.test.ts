import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { CLAIM_ORDERS_MAX } from '#fulfilment/claim-orders.ts'
import { waitUntil } from '#test/harness/shop.ts'
import { createTopUpTestbed, type Esim, GB, type TopUpTestbed } from './topup-testbed.ts'

/**
 * The limit on how many times longer a top-up in a long queue may take than one in a short queue, measured in the same run.
 */
const LONG_QUEUE_FACTOR = 6
const SHORT_QUEUE = 20

let bed: TopUpTestbed
beforeAll(async () => {
  bed = await createTopUpTestbed(2)
})
afterAll(async () => {
  expect(await bed.faults()).toEqual([])
  await bed.close()
})

/** Keeps the supplier from answering top-ups until the returned function is called. */
function holdTopUps(): () => void {
  let release = () => {}
  const held = new Promise<void>((resolve) => {
    release = resolve
  })
  bed.supplier.topUp = async () => {
    await held
    return { kind: 'toppedUp' }
  }
  return release
}

/** Counts the top-ups of the eSIM that a worker has looked at and postponed: an order is due when it is debited. */
async function putOff({ esimTranNo }: Esim): Promise<number> {
  const rows = await bed.node.deps.db.query({
    text: `select from orders where topped_up_profile_id = $1
             and due_at > (status_history -> 0 ->> 'time')::timestamptz + interval '1 millisecond'`,
    values: [esimTranNo],
  })
  return rows.length
}

describe('a top-up', () => {
  it('reaches the supplier after earlier top-ups for the same eSIM', async () => {
    const esim = await bed.delivered()
    const before = bed.supplier.toppedUp.length
    const release = holdTopUps()
    const orderNos: string[] = []
    for (let n = 0; n < 4; n++)
      orderNos.push((await bed.topUp(esim, { transactionId: `T-turn-${before}-${n}` })).data.orderNo)
    await waitUntil(async () => (await putOff(esim)) === 3)
    expect(bed.supplier.toppedUp.length - before).toBe(1)
    release()
    for (let n = 0; n < 4; n++) await bed.order(esim.dealer, `T-turn-${before}-${n}`, 'DELIVERED')
    expect(bed.supplier.toppedUp.slice(before).map(({ key }) => key)).toEqual(orderNos.map((orderNo) => `${orderNo}-1`))
    expect((await bed.profile(esim)).totalVolume).toBe(5 * GB)
  })

  it('does not wait longer for its turn when many others are queued for the same eSIM', async () => {
    const before = await queuedTopUpMs(SHORT_QUEUE)
    // More orders than one claim leases.
    const queued = await queuedTopUpMs(CLAIM_ORDERS_MAX + 50)
    // The machine may be busy with other things before or afterwards.
    const afterwards = await queuedTopUpMs(SHORT_QUEUE)
    expect(queued).toBeLessThan(LONG_QUEUE_FACTOR * Math.max(before, afterwards))
  }, 120_000)

  /** Queues top-ups for one eSIM, then measures how long each of them takes. */
  async function queuedTopUpMs(count: number): Promise<number> {
    const esim = await bed.delivered()
    const before = bed.supplier.toppedUp.length
    const release = holdTopUps()
    const numbers = Array.from({ length: count }, (_, n) => n)
    const ordered = await Promise.all(numbers.map((n) => bed.topUp(esim, { transactionId: `T-${before}-${n}` })))
    expect(ordered.filter(({ code }) => code !== '000000')).toEqual([])
    const startedAt = performance.now()
    release()
    await waitUntil(async () => bed.supplier.toppedUp.length - before === count, 60_000)
    return (performance.now() - startedAt) / count
  }
})
