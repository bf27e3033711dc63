import { setTimeout as delay } from 'node:timers/promises'
import { makeIccid } from '@dealer-esim/contract'
import type { Cipher } from '@dealer-esim/lib/crypto.ts'
import type { Ids } from '@dealer-esim/lib/ids.ts'
import type { Db } from '@dealer-esim/lib/postgres/db.ts'
import { isConnectionLoss } from '@dealer-esim/lib/postgres/errors.ts'
import { supplierOwner } from '#supplier.ts'
import { type Es2plusConfig, ISSUER_DIGITS } from './es2plus-config.ts'

/*
 * Steps of an order at the SM-DP+:
 *
 *   NEW         the matching id and possibly the ICCID are chosen, nothing was sent
 *   ORDERING    DownloadOrder may have been sent
 *   ORDERED     it was executed: the ICCID is known
 *   CONFIRMING  ConfirmOrder may have been sent
 *   CONFIRMED   it was executed: the eSIM is ours
 *   CANCELLING  CancelOrder may have been sent
 *   CANCELLED   it was executed
 */
export type Step = 'NEW' | 'ORDERING' | 'ORDERED' | 'CONFIRMING' | 'CONFIRMED' | 'CANCELLING' | 'CANCELLED'

export interface Progress {
  key: string
  iccid: string | null
  iccidChosen: boolean
  matchingId: string
  smdpAddress?: string
  /** Why DownloadOrder failed, as stated by the SM-DP+, which states it only once. */
  failure?: string
  /** ConfirmOrder was executed; ReleaseProfile follows. */
  confirmed?: true
  step: Step
}

export interface ProgressStore {
  find(key: string): Promise<Progress | undefined>
  /** Chooses a matching id and, if we have a range, an ICCID. @returns undefined if the range is used up */
  start(key: string): Promise<Progress | undefined>
  /** Records an order that was placed elsewhere and entered by an operator. */
  adopt(esim: { key: string; iccid: string; matchingId: string }): Promise<Progress>
  /**
   * Writes the next step and the content of the answer. @returns false if another worker has moved the order. An
   * SM-DP+ gives its answer once, so this waits while the database is unavailable. It does not wait before a
   * purchase, when no answer can be lost: another worker may have taken over the order meanwhile, and both would send it.
   */
  advance(progress: Progress, to: Partial<Omit<Progress, 'key'>> & { step: Step }): Promise<boolean>
}

type Secrets = Pick<Progress, 'matchingId' | 'smdpAddress' | 'confirmed' | 'failure'>
type Deps = { db: Db; ids: Ids; cipher: Pick<Cipher, 'encrypt' | 'decrypt'> }

export function createProgressStore(supplier: string, config: Es2plusConfig, deps: Deps): ProgressStore {
  const owner = supplierOwner(supplier)
  const encryptSecrets = ({ matchingId, smdpAddress, confirmed, failure }: Secrets) =>
    deps.cipher.encrypt(JSON.stringify({ matchingId, smdpAddress, confirmed, failure }), owner)

  async function find(key: string): Promise<Progress | undefined> {
    const [row] = await deps.db.query<{ iccid: string | null; iccidChosen: boolean; secrets: Buffer; step: Step }>({
      name: 'es2plus-find',
      text: 'select iccid, iccid_chosen, secrets, step from es2plus_orders where supplier = $1 and key = $2',
      values: [supplier, key],
    })
    if (!row) return undefined
    const secrets = JSON.parse(deps.cipher.decrypt(row.secrets, owner).toString()) as Secrets
    return { key, iccid: row.iccid, iccidChosen: row.iccidChosen, step: row.step, ...secrets }
  }

  return {
    find,
    async start(key) {
      const secrets = encryptSecrets({ matchingId: matchingIdOf(deps.ids.bytes(MATCHING_ID_BYTES)) })
      for (let draw = 0; draw < DRAWS_MAX; draw++) {
        const { iccidRange } = config
        const drawn = iccidRange === undefined ? null : await drawIccid(deps.db, supplier, iccidRange)
        if (drawn === undefined) return undefined
        await deps.db.query({
          name: 'es2plus-start',
          text: `insert into es2plus_orders (supplier, key, iccid, iccid_chosen, secrets, step)
                 values ($1, $2, $3, $4, $5, 'NEW') on conflict do nothing`,
          values: [supplier, key, drawn, drawn !== null, secrets],
        })
        const progress = await find(key) // another worker may have been first
        if (progress !== undefined) return progress
        // The key is new, so the conflict was about the ICCID: an order from a range with a different start has it.
        if (iccidRange !== undefined && drawn !== null) await skipUsedBlock(deps.db, supplier, iccidRange, drawn)
      }
      throw new Error(
        `no free ICCID in ${DRAWS_MAX} attempts: orders from other ranges use them. Set another iccidRange`,
      )
    },
    async adopt({ key, iccid, matchingId }) {
      await deps.db.query({
        text: `insert into es2plus_orders (supplier, key, iccid, iccid_chosen, secrets, step)
               values ($1, $2, $3, false, $4, 'CONFIRMED') on conflict do nothing`,
        values: [supplier, key, iccid, encryptSecrets({ matchingId })],
      })
      return (await find(key))!
    },
    async advance(progress, to) {
      const next = { ...progress, ...to }
      const write = (repeated: boolean) =>
        deps.db.query({
          name: 'es2plus-advance',
          text: `update es2plus_orders set iccid = $5, secrets = $6, step = $7, updated_at = now()
                 where supplier = $1 and key = $2 and step in ($3, $4) returning key`,
          // If the connection broke during the commit, a repeat may find the step that the first try wrote.
          values: [
            supplier,
            progress.key,
            progress.step,
            repeated ? next.step : progress.step,
            next.iccid,
            encryptSecrets(next),
            next.step,
          ],
        })
      const moved = await (next.step === 'ORDERING' ? write(false) : retryConnectionLoss(write))
      if (moved.length === 1) Object.assign(progress, next)
      return moved.length === 1
    },
  }
}

