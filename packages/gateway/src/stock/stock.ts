import { type Cipher, DecryptionFailed } from '@dealer-esim/lib/crypto.ts'
import type { Ids } from '@dealer-esim/lib/ids.ts'
import type { Db, Tx } from '@dealer-esim/lib/postgres/db.ts'
import type { Wakeups } from '@dealer-esim/lib/postgres/wakeups.ts'
import { failpoint } from '@dealer-esim/lib/process/failpoint.ts'
import { refuseSeveralDays } from '@dealer-esim/wholesalers/several-days.ts'
import {
  type CancelOutcome,
  type Outcome,
  type SuppliedEsim,
  type Supplier,
  type SupplierRequest,
  supplierOwner,
} from '@dealer-esim/wholesalers/supplier.ts'
import { giveUpSetting } from '@dealer-esim/wholesalers/supplier-settings.ts'
import sql from 'sql-template-tag'
import Type, { type Static } from 'typebox'
import { SOLD_BEFORE_RESTORE } from './held-codes.ts'
import { alertExpiring } from './stock-expiry.ts'
import { type CountedCode, expireCodes, lowerLevels, raiseLevel } from './stock-levels.ts'

/** The defaults for members absent from a configuration. */
const DEFAULTS = { leastValidityHours: 24, giveUpAfterMs: 3_600_000 }

export const stockConfig = Type.Object(
  {
    leastValidityHours: Type.Optional(
      Type.Integer({
        title: 'Least validity (hours)',
        description: 'A code that expires sooner is not sold: the buyer needs time to install it.',
        default: DEFAULTS.leastValidityHours,
        minimum: 0,
        maximum: 8_760,
      }),
    ),
    ...giveUpSetting(DEFAULTS.giveUpAfterMs),
  },
  { additionalProperties: false },
)
export type StockConfig = Static<typeof stockConfig>

export interface StockDeps {
  db: Db
  ids: Ids
  cipher: Pick<Cipher, 'decrypt'>
  wake: Pick<Wakeups<'stock'>, 'wake'>
}

/** The encrypted part of a code. */
export interface StockSecrets {
  smdpAddress: string
  matchingId: string
  ac: string
  confirmationCode?: string
  pin?: string
  puk?: string
}

const BATCH = 250
const CONCURRENCY = 2_000
/** Codes per page when reconciliation lists all codes. */
const LIST_PAGE = 1_000
const TIMEOUT_MS = 15_000
/** The database cancels a statement after 30 s, so no reservation takes longer. */
const GRACE_MS = 30_000

/** The failure of the test of a supplier that has nothing to sell. */
export const NO_CODES = 'it has no codes: import some'

/**
 * A supplier of imported codes. Its records are in our database, but it is called like any other supplier: a reservation
 * commits in a separate transaction, under the item's key, so a repeat finds the same code.
 */
