import { groupBy } from '@dealer-esim/lib/batch.ts'
import type { Ids } from '@dealer-esim/lib/ids.ts'
import { joinTransaction, type Tx } from '@dealer-esim/lib/postgres/db.ts'
import type { Wakeups } from '@dealer-esim/lib/postgres/wakeups.ts'
import { notFound, Refusal, shortList } from '@dealer-esim/lib/refusal.ts'
import sql from 'sql-template-tag'
import type { Topic } from '#deps.ts'
import { IS_OPEN, IS_OPERATORS } from '#orders/esim-action.ts'
import { parseEvidence } from '#orders/justification.ts'
import { audit, type By } from '#platform/audit/audit.ts'
import { endHold, listHeldBatches, SOLD_BEFORE_RESTORE } from '#stock/held-codes.ts'
import { getRecoveryReport, type RecoveryReport, type ReportDeps } from './recovery-report.ts'
import { getRecovery } from './recovery-state.ts'
import { owedText } from './restored-debits.ts'
import { FOUND_IN_RECOVERY } from './settle-doubts.ts'

export interface Release {
  /** undefined: all of them, which ends the recovery. */
  tenantIds?: readonly string[] | undefined
  /** Why the operator accepts what is in doubt. */
  acceptedDoubt?: string | undefined
}

type ReleaseDeps = ReportDeps & { ids: Ids; wake: Pick<Wakeups<Topic>, 'wake'> }

/**
 * Releases dealers: their requests are answered, and suppliers are called for them again. What is held stays held: codes in
 * stock, transactionIds, open orders and actions.
 * @returns the doubts that were accepted, which the report keeps
 * @throws Refusal before a worker has prepared the recovery, or while something is in doubt that the operator has not accepted
 */
export async function releaseDealers(
  deps: ReleaseDeps,
  { tenantIds, acceptedDoubt }: Release,
  by: By,
): Promise<string[]> {
  const report = await getRecoveryReport(deps)
  const { preparedAt } = await getRecovery(deps.db)
  if (preparedAt === null) {
    const message =
      'Unsold codes and open orders are not held yet. Start a worker (--role worker), and try again in a minute.'
    throw new Refusal(409, 'NOT_PREPARED', message)
  }
  const unknown = tenantIds?.find((id) => !report.dealers.some(({ tenantId }) => tenantId === id))
  if (unknown !== undefined) throw notFound('tenant', unknown)
  const doubts = doubtsOf(report, tenantIds)
  if (doubts.length > 0 && acceptedDoubt === undefined) {
    const lastChance = tenantIds === undefined ? `\n${LAST_CHANCE}` : ''
    const message = `${doubts.join('\n')}\nNothing was released. Settle this, or accept it: --accept-doubt "why".${lastChance}`
    throw new Refusal(409, 'IN_DOUBT', message)
  }
  const because = doubts.length > 0 ? parseEvidence(acceptedDoubt!) : null
  await deps.db.tx(async (tx) => {
    const accepted = because === null ? null : { because, doubts }
    if (tenantIds === undefined) endRecovery(tx, accepted)
    else releaseSome(tx, tenantIds, accepted)
    const after = { dealers: tenantIds ?? 'all', doubts, because }
    audit(tx, deps.ids, { tenantId: null, ...by, action: 'recovery.release', after })
  })
  wakeAll(deps)
  return doubts
}

/**
 * Ends a recovery after which nothing can be in doubt, because nothing was sold since the backup: the gateway was moved to
 * another server. Codes that this recovery holds are for sale again; those that an earlier one holds stay held. Suppliers are
 * asked to carry out open actions again. Open orders that a worker has put under review stay there.
 * @throws Refusal if an earlier recovery has not ended either, dealers were released, or something is known to have been sold
 */
export async function endWithoutSales(deps: ReleaseDeps, evidence: string, by: By): Promise<void> {
  const because = parseEvidence(evidence)
  await deps.db.tx(async (tx) => {
    const since = await requireNoSales(tx)
    const within = { ...deps, db: joinTransaction(deps.db, tx) }
    for (const { supplier, batchId } of await listHeldBatches(tx, since)) {
      await endHold(within, { supplier, batchId, rest: 'UNSOLD', evidence: because, since }, by)
    }
    tx.send({ text: `update esim_actions a set due_at = now() where ${IS_OPEN} and ${IS_OPERATORS}` })
    endRecovery(tx, { because, doubts: null })
    audit(tx, deps.ids, { tenantId: null, ...by, action: 'recovery.release', after: { nothingSold: because } })
  })
  wakeAll(deps)
}