/** The longest database failover that we wait out. The supplier's answer exists only in this process. */
const RETRY_FOR_MS = 60_000
const RETRY_EVERY_MS = 500

async function retryConnectionLoss<Value>(work: (repeated: boolean) => Promise<Value>): Promise<Value> {
  const startedAt = performance.now()
  for (let repeated = false; ; repeated = true) {
    try {
      return await work(repeated)
    } catch (error) {
      if (!isConnectionLoss(error) || performance.now() - startedAt > RETRY_FOR_MS) throw error
      await delay(RETRY_EVERY_MS)
    }
  }
}

const MATCHING_ID_BYTES = 15
const MATCHING_ID_CHARACTERS = 'ABCDEFGHJKLMNPQRSTUVWXYZ23456789'

/** Capitals, digits and hyphens (SGP.22 §4.1): 120 bits, in groups that can be read aloud. */
function matchingIdOf(bytes: Buffer): string {
  let bits = BigInt(`0x${bytes.toString('hex')}`)
  let text = ''
  for (let sign = 0; sign < 24; sign++) {
    text += MATCHING_ID_CHARACTERS[Number(bits & 31n)]
    bits >>= 5n
  }
  return text.match(/.{6}/g)!.join('-')
}

/** How many blocks of used ICCIDs one order skips. Each block comes from an earlier range with a different start. */
const DRAWS_MAX = 100

interface Range {
  first: string
  last: string
}

/** The digits between the issuer's digits and the check digit, as a number. */
const numberOf = (iccid: string) => BigInt(iccid.slice(ISSUER_DIGITS, -1))

/** Draws the next ICCID of a range. A number that is drawn and not used is lost. @returns undefined past the end of the range */
async function drawIccid(db: Db, supplier: string, { first, last }: Range): Promise<string | undefined> {
  const [row] = await db.query<{ number: bigint }>({
    name: 'es2plus-next-iccid',
    text: `insert into es2plus_ranges as r (supplier, first_number, next_number) values ($1, $2, $2::bigint + 1)
           on conflict (supplier, first_number) do update set next_number = r.next_number + 1
           returning next_number - 1 as number`,
    values: [supplier, numberOf(first)],
  })
  if (row!.number > numberOf(last)) return undefined
  return makeIccid(first.slice(0, ISSUER_DIGITS), row!.number)
}

/**
 * Moves the counter past a block of used ICCIDs. A counter belongs to the first number of its range, so after an operator
 * has changed `first`, the new counter meets ICCIDs that another counter has drawn. Without this, one order would draw them
 * one by one, possibly through all that were ever sold.
 */
async function skipUsedBlock(db: Db, supplier: string, { first, last }: Range, taken: string): Promise<void> {
  await db.query({
    text: `with used as (
             select number, lead(number) over (order by number) as next
             from (select substr(iccid, $5 + 1, length(iccid) - $5 - 1)::bigint as number from es2plus_orders
                   where supplier = $1 and iccid_chosen and iccid between $3 and $4) u
           )
           update es2plus_ranges set next_number = greatest(next_number, (
             select min(number) + 1 from used where next is distinct from number + 1))
           where supplier = $1 and first_number = $2`,
    values: [supplier, numberOf(first), taken, last, ISSUER_DIGITS],
  })
}
