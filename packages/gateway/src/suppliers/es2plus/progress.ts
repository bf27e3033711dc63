import { makeIccid } from '@dealer-esim/contract'
import type { Cipher } from '../../lib/crypto.ts'
import type { Db } from '../../lib/db.ts'
import type { Ids } from '../../lib/ids.ts'
import type { Es2plusConfig } from './config.ts'

/*
 * How far an order came at the SM-DP+:
 *
 *   NEW         our part is chosen, nothing was sent
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
  step: Step
}

export interface ProgressBook {
  find(key: string): Promise<Progress | undefined>
  /** Chooses a matching id, and an ICCID where we have a range; undefined when the range is used up. */
  start(key: string): Promise<Progress | undefined>
  save(progress: Progress): Promise<void>
}

type Deps = { db: Db; ids: Ids; cipher: Pick<Cipher, 'encrypt' | 'decrypt'> }

export function progressBook(supplier: string, config: Es2plusConfig, deps: Deps): ProgressBook {
  const owner = `supplier:${supplier}`
  const seal = ({ matchingId, smdpAddress }: Pick<Progress, 'matchingId' | 'smdpAddress'>) =>
    deps.cipher.encrypt(JSON.stringify({ matchingId, smdpAddress }), owner)

  async function find(key: string): Promise<Progress | undefined> {
    const [row] = await deps.db.query<{ iccid: string | null; iccid_chosen: boolean; secrets: Buffer; step: Step }>({
      name: 'es2plus-find',
      text: 'select iccid, iccid_chosen, secrets, step from es2plus_orders where supplier = $1 and key = $2',
      values: [supplier, key],
    })
    if (!row) return undefined
    const secrets = JSON.parse(deps.cipher.decrypt(row.secrets, owner).toString()) as { matchingId: string }
    return { key, iccid: row.iccid, iccidChosen: row.iccid_chosen, step: row.step, ...secrets }
  }

  return {
    find,
    async start(key) {
      const iccid = config.iccidRange === undefined ? null : await nextIccid(deps.db, supplier, config.iccidRange)
      if (iccid === undefined) return undefined
      const matchingId = matchingIdOf(deps.ids.bytes(MATCHING_ID_BYTES))
      await deps.db.query({
        name: 'es2plus-start',
        text: `insert into es2plus_orders (supplier, key, iccid, iccid_chosen, secrets, step)
               values ($1, $2, $3, $4, $5, 'NEW') on conflict do nothing`,
        values: [supplier, key, iccid, iccid !== null, seal({ matchingId })],
      })
      return find(key) // another worker's, where it was first
    },
    async save(progress) {
      await deps.db.query({
        name: 'es2plus-save',
        text: `update es2plus_orders set iccid = $3, secrets = $4, step = $5, updated_at = now()
               where supplier = $1 and key = $2`,
        values: [supplier, progress.key, progress.iccid, seal(progress), progress.step],
      })
    },
  }
}

const MATCHING_ID_BYTES = 15
const SIGNS = 'ABCDEFGHJKLMNPQRSTUVWXYZ23456789'

/** Capitals, digits and hyphens (SGP.22 §4.1): 120 bits, in groups that can be read out. */
function matchingIdOf(bytes: Buffer): string {
  let bits = BigInt(`0x${bytes.toString('hex')}`)
  let text = ''
  for (let sign = 0; sign < 24; sign++) {
    text += SIGNS[Number(bits & 31n)]
    bits >>= 5n
  }
  return text.match(/.{6}/g)!.join('-')
}

const PREFIX_DIGITS = 7

/** The next ICCID of a range, for ever; undefined past its end. A number that is drawn and not used is lost. */
async function nextIccid(
  db: Db,
  supplier: string,
  range: { first: string; last: string },
): Promise<string | undefined> {
  const prefix = range.first.slice(0, PREFIX_DIGITS)
  const numberOf = (iccid: string) => BigInt(iccid.slice(PREFIX_DIGITS, -1))
  const [row] = await db.query<{ number: bigint }>({
    name: 'es2plus-next-iccid',
    text: `insert into es2plus_ranges as r (supplier, first_number, next_number) values ($1, $2, $2::bigint + 1)
           on conflict (supplier, first_number) do update set next_number = r.next_number + 1
           returning next_number - 1 as number`,
    values: [supplier, numberOf(range.first)],
  })
  if (row!.number > numberOf(range.last)) return undefined
  return makeIccid(prefix, row!.number)
}
