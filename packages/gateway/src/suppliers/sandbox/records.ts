import { makeIccid } from '@dealer-esim/contract'
import type { Db } from '../../lib/postgres/db.ts'

/** Product codes that make the sandbox simulate a special case. Any other product is delivered immediately. */
export const SANDBOX_PRODUCTS = {
  /** Every eSIM is refused, and refunded. */
  refused: 'SANDBOX_REFUSED',
  /** Every second eSIM of an order is refused. */
  partial: 'SANDBOX_PARTIAL',
  /** Delivered after `slowMs`. */
  slow: 'SANDBOX_SLOW',
  /** Bought, but the answer is lost, and queries do not help: the order goes to review. */
  unknown: 'SANDBOX_UNKNOWN',
  /** The stock counter is 0. */
  outOfStock: 'SANDBOX_OUT_OF_STOCK',
  /** In use some seconds after its delivery; its usage grows with time. */
  usage: 'SANDBOX_USAGE',
  /** Delivered; every action on the eSIM is refused. */
  actionRefused: 'SANDBOX_ACTION_REFUSED',
  /** Delivered; every action on the eSIM is carried out, but its answer is lost: the action goes to review. */
  actionUnknown: 'SANDBOX_ACTION_UNKNOWN',
} as const

/** A record of an eSIM or a top-up that was requested. */
export interface IssuedRow {
  key: string
  productCode: string
  answer: 'ISSUED' | 'REFUSED' | 'LOST'
  iccidNumber: bigint
}

export async function findIssued(db: Db, name: string, keys: string[]): Promise<IssuedRow[]> {
  return db.query<IssuedRow>({
    name: 'sandbox-find',
    text: `select key, product_code, answer, iccid_number from sandbox_issued
           where supplier = $1 and key = any ($2::text[])`,
    values: [name, keys],
  })
}

/** An ICCID begins with 89, followed by a country code that nobody has. */
const ISSUER_PREFIX = '89999'

/** On Citus, a worker's row numbers start at its group id times 2^48. */
const GROUP_BITS = 48n
const NUMBERS_PER_GROUP = 10n ** 11n

export function iccidOf(row: Pick<IssuedRow, 'iccidNumber'>): string {
  const group = row.iccidNumber >> GROUP_BITS
  return makeIccid(ISSUER_PREFIX, group * NUMBERS_PER_GROUP + BigInt.asUintN(Number(GROUP_BITS), row.iccidNumber))
}
