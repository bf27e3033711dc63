import type { Ids } from '@dealer-esim/lib/ids.ts'
import type { Db, Tx } from '@dealer-esim/lib/postgres/db.ts'
import { notFound, Refusal } from '@dealer-esim/lib/refusal.ts'
import { parseEvidence } from '#orders/justification.ts'
import { audit, type By } from '#platform/audit/audit.ts'
import { getRecovery } from './recovery-state.ts'

/*
 * Doubts that nothing in the database can end: an operator asks, and records what was found out. A settled doubt is no longer
 * named at the release. Settling changes no order, code or balance.
 */

/**
 * What is settled of a supplier. PERIOD: all that it sold since the backup, e.g. by its monthly invoice. The others: eSIMs that it
 * lists and that belong to no order, e.g. because their dealers were debited.
 */
export type SettledPart = { kind: 'PERIOD' } | { kind: 'ALL_ESIMS' } | { kind: 'ICCIDS'; iccids: readonly string[] }

/**
 * @returns how many eSIMs are settled now; 0 for the period
 * @throws Refusal if the gateway is not in recovery, the supplier does not exist, or an ICCID is not among its eSIMs; nothing is
 * then changed
 */
export async function settleSupplier(
  deps: { db: Db; ids: Ids },
  { supplier, part, ...given }: { supplier: string; part: SettledPart; evidence: string },
  by: By,
): Promise<number> {
  const evidence = parseEvidence(given.evidence)
  return deps.db.tx(async (tx) => {
    await getRecovery(tx)
    const known = await tx.query({ text: 'select from suppliers where supplier = $1', values: [supplier] })
    if (known.length === 0) throw notFound('supplier', supplier)
    const esims = part.kind === 'PERIOD' ? [] : await settleEsims(tx, supplier, part, evidence)
    if (part.kind === 'PERIOD') {
      tx.send({
        text: `insert into settled_suppliers (supplier, restore_id, evidence) select $1, restore_id, $2 from restores where recovering
               on conflict (supplier, restore_id) do update set evidence = excluded.evidence, settled_at = now()`,
        values: [supplier, evidence],
      })
    }
    const after = { part: part.kind, iccids: esims.slice(0, AUDITED_MAX), esims: esims.length, evidence }
    audit(tx, deps.ids, { tenantId: null, ...by, action: 'recovery.settle', subject: supplier, after })
    return esims.length
  })
}

/** ICCIDs that an audit entry names. */
const AUDITED_MAX = 100

/** SQL: eSIMs that were found since the earliest restore whose recovery has not ended. */
export const FOUND_IN_RECOVERY = 'found_at > (select min(restored_at) from restores where recovering)'

async function settleEsims(
  tx: Tx,
  supplier: string,
  part: Exclude<SettledPart, { kind: 'PERIOD' }>,
  evidence: string,
): Promise<string[]> {
  const iccids = part.kind === 'ICCIDS' ? [...new Set(part.iccids)] : null
  const settled = await tx.query<{ iccid: string }>({
    text: `update unclaimed_esims set settled_at = now(), evidence = $3
           where supplier = $1 and ${FOUND_IN_RECOVERY}
             and case when $2::text[] is null then settled_at is null else iccid = any ($2::text[]) end
           returning iccid`,
    values: [supplier, iccids, evidence],
  })
  const found = new Set(settled.map(({ iccid }) => iccid))
  const missing = iccids?.filter((iccid) => !found.has(iccid)) ?? []
  if (missing.length > 0) {
    const named = missing.slice(0, NAMED_MAX).join(', ')
    const message = `${supplier} does not list these ICCIDs without an order: ${named}. Correct the file; nothing was changed.`
    throw new Refusal(422, 'NOT_LISTED', message)
  }
  return [...found]
}

const NAMED_MAX = 5

/**
 * Records that credits and adjustments since the backup were entered again, e.g. from the bank statement.
 * @throws Refusal if the gateway is not in recovery
 */
export async function settleCredits(deps: { db: Db; ids: Ids }, given: { evidence: string }, by: By): Promise<void> {
  const evidence = parseEvidence(given.evidence)
  await deps.db.tx(async (tx) => {
    await getRecovery(tx)
    tx.send({ text: 'update restores set credits_evidence = $1 where recovering', values: [evidence] })
    audit(tx, deps.ids, { tenantId: null, ...by, action: 'recovery.settle_credits', after: { evidence } })
  })
}
