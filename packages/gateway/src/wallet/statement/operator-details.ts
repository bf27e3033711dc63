import type { Ids } from '@dealer-esim/lib/ids.ts'
import type { Db, Tx } from '@dealer-esim/lib/postgres/db.ts'
import sql from 'sql-template-tag'
import { audit, type By } from '#platform/audit/audit.ts'

/** The operator's details as shown in statements. */
export interface OperatorDetails {
  legalName: string | null
  taxId: string | null
  /** Several lines. */
  address: string | null
}

export const OPERATOR_DETAILS_LENGTH_MAX = { legalName: 200, taxId: 64, address: 500 } as const

export async function getOperatorDetails(db: Pick<Db | Tx, 'query'>): Promise<OperatorDetails> {
  const [row] = await db.query<OperatorDetails>(sql`select legal_name, tax_id, address from operator_details`)
  return row ?? { legalName: null, taxId: null, address: null }
}

/** Sets the operator's details for statements issued from now on. Issued ones keep the earlier details. */
export async function setOperatorDetails(
  deps: { db: Db; ids: Ids },
  input: OperatorDetails,
  by: By,
): Promise<OperatorDetails> {
  const next = {
    legalName: input.legalName?.trim() || null,
    taxId: input.taxId?.trim() || null,
    address: input.address?.trim() || null,
  }
  await deps.db.tx(async (tx) => {
    const before = await getOperatorDetails(tx)
    tx.send(sql`
      insert into operator_details (legal_name, tax_id, address, updated_at)
      values (${next.legalName}, ${next.taxId}, ${next.address}, clock_timestamp())
      on conflict (singleton) do update
      set legal_name = excluded.legal_name, tax_id = excluded.tax_id, address = excluded.address,
          updated_at = excluded.updated_at`)
    audit(tx, deps.ids, { tenantId: null, action: 'operator.set_details', before, after: next, ...by })
  })
  return next
}