export function stockSupplier(name: string, config: StockConfig, deps: StockDeps): Supplier {
  const settings: StockSettings = { name, leastValidityHours: leastValidityHoursOf(config) }
  const outcomesOf = (requests: SupplierRequest[], rows: CodeRow[], otherwise: Outcome) => {
    const byKey = new Map(rows.map((row) => [row.key, row]))
    return requests.map((request): Outcome => {
      const row = byKey.get(request.key)
      return row === undefined ? otherwise : delivered(deps, name, row)
    })
  }
  return {
    name,
    type: 'stock',
    traits: {
      batch: BATCH,
      concurrency: CONCURRENCY,
      perSecond: null,
      timeoutMs: TIMEOUT_MS,
      graceMs: GRACE_MS,
      giveUpAfterMs: config.giveUpAfterMs ?? DEFAULTS.giveUpAfterMs,
      cancelsUnseenOnly: true,
    },
    async order(requests) {
      const accepted = requests.filter((request) => refuseSeveralDays(request) === undefined)
      const rows = await reserve(deps, settings, accepted)
      await failpoint('stock.reserved')
      const short = accepted.filter((request) => !rows.some((row) => row.key === request.key))
      const held = await findLockedProducts(deps.db, settings, short)
      const outcomes = outcomesOf(requests, rows, OUT_OF_STOCK)
      return outcomes.map((outcome, index) => {
        if (outcome !== OUT_OF_STOCK) return outcome
        const request = requests[index]!
        return refuseSeveralDays(request) ?? (held.has(request.productCode) ? LAST_CODES_LOCKED : OUT_OF_STOCK)
      })
    },
    async query(requests) {
      const keys = requests.map((request) => request.key)
      const rows = await deps.db.query<CodeRow>({ name: 'stock-find', text: FIND, values: [name, keys] })
      return outcomesOf(requests, rows, { kind: 'retry', message: 'no code is reserved for this item' })
    },
    cancel: (esim) => returnToStock(deps.db, name, esim),
    async tidy() {
      await alertExpiring(deps.db, deps.ids, name)
      return expireCodes(deps.db, deps.ids, settings)
    },
    async test() {
      const [row] = await deps.db.query(sql`
        select from stock_codes where supplier = ${name} and state = 'FREE' limit 1`)
      if (row !== undefined) return undefined
      const held = await deps.db.query(sql`
        select from stock_codes
        where supplier = ${name} and held_at is not null and exists (select from restores) limit 1`)
      return held.length > 0
        ? 'all its codes are held since a restore: say on the page Recovery which were sold'
        : NO_CODES
    },
    async *list(since) {
      for (let after = ''; ; ) {
        const rows = await deps.db.query<{ key: string; iccid: string; reservedAt: Date }>({
          text: `select key, iccid, reserved_at from stock_codes
                 where supplier = $1 and key > $3 and reserved_at >= $2 and not starts_with(key, $5) order by key limit $4`,
          values: [name, since, after, LIST_PAGE, SOLD_BEFORE_RESTORE],
        })
        for (const row of rows) yield { key: row.key, iccid: row.iccid, cancelled: false, time: row.reservedAt }
        if (rows.length < LIST_PAGE) return
        after = rows.at(-1)!.key
      }
    },
  }
}

export function leastValidityHoursOf(config: StockConfig): number {
  return config.leastValidityHours ?? DEFAULTS.leastValidityHours
}

const OUT_OF_STOCK: Outcome = { kind: 'refused', message: 'out of stock' }
const LAST_CODES_LOCKED: Outcome = { kind: 'retry', message: 'other orders are reserving the last codes' }

/**
 * Finds products whose last codes are locked by other orders. These orders may release them again, so the refusal is not
 * final.
 */
async function findLockedProducts(
  db: Db,
  settings: StockSettings,
  short: readonly SupplierRequest[],
): Promise<Set<string>> {
  if (short.length === 0) return new Set()
  const rows = await db.query<{ productCode: string }>({
    name: 'stock-held',
    text: `select p.product_code from unnest($2::text[]) as p(product_code)
           where exists (select from stock_codes c where c.supplier = $1 and c.product_code = p.product_code
             and c.state = 'FREE' and c.expires_at > now() + $3 * interval '1 hour')`,
    values: [settings.name, [...new Set(short.map((request) => request.productCode))], settings.leastValidityHours],
  })
  return new Set(rows.map((row) => row.productCode))
}

interface StockSettings {
  name: string
  leastValidityHours: number
}

interface CodeRow {
  key: string
  productCode: string
  batchId: string
  taken: boolean
  iccid: string
  secrets: Buffer
  imsi: string | null
  msisdn: string | null
  apn: string | null
  expiresAt: Date | number
}

/** A code that cannot be decrypted leaves its own item in doubt: an exception would leave all items of the call in doubt. */
function delivered(deps: StockDeps, name: string, row: CodeRow): Outcome {
  let secrets: StockSecrets
  try {
    secrets = JSON.parse(deps.cipher.decrypt(row.secrets, supplierOwner(name)).toString())
  } catch (error) {
    if (!(error instanceof DecryptionFailed)) throw error
    return { kind: 'unknown', message: `the code of eSIM ${row.iccid}, which is reserved for it, cannot be decrypted` }
  }
  return {
    kind: 'delivered',
    esim: {
      iccid: row.iccid,
      ...secrets,
      ...(row.imsi === null ? {} : { imsi: row.imsi }),
      ...(row.msisdn === null ? {} : { msisdn: row.msisdn }),
      ...(row.apn === null ? {} : { apn: row.apn }),
      ...(row.expiresAt instanceof Date ? { installBefore: row.expiresAt } : {}), // 'infinity' is returned as a number
    },
  }
}

