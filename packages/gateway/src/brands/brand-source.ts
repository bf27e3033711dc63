import type { Db, Tx } from '@dealer-esim/lib/postgres/db.ts'

export type BrandReader = Pick<Db | Tx, 'query'>

/** Where the brands of tenants are read. */
export interface BrandSource {
  db: BrandReader
  /** A twin has the brands of its dealer; set for test twins only. */
  liveBrands?: LiveBrands | undefined
}

/** The brands of the live dealers, as test twins see them. */
export interface LiveBrands {
  db: BrandReader
  /** The dealer of a twin. */
  liveIdOf(twinId: string): Promise<string>
}

/** The database with the brands of what a tenant sells, and whose they are there. @param tenantId null: the operator's own */
export async function ownerOfBrands<Id extends string | null>(
  { db, liveBrands }: BrandSource,
  tenantId: Id,
): Promise<{ db: BrandReader; tenantId: Id | string }> {
  if (liveBrands === undefined) return { db, tenantId }
  return { db: liveBrands.db, tenantId: tenantId === null ? tenantId : await liveBrands.liveIdOf(tenantId) }
}
