import { expect, test } from 'vitest'
import { CLAIMS_BEFORE_RESTART } from '../webhook-limits.ts'
import type { Claim, ClaimedEvent, ClaimRequest, Position } from './claim-deliveries.ts'
import {
  addClaimed,
  createEndpointQueue,
  type EndpointQueue,
  nextClaimRequest,
  releaseEvents,
} from './endpoint-queue.ts'

/** Stands in for the database: one tenant's deliveries, claimed as the claim statement would. */
class Deliveries {
  readonly rows = new Map<string, Position>()
  #recorded = 0

  add(dueS: number): void {
    const notifyId = String(this.#recorded++).padStart(8, '0')
    this.rows.set(notifyId, { dueS, notifyId })
  }

  claim({ tenantId, limit, after, excludedIds }: ClaimRequest): Claim {
    const found = [...this.rows.values()]
      .filter((row) => !excludedIds.includes(row.notifyId) && (!after || compare(row, after) > 0))
      .sort(compare)
      .slice(0, limit)
    const events = found.map(({ notifyId }) => ({ tenantId, notifyId }) as ClaimedEvent)
    return { tenantId, events, last: found.at(-1), heldUntilMs: 1, endpoint: undefined, signer: undefined }
  }
}

function compare(left: Position, right: Position): number {
  return left.dueS - right.dueS || (left.notifyId < right.notifyId ? -1 : left.notifyId > right.notifyId ? 1 : 0)
}

/** @param meanwhile runs between the statement and its response. @returns ids of the events that were queued */
function claimInto(queue: EndpointQueue, deliveries: Deliveries, limit: number, meanwhile = () => {}): string[] {
  const claim = deliveries.claim(nextClaimRequest(queue, limit))
  meanwhile()
  const before = queue.queue.length
  queue.hasMore = claim.events.length === limit
  const taken = addClaimed(queue, claim, 0)
  expect(queue.queue.length - before).toBe(taken)
  return queue.queue.slice(before).map(({ notifyId }) => notifyId)
}

test('a claimed event is not queued twice, and late, released and resent events are not missed', () => {
  const seed = Number(process.env.SEED ?? Date.now() % 2 ** 31)
  console.info(`claims: SEED=${seed}`)
  const chance = randomOf(seed)
  for (let game = 0; game < 50; game++) {
    const queue = createEndpointQueue('tenant')
    const deliveries = new Deliveries()
    const inFlight: string[] = []
    const acknowledge = () => {
      const notifyId = inFlight.splice(chance(inFlight.length), 1)[0]
      if (notifyId === undefined) return
      deliveries.rows.delete(notifyId)
      queue.claimedIds.delete(notifyId)
    }
    const releaseSome = () => void (chance(10) === 0 && releaseEvents(queue))
    for (let move = 0; move < 200; move++) {
      switch (chance(6)) {
        case 0: // events are recorded, some of them committed after events that became due later
          for (let count = chance(20); count > 0; count--) deliveries.add(move + chance(10) - 5)
          break
        case 1:
        case 2: {
          const taken = claimInto(queue, deliveries, 1 + chance(8), releaseSome)
          expect(new Set(queue.queue.map(({ notifyId }) => notifyId)).size).toBe(queue.queue.length)
          expect(taken.filter((notifyId) => inFlight.includes(notifyId))).toEqual([])
          expect(queue.claimedIds.size).toBe(queue.queue.length + inFlight.length)
          break
        }
        case 3:
          for (let count = chance(8); count > 0 && queue.queue.length > 0; count--)
            inFlight.push(queue.queue.shift()!.notifyId)
          break
        case 4:
          for (let count = chance(8); count > 0; count--) acknowledge()
          break
        default: {
          releaseSome()
          const resent = [...deliveries.rows.keys()][chance(deliveries.rows.size)]
          if (resent !== undefined) deliveries.rows.set(resent, { dueS: move, notifyId: resent })
        }
      }
    }
    for (let claims = 0; claims <= CLAIMS_BEFORE_RESTART + deliveries.rows.size; claims++)
      claimInto(queue, deliveries, 8)
    expect([...deliveries.rows.keys()].filter((notifyId) => !queue.claimedIds.has(notifyId))).toEqual([])
  }
})

test('a backlog is claimed without listing ids to exclude', () => {
  const queue = createEndpointQueue('tenant')
  const deliveries = new Deliveries()
  for (let count = 0; count < 10 * CLAIMS_BEFORE_RESTART; count++) deliveries.add(1)
  const named: number[] = []
  for (let claims = 0; claims < CLAIMS_BEFORE_RESTART; claims++) {
    named.push(nextClaimRequest(queue, 4).excludedIds.length)
    claimInto(queue, deliveries, 4)
  }
  expect(named).toEqual(Array(CLAIMS_BEFORE_RESTART).fill(0))
})

/** Returns a function that draws random integers below a limit. */
function randomOf(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}
