import { isAhead } from '@dealer-esim/lib/leases.ts'
import type { Db } from '@dealer-esim/lib/postgres/db.ts'
import type { SupplierRequest } from '#supplier.ts'

/*
 * Our orders at eSIM Go. It does not accept an idempotency key, and two equal orders differ only in reference and time. So
 * we claim a purchase before we send it: all nodes together make one purchase of a bundle at a time. A claim ends when its
 * order is known or was refused, otherwise when the order can no longer be mistaken for a later one.
 */
export interface PlacedOrder {
  key: string
  productCode: string
  /** When the purchase was last claimed. */
  sentAt: Date
  /** null if no answer has arrived. */
  reference: string | null
  /** The current time by the database's clock. */
  now: Date
}

export interface OrderStore {
  find(key: string): Promise<PlacedOrder | undefined>
  /**
   * Claims the bundle. @returns false if another purchase of the bundle is in progress, or if this one has already been
   * made
   */
  claim(request: Pick<SupplierRequest, 'key' | 'productCode'>): Promise<boolean>
  /** Ends the claim because nothing was bought. */
  release(key: string): Promise<void>
  /**
   * Records that the order was placed. A worker that seemed to have stopped may have placed a second order for the same
   * key, which is recorded in addition to the first.
   * @throws if another key has the reference
   */
  save(key: string, order: { reference: string; iccid: string | undefined; productCode: string }): Promise<void>
  /** The keys of orders that we placed, by their references. */
  findKeys(references: readonly string[]): Promise<ReadonlyMap<string, string>>
  /** The key of the order that delivered an eSIM. */
  findKeyOf(iccid: string): Promise<string | undefined>
  /** Bundles with an unanswered order from the last hour. */
  listInDoubt(): Promise<string[]>
}

/** @param claimMs how long an unanswered claim lasts */
export function createOrderStore(supplier: string, db: Pick<Db, 'query'>, claimMs: number): OrderStore {
  return {
    async find(key) {
      const [row] = await db.query<PlacedOrder>({
        name: 'esim-go-find',
        text: 'select key, product_code, sent_at, reference, now() as now from esim_go_orders where supplier = $1 and key = $2',
        values: [supplier, key],
      })
      return row
    },
    async claim({ key, productCode }) {
      const claimed = await db.query({
        name: 'esim-go-claim',
        text: CLAIM,
        values: [supplier, productCode, key, claimMs],
      })
      return claimed.length === 1
    },
    async release(key) {
      await db.query({
        name: 'esim-go-release',
        text: `with released as (delete from esim_go_claims where supplier = $1 and key = $2)
               delete from esim_go_orders where supplier = $1 and key = $2 and reference is null`,
        values: [supplier, key],
      })
    },
    async save(key, { reference, iccid, productCode }) {
      await db.query({
        name: 'esim-go-save',
        text: `with released as (delete from esim_go_claims where supplier = $1 and key = $2),
                 updated as (
                   update esim_go_orders set reference = $3, iccid = coalesce($4, iccid)
                   where supplier = $1 and key = $2 and (reference is null or reference = $3) returning key
                 )
               insert into esim_go_orders (supplier, key, product_code, sent_at, reference, iccid)
               select $1, $2 || ' ' || $3, $5, now(), $3, $4 where not exists (select from updated)
               on conflict (supplier, key) do nothing`,
        values: [supplier, key, reference, iccid, productCode],
      })
    },
    async findKeys(references) {
      const rows = await db.query<{ reference: string; key: string }>({
        name: 'esim-go-keys',
        text: `select reference, split_part(key, ' ', 1) as key from esim_go_orders
               where supplier = $1 and reference = any ($2::text[])`,
        values: [supplier, references],
      })
      return new Map(rows.map(({ reference, key }) => [reference, key]))
    },
    async findKeyOf(iccid) {
      const [row] = await db.query<{ key: string }>({
        name: 'esim-go-key-of',
        text: `select split_part(key, ' ', 1) as key from esim_go_orders where supplier = $1 and iccid = $2`,
        values: [supplier, iccid],
      })
      return row?.key
    },
    async listInDoubt() {
      const rows = await db.query<{ productCode: string }>({
        name: 'esim-go-in-doubt',
        text: `select distinct product_code from esim_go_orders
               where supplier = $1 and reference is null and sent_at > now() - interval '1 hour'`,
        values: [supplier],
      })
      return rows.map(({ productCode }) => productCode)
    },
  }
}

/**
 * Locks the claim of the bundle until the statement's own commit. The same key may claim again, because its earlier order
 * was not placed. Ignores a time further away than a claim lasts: a fast clock wrote it.
 */
const CLAIM = `
  with claimed as (
    insert into esim_go_claims as c (supplier, product_code, key, claimed_until)
    select $1, $2, $3, now() + $4 * interval '1 millisecond'
    where not exists (select from esim_go_orders where supplier = $1 and key = $3 and reference is not null)
    on conflict (supplier, product_code) do update set key = excluded.key, claimed_until = excluded.claimed_until
      where c.key = excluded.key or c.claimed_until <= now() or ${isAhead('c.claimed_until', '$4')}
    returning key
  )
  insert into esim_go_orders as o (supplier, key, product_code, sent_at)
  select $1, key, $2, now() from claimed
  on conflict (supplier, key) do update set product_code = excluded.product_code, sent_at = excluded.sent_at
    where o.reference is null
  returning key`