/** @returns the time of the only restore, which nothing else ends meanwhile. @throws Refusal if something may have been sold */
async function requireNoSales(tx: Tx): Promise<Date> {
  await getRecovery(tx)
  const [restore, ...others] = await tx.query<{ restoredAt: Date; hasReleased: boolean }>(sql`
    select restored_at, exists (select from recovered_tenants t where t.restore_id = r.restore_id) as has_released
    from restores r where recovering for update`)
  const instead =
    'Say what was sold of each batch (recovery stock), then end the recovery with recovery release --all. Nothing was changed.'
  if (others.length > 0) {
    const message = `The recoveries from ${others.length + 1} restores have not ended, so something may have been sold since the first backup. ${instead}`
    throw new Refusal(409, 'RESTORED_TWICE', message)
  }
  if (restore!.hasReleased) {
    throw new Refusal(409, 'DEALERS_RELEASED', `Dealers were released already, and may have bought since. ${instead}`)
  }
  const { restoredAt } = restore!
  const sales = await listKnownSales(tx, restoredAt)
  if (sales.length > 0) {
    const message = `Something was sold since the backup:\n${sales.join('\n')}\n${instead}`
    throw new Refusal(409, 'KNOWN_SALES', message)
  }
  return restoredAt
}

/** Sentences about what the gateway knows to have been sold, or a dealer says so, since the backup of the only restore. */
async function listKnownSales(tx: Tx, restoredAt: Date): Promise<string[]> {
  const esims = await tx.query<{ supplier: string; iccids: string[] }>({
    text: `select supplier, array_agg(iccid order by iccid) as iccids from unclaimed_esims where ${FOUND_IN_RECOVERY} group by 1 order by 1`,
  })
  const transactions = await tx.query<{ clientName: string; state: string; ids: string[] }>(sql`
    select t.tenant_name as client_name, r.state, array_agg(r.transaction_id order by r.transaction_id) as ids
    from restored_transactions r join tenants t using (tenant_id)
    where greatest(r.seen_at, r.decided_at) >= ${restoredAt} and (r.state = 'SOLD' or r.state = 'IN_DOUBT' and r.listed)
    group by 1, 2 order by 1, 2`)
  const codes = await tx.query<{ supplier: string; iccids: string[] }>(sql`
    select supplier, array_agg(iccid order by iccid) as iccids from stock_codes
    where reserved_at >= ${restoredAt} and starts_with(key, ${SOLD_BEFORE_RESTORE}) group by 1 order by 1`)
  return [
    ...esims.map(({ supplier, iccids }) => `${supplier} has sold ${shortList(iccids, NAMED_MAX)}, which no order has.`),
    ...transactions.map(({ clientName, state, ids }) =>
      state === 'SOLD'
        ? `The transactionId ${shortList(ids, NAMED_MAX)} of ${clientName} was sold.`
        : `The list of ${clientName} has the transactionId ${shortList(ids, NAMED_MAX)}, which is not decided.`,
    ),
    ...codes.map(
      ({ supplier, iccids }) => `${iccids.length} codes of ${supplier} were sold: ${shortList(iccids, NAMED_MAX)}.`,
    ),
  ]
}

function wakeAll({ wake }: Pick<ReleaseDeps, 'wake'>): void {
  for (const topic of ['settings', 'fulfilment', 'actions', 'webhooks', 'stock'] as const) wake.wake(topic)
}

/** Why an operator released although these doubts were left; null doubts: nothing was in doubt. */
type Accepted = { because: string; doubts: string[] | null } | null

/** Requests that were checked against an older version are checked again, so a release holds for the next request. */
function endRecovery(tx: Tx, accepted: Accepted): void {
  tx.send({
    text: `update restores set recovering = false, ended_at = now(), ended_because = $1, accepted_doubts = $2
           where recovering`,
    values: [accepted?.because ?? null, accepted?.doubts ?? null],
  })
  tx.send({ text: 'update tenants set version = version + 1' })
}

