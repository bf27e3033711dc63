import type { Ids } from '@dealer-esim/lib/ids.ts'
import type { Db, Tx } from '@dealer-esim/lib/postgres/db.ts'
import { type Loop, type LoopDeps, runLoop } from '@dealer-esim/lib/process/start-stop.ts'
import { notFound, Refusal } from '@dealer-esim/lib/refusal.ts'
import type { Supplier } from '@dealer-esim/wholesalers/supplier.ts'
import sql from 'sql-template-tag'
import { createAlert } from '#alerts/create-alert.ts'
import { audit, type By } from '#platform/audit/audit.ts'

export interface StockLevel {
  supplier: string
  productCode: string
  available: number
  lowAt: number | null
  /** The first ten packages on sale that this product is bought for. */
  packageCodes: string[]
}

/**
 * Lists the counted products of all suppliers, and the products of stock suppliers that packages use but that have no
 * codes.
 */
export async function listStock(db: Pick<Db, 'query'>): Promise<StockLevel[]> {
  const rows = await db.query<
    Omit<StockLevel, 'available' | 'lowAt'> & { available: bigint; lowThreshold: bigint | null }
  >(sql`
    with products as (
      select supplier, product_code, available, low_threshold from stock_levels
      union all
      select distinct p.supplier, p.product_code, 0, null::bigint
      from package_suppliers p join suppliers s on s.supplier = p.supplier and s.type = 'stock'
      where not exists (select from stock_levels l where l.supplier = p.supplier and l.product_code = p.product_code)
    )
    select supplier, product_code, available, low_threshold,
      array(select package_code from package_suppliers p join packages using (package_code)
            where p.supplier = t.supplier and p.product_code = t.product_code and on_sale
            order by package_code limit 10) as package_codes
    from products t order by supplier, product_code`)
  return rows.map(({ available, lowThreshold, ...row }) => ({
    ...row,
    available: Number(available),
    lowAt: lowThreshold === null ? null : Number(lowThreshold),
  }))
}

/** A code's product and batch, which both count it. */
export interface CountedCode {
  readonly productCode: string
  readonly batchId: string
}

function countBy(codes: readonly CountedCode[], member: keyof CountedCode): Map<string, number> {
  const counts = new Map<string, number>()
  for (const code of codes) counts.set(code[member], (counts.get(code[member]) ?? 0) + 1)
  return counts
}

/**
 * Lowers the counters of sold or expired codes, product by product in ascending order (so that two reservations cannot
 * deadlock), then those of their batches, and alerts operators once when one runs low. Locks the counters until the commit,
 * so call it last.
 * @returns whether a product is now sold out
 */
export async function lowerLevels(
  tx: Tx,
  ids: Ids,
  supplier: string,
  codes: readonly CountedCode[],
  end: 'sold' | 'expired' = 'sold',
): Promise<boolean> {
  const taken = countBy(codes, 'productCode')
  const lowering = [...taken.keys()].sort().map((productCode) =>
    tx.query<{ productCode: string; available: bigint; isNewlyLow: boolean }>({
      name: 'stock-lower',
      text: `update stock_levels set available = available - $3
             where supplier = $1 and product_code = $2
             returning product_code, available,
               low_threshold is not null and available < low_threshold and not low_alerted as is_newly_low`,
      values: [supplier, productCode, taken.get(productCode)],
    }),
  )
  // A change to a batch holds the counter of its product, so the order of the batches does not matter.
  for (const [batchId, count] of countBy(codes, 'batchId')) {
    tx.send({
      name: 'stock-lower-batch',
      text: `update stock_batches set available = available - $3, expired = expired + $4
             where supplier = $1 and batch_id = $2`,
      values: [supplier, batchId, count, end === 'expired' ? count : 0],
    })
  }
  let isSoldOut = false
  for (const [level] of await Promise.all(lowering)) {
    if (level && level.available <= 0) isSoldOut = true
    if (!level?.isNewlyLow) continue
    tx.send(sql`
      update stock_levels set low_alerted = true where supplier = ${supplier} and product_code = ${level.productCode}`)
    createAlert(tx, ids, {
      kind: 'LOW_STOCK',
      message: `${supplier} has ${level.available} codes of ${level.productCode} left. Import more before they run out.`,
      data: { supplier, productCode: level.productCode, available: Number(level.available) },
    })
  }
  return isSoldOut
}

