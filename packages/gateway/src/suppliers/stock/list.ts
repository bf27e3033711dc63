import type { Db } from '../../lib/db.ts'

export interface StockLevel {
  supplier: string
  productCode: string
  available: number
  lowAt: number | null
}

/** What is counted, of every supplier that counts. */
export async function listStock(db: Pick<Db, 'query'>): Promise<StockLevel[]> {
  const rows = await db.query<{ supplier: string; product_code: string; available: bigint; low_at: bigint | null }>({
    text: 'select supplier, product_code, available, low_at from stock_levels order by supplier, product_code',
  })
  return rows.map((row) => ({
    supplier: row.supplier,
    productCode: row.product_code,
    available: Number(row.available),
    lowAt: row.low_at === null ? null : Number(row.low_at),
  }))
}