/** Two round trips: one for the codes, one for the counters and the commit. */
async function reserve(deps: StockDeps, settings: StockSettings, requests: SupplierRequest[]): Promise<CodeRow[]> {
  let isSoldOut = false
  const reserved = await deps.db.tx(async (tx) => {
    const rows = await takeCodes(tx, settings, requests)
    const taken = rows.filter((row) => row.taken)
    await failpoint('stock.before-commit')
    isSoldOut = await lowerLevels(tx, deps.ids, settings.name, taken)
    return rows
  })
  if (isSoldOut) deps.wake.wake('stock')
  return reserved
}

/**
 * Finds a code for each key: the code that it already holds, or else the free code that expires first, but not too soon.
 * Locks the rows it takes and skips rows locked by others. The counters are locked afterwards, in the order of the
 * products.
 */
function takeCodes(
  tx: Tx,
  { name, leastValidityHours }: StockSettings,
  requests: SupplierRequest[],
): Promise<CodeRow[]> {
  const [keys, products] = [requests.map((request) => request.key), requests.map((request) => request.productCode)]
  return tx.query<CodeRow>({ name: 'stock-take', text: TAKE, values: [name, keys, products, leastValidityHours] })
}

const COLUMNS = 'key, product_code, batch_id, iccid, secrets, imsi, msisdn, apn, expires_at'
const FIND = `select ${COLUMNS}, false as taken from stock_codes where supplier = $1 and key = any ($2::text[])`
const TAKE = `
  with held as (
    select ${COLUMNS}, false as taken from stock_codes where supplier = $1 and key = any ($2::text[])
  ), wanted as (
    select w.key, w.product_code, row_number() over (partition by w.product_code) as n
    from unnest($2::text[], $3::text[]) as w(key, product_code)
    where w.key not in (select key from held)
  ), free as (
    select p.product_code, f.code_id, row_number() over (partition by p.product_code) as n
    from (select product_code, count(*) as many from wanted group by product_code) p
    cross join lateral (
      select code_id from stock_codes
      where supplier = $1 and product_code = p.product_code and state = 'FREE'
        and expires_at > now() + $4 * interval '1 hour'
      order by expires_at, code_id limit p.many
      for no key update skip locked
    ) f
  ), taken as (
    update stock_codes c set state = 'RESERVED', key = w.key, reserved_at = now()
    from wanted w join free f on f.product_code = w.product_code and f.n = w.n
    where c.supplier = $1 and c.code_id = f.code_id
    returning c.key, c.product_code, c.batch_id, c.iccid, c.secrets, c.imsi, c.msisdn, c.apn, c.expires_at
  )
  select * from held union all select *, true from taken`

/** Returns a code to stock if it was never shown. A code that was shown may be installed, which we cannot check. */
async function returnToStock(db: Db, name: string, esim: SuppliedEsim): Promise<CancelOutcome> {
  if (esim.shown) return { kind: 'refused', message: 'a code from stock cannot be returned after it was shown' }
  return db.tx(async (tx) => {
    const [row] = await tx.query<CountedCode>({
      text: `update stock_codes set state = 'FREE', key = null, reserved_at = null
             where supplier = $1 and key = $2 and iccid = $3 returning product_code, batch_id`,
      values: [name, esim.key, esim.iccid],
    })
    if (row === undefined) return outcomeOfRepeat(tx, name, esim)
    raiseLevel(tx, { supplier: name, ...row }, 1)
    return { kind: 'cancelled' }
  })
}

/**
 * Decides whether an earlier call returned the code and crashed before its result was saved: the code is in this stock, and
 * its item holds no code. The code may have been sold to another item since then, or may have expired.
 */
async function outcomeOfRepeat(tx: Tx, name: string, { key, iccid }: SuppliedEsim): Promise<CancelOutcome> {
  const returned = await tx.query({
    text: `select from stock_codes where supplier = $1 and iccid = $2
             and not exists (select from stock_codes where supplier = $1 and key = $3) limit 1`,
    values: [name, iccid, key],
  })
  if (returned.length > 0) return { kind: 'cancelled' }
  return { kind: 'refused', message: 'the code is not reserved for this item' }
}