/** Raises the counters of a product and a batch. A product that is no longer low may cause another alert. */
export function raiseLevel(tx: Tx, code: CountedCode & { supplier: string }, by: number): void {
  const { supplier, productCode, batchId } = code
  tx.send({
    text: `insert into stock_levels as l (supplier, product_code, available) values ($1, $2, $3)
           on conflict (supplier, product_code) do update set available = l.available + $3,
             low_alerted = l.low_alerted and l.available + $3 < l.low_threshold`,
    values: [supplier, productCode, by],
  })
  tx.send({
    text: 'update stock_batches set available = available + $3 where supplier = $1 and batch_id = $2',
    values: [supplier, batchId, by],
  })
}

/** The number of codes that one pass marks as expired, to keep its transaction short. */
const EXPIRED_PER_PASS = 1_000

/**
 * Marks codes as expired that have expired or will expire too soon to be sold, and lowers the counters. The codes stay
 * expired until they are imported again, even if the minimum validity is lowered later.
 * @returns whether there may be more
 */
export async function expireCodes(
  db: Db,
  ids: Ids,
  { name, leastValidityHours }: { name: string; leastValidityHours: number },
): Promise<boolean> {
  return db.tx(async (tx) => {
    const rows = await tx.query<CountedCode>({
      name: 'stock-expire',
      text: `with expired as (
          select supplier, code_id from stock_codes
          where supplier = $1 and state = 'FREE' and expires_at < 'infinity'
            and expires_at <= now() + $2 * interval '1 hour'
          order by expires_at limit $3 for no key update skip locked
        )
        update stock_codes c set state = 'EXPIRED' from expired e
        where c.supplier = e.supplier and c.code_id = e.code_id
        returning c.product_code, c.batch_id`,
      values: [name, leastValidityHours, EXPIRED_PER_PASS],
    })
    await lowerLevels(tx, ids, name, rows, 'expired')
    return rows.length === EXPIRED_PER_PASS
  })
}

/**
 * Sets the number of codes below which operators are alerted that a product is running low; null: never.
 * @throws Refusal if the supplier does not exist, or if it never had the product and no package sells it
 */
export async function setLowStock(
  deps: { db: Db; ids: Ids },
  { supplier, productCode, lowAt }: { supplier: string; productCode: string; lowAt: number | null },
  by: By,
): Promise<void> {
  await deps.db.tx(async (tx) => {
    const set = await tx.query({
      text: `insert into stock_levels (supplier, product_code, available, low_threshold)
             select supplier, $2, 0, $3 from suppliers s where supplier = $1
               and (exists (select from stock_levels l where l.supplier = s.supplier and l.product_code = $2)
                 or exists (select from package_suppliers p where p.supplier = s.supplier and p.product_code = $2))
             on conflict (supplier, product_code) do update set low_threshold = $3, low_alerted = false returning 1`,
      values: [supplier, productCode, lowAt],
    })
    if (set.length === 0) {
      const [known] = await tx.query({ text: 'select from suppliers where supplier = $1', values: [supplier] })
      if (known === undefined) throw notFound('supplier', supplier)
      const message = `${supplier} has never had codes of ${productCode}, and no package sells it. Check the spelling.`
      throw new Refusal(404, 'PRODUCT_UNKNOWN', message)
    }
    const after = { productCode, lowAt }
    audit(tx, deps.ids, { tenantId: null, ...by, action: 'stock.low', subject: supplier, after })
  })
}

interface StockLoopDeps extends LoopDeps {
  suppliers: { all(): { supplier: Pick<Supplier, 'name' | 'tidy'> }[] }
}

const POLL_MS = 60_000

/**
 * Marks codes as expired, which corrects the counters. If a pass is late, only the counters are wrong: expired codes are
 * never sold.
 */
export function stockLoop(deps: StockLoopDeps): Loop {
  async function pass(): Promise<boolean> {
    let more = false
    for (const { supplier } of deps.suppliers.all()) {
      try {
        more = (await supplier.tidy?.()) || more
      } catch (error) {
        deps.log.error(
          { err: error, supplier: supplier.name },
          'expired codes could not be removed from the stock counters',
        )
      }
    }
    return more
  }
  return runLoop(deps, 'stock', POLL_MS, pass)
}