function releaseSome(tx: Tx, tenantIds: readonly string[], accepted: Accepted): void {
  tx.send({
    text: `insert into recovered_tenants (tenant_id, restore_id, released_because, accepted_doubts)
           select tenant_id, restore_id, $2, $3 from unnest($1::uuid[]) as tenant_id cross join restores where recovering
           on conflict do nothing`,
    values: [tenantIds, accepted?.because ?? null, accepted?.doubts ?? null],
  })
  tx.send({ text: 'update tenants set version = version + 1 where tenant_id = any ($1::uuid[])', values: [tenantIds] })
}

const NAMED_MAX = 10

/** Sentences about what could be bought again, or was sold without a debit, if these dealers were released now. */
export function doubtsOf(report: RecoveryReport, tenantIds?: readonly string[]): string[] {
  if (report.recovery === null) return []
  const ofState = (wanted: string) =>
    report.suppliers.filter(({ state, evidence }) => state === wanted && evidence === null)
  const unsettled = report.theirs.filter(({ evidence }) => evidence === null)
  const isMeant = ({ tenantId }: { tenantId: string }) => tenantIds === undefined || tenantIds.includes(tenantId)
  const inDoubt = report.transactions.filter((one) => isMeant(one) && one.state === 'IN_DOUBT')
  const undecided = groupBy(inDoubt, ({ tenantId }) => tenantId)
  const nameOf = (id: string) => report.dealers.find(({ tenantId }) => tenantId === id)?.clientName ?? id
  const owed = report.debits.filter((debit) => isMeant(debit) && debit.state !== 'DEBITED')
  const unlisted = report.dealers.filter((dealer) => isMeant(dealer) && !dealer.listed && !dealer.released)
  return [
    ...(report.recovery?.isReplayable
      ? [`Requests of the time before the restore can be replayed until ${replayableUntil(report.recovery)}.`]
      : []),
    ...ofState('NOT_COMPARED').map(
      ({ supplier }) => `The list of ${supplier} has not been compared since the restore.`,
    ),
    ...ofState('COMPARED')
      .filter(({ unreadable }) => unreadable > 0)
      .map(
        ({ supplier, unreadable }) =>
          `${unreadable} entries of the list of ${supplier} could not be read: ask it about them (supplier report --discrepancies).`,
      ),
    ...ofState('NO_LIST').map(
      ({ supplier }) => `${supplier} has no list of orders: ask it what it sold since the backup.`,
    ),
    ...ofState('RANGE').map(
      ({ supplier }) =>
        `${supplier} has no list of orders, and is paused: ask it what it sold since the backup, let iccidRange begin after the last ICCID that was sold, and resume it.`,
    ),
    ...report.batches.map(
      ({ supplier, batchName, held }) =>
        `${held} codes of batch ${batchName} of ${supplier} are held: say which were sold, then that the list is complete.`,
    ),
    ...[...undecided].map(
      ([tenantId, ids]) =>
        `TransactionIds of ${nameOf(tenantId)} are not decided, and stay refused: ${shortList(
          ids.map(({ transactionId }) => transactionId),
          NAMED_MAX,
        )}.`,
    ),
    ...(owed.length > 0
      ? [
          `Orders that were sold are not debited, in all ${owedText(owed)}: ${shortList(
            owed.map(({ transactionId }) => transactionId),
            NAMED_MAX,
          )}. See “To debit”.`,
        ]
      : []),
    ...(unsettled.length > 0
      ? [`${unsettled.length} eSIMs that suppliers list belong to no order: debit the dealers that have them.`]
      : []),
    ...(report.recovery && report.recovery.creditsEvidence === null
      ? [
          `Credits and adjustments since ${report.recovery.backupStartedAt.toISOString()} are not known: compare them with the bank statement, and enter them again.`,
        ]
      : []),
    ...(unlisted.length > 0 ? [`These dealers have sent no list of their orders: ${namesOf(unlisted)}.`] : []),
  ]
}

const LAST_CHANCE =
  'Once all dealers are released, no list can be matched any more, and what nobody has listed can be bought again.'

const REPLAYABLE_MS = 6 * 60_000

function replayableUntil({ restoredAt }: { restoredAt: Date }): string {
  return new Date(restoredAt.getTime() + REPLAYABLE_MS).toISOString()
}

function namesOf(dealers: readonly { clientName: string }[]): string {
  const names = dealers.slice(0, NAMED_MAX).map(({ clientName }) => clientName)
  return dealers.length > NAMED_MAX ? `${names.join(', ')} and ${dealers.length - NAMED_MAX} more` : names.join(', ')
}
