import { expect, test } from 'vitest'
import type { Claim, ClaimedEvent, Position, Wanted } from './claim.ts'
import { giveBack, type Lane, load, newLane, nextClaim } from './lane.ts'
import { CLAIMS_ON_MAX } from './limits.ts'

/** Deliveries as the database has them, and the claim's statement over them. */
class Deliveries {
  readonly rows = new Map<string, Position>()
  #recorded = 0

  add(dueS: number): void {
    const notifyId = String(this.#recorded++).padStart(8, '0')
    this.rows.set(notifyId, { dueS, notifyId })
  }

  claim({ tenantId, most, behind, except }: Wanted): Claim {
    const found = [...this.rows.values()]
      .filter((row) => !except.includes(row.notifyId) && (!behind || compare(row, behind) > 0))
      .sort(compare)
      .slice(0, most)
    const events = found.map(({ notifyId }) => ({ tenantId, notifyId }) as ClaimedEvent)
    return { tenantId, events, last: found.at(-1), heldUntilMs: 1, endpoint: undefined, signer: undefined }
  }
}

function compare(left: Position, right: Position): number {
  return left.dueS - right.dueS || (left.notifyId < right.notifyId ? -1 : left.notifyId > right.notifyId ? 1 : 0)
}

/** @param meanwhile what happens between the claim's statement and its answer; returns what was taken into the queue */
function claimInto(lane: Lane, deliveries: Deliveries, most: number, meanwhile = () => {}): string[] {
  const claim = deliveries.claim(nextClaim(lane, most))
  meanwhile()
  const queued = lane.queue.length
  lane.more = claim.events.length === most
  const taken = load(lane, claim, 0)
  expect(lane.queue.length - queued).toBe(taken)
  return lane.queue.slice(queued).map(({ notifyId }) => notifyId)
}

test('nothing in hand is claimed again, and nothing is passed over: committed late, given back or resent', () => {
  const seed = Number(process.env.SEED ?? Date.now() % 2 ** 31)
  console.info(`claims: SEED=${seed}`)
  const chance = randomOf(seed)
  for (let game = 0; game < 50; game++) {
    const lane = newLane('tenant')
    const deliveries = new Deliveries()
    const flying: string[] = []
    const acknowledge = () => {
      const notifyId = flying.splice(chance(flying.length), 1)[0]
      if (notifyId === undefined) return
      deliveries.rows.delete(notifyId)
      lane.inHand.delete(notifyId)
    }
    const giveBackSome = () => void (chance(10) === 0 && giveBack(lane))
    for (let move = 0; move < 200; move++) {
      switch (chance(6)) {
        case 0: // events are recorded, some of them committed after others that came due later
          for (let count = chance(20); count > 0; count--) deliveries.add(move + chance(10) - 5)
          break
        case 1:
        case 2: {
          const taken = claimInto(lane, deliveries, 1 + chance(8), giveBackSome)
          expect(new Set(lane.queue.map(({ notifyId }) => notifyId)).size).toBe(lane.queue.length)
          expect(taken.filter((notifyId) => flying.includes(notifyId))).toEqual([])
          expect(lane.inHand.size).toBe(lane.queue.length + flying.length)
          break
        }
        case 3:
          for (let count = chance(8); count > 0 && lane.queue.length > 0; count--)
            flying.push(lane.queue.shift()!.notifyId)
          break
        case 4:
          for (let count = chance(8); count > 0; count--) acknowledge()
          break
        default: {
          giveBackSome()
          const resent = [...deliveries.rows.keys()][chance(deliveries.rows.size)]
          if (resent !== undefined) deliveries.rows.set(resent, { dueS: move, notifyId: resent })
        }
      }
    }
    for (let claims = 0; claims <= CLAIMS_ON_MAX + deliveries.rows.size; claims++) claimInto(lane, deliveries, 8)
    expect([...deliveries.rows.keys()].filter((notifyId) => !lane.inHand.has(notifyId))).toEqual([])
  }
})

test('a backlog is claimed without naming what is in hand', () => {
  const lane = newLane('tenant')
  const deliveries = new Deliveries()
  for (let count = 0; count < 10 * CLAIMS_ON_MAX; count++) deliveries.add(1)
  const named: number[] = []
  for (let claims = 0; claims < CLAIMS_ON_MAX; claims++) {
    named.push(nextClaim(lane, 4).except.length)
    claimInto(lane, deliveries, 4)
  }
  expect(named).toEqual(Array(CLAIMS_ON_MAX).fill(0))
})

/** Whole numbers below a bound. */
function randomOf(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}
