import type { Tx } from '@dealer-esim/lib/postgres/db.ts'
import { Refusal } from '@dealer-esim/lib/refusal.ts'
import sql from 'sql-template-tag'
import type { Deps } from '#deps.ts'
import { audit, type By, SYSTEM } from '#platform/audit/audit.ts'
import { createTenant } from '#tenants/create-tenant.ts'
import { approveAdjustment, proposeAdjustment } from '#wallet/ledger/adjust.ts'
import { topUp } from '#wallet/ledger/top-up-wallet.ts'
import { removeTenants } from './remove-tenants.ts'
import type { TrialDealer } from './trial-history.ts'
import { createHistoryPartitions, writeWeek } from './write-history.ts'

/*
 * Trial data for a local gateway: dealers with four weeks of orders, eSIMs, events and movements, so that every page of the
 * console has something to show. The past is written directly, because modules date their work by the database's clock;
 * today's data goes through the modules. Removal deletes the rows of these dealers, and nothing else.
 */

const TRIAL_DEALERS: readonly TrialDealer[] = [
  {
    ...{ clientName: 'Nordic Roaming (trial)', currencyCode: 'USD', ordersPerDay: 9 },
    callbackUrl: 'https://hooks.nordic-roaming.example/esim',
  },
  {
    ...{ clientName: 'Sakura Travel (trial)', currencyCode: 'USD', ordersPerDay: 5 },
    callbackUrl: 'https://sakura.example/events?token=trial',
  },
  { clientName: 'Alpine Backpackers (trial)', currencyCode: 'EUR', ordersPerDay: 4 },
  { clientName: 'Harbour Cruises (trial)', currencyCode: 'USD', ordersPerDay: 2 },
]

/** Four weeks, plus today's events. The delivery log keeps 31 days. */
const WEEKS = 4
const STEPS = WEEKS + 1
const WEEK_MS = 7 * 86_400_000

export type TrialDeps = Pick<
  Deps,
  'db' | 'ids' | 'cipher' | 'catalogue' | 'config' | 'databaseClock' | 'log' | 'orderPlacer' | 'wake'
>

export interface TrialData {
  state: 'NONE' | 'FILLING' | 'READY'
  dealers: number
  done: number
  all: number
}

export async function getTrialData({ db }: Pick<TrialDeps, 'db'>): Promise<TrialData> {
  const rows = await listTrialDealers({ db })
  const done = rows.reduce((sum, { stepsDone }) => sum + stepsDone, 0)
  const all = TRIAL_DEALERS.length * STEPS
  if (rows.length === 0) return { state: 'NONE', dealers: 0, done, all }
  return { state: done < all ? 'FILLING' : 'READY', dealers: rows.length, done, all }
}

/**
 * Creates the dealers, and fills them in the background. If started again, it continues where it left off.
 * @returns a promise in `filled` that resolves when all data has been written
 * @throws Refusal on a gateway that is not local
 */
export async function startTrialData(deps: TrialDeps, by: By): Promise<{ filled: Promise<void> }> {
  requireLocal(deps)
  const existing = await listTrialDealers(deps)
  if (existing.length === 0) {
    await deps.db.tx(async (tx) => audit(tx, deps.ids, { tenantId: null, ...by, action: 'trial_data.add' }))
    await createHistoryPartitions(deps.db, deps.databaseClock.now() - WEEKS * WEEK_MS)
  }
  for (const dealer of TRIAL_DEALERS.slice(existing.length)) {
    const { tenantId } = await createTenant(deps, dealer, SYSTEM)
    await deps.db.tx(async (tx) => {
      tx.send({ text: 'insert into trial_dealers (tenant_id) values ($1)', values: [tenantId] })
      tx.send(sql`
        update tenants set created_at = now() - ${WEEKS + 1} * interval '1 week' where tenant_id = ${tenantId}`)
      if (dealer.callbackUrl === undefined) return
      // Its address does not exist, so it could not pass a health check.
      tx.send({
        text: 'insert into webhook_endpoints (tenant_id, callback_url) values ($1, $2)',
        values: [tenantId, deps.cipher.encrypt(dealer.callbackUrl, tenantId)],
      })
    })
  }
  return { filled: fill(deps, by) }
}

/** @throws Refusal on a gateway that is not local */
export async function removeTrialData(deps: TrialDeps, by: By): Promise<void> {
  requireLocal(deps)
  const dealers = await listTrialDealers(deps)
  for (const { tenantId } of dealers) await removeTenants(deps.db, [tenantId])
  const after = { dealers: dealers.length }
  await deps.db.tx(async (tx) => audit(tx, deps.ids, { tenantId: null, ...by, action: 'trial_data.remove', after }))
}

function requireLocal({ config }: Pick<TrialDeps, 'config'>): void {
  if (config.deployment === 'local') return
  throw new Refusal(422, 'LOCAL_ONLY', 'Trial data is for local gateways only: start one with npm start.')
}

interface TrialDealerRow {
  tenantId: string
  stepsDone: number
}

function listTrialDealers({ db }: Pick<TrialDeps, 'db'>): Promise<TrialDealerRow[]> {
  return db.query<TrialDealerRow>({ text: 'select tenant_id, steps_done from trial_dealers order by tenant_id' })
}

async function fill(deps: TrialDeps, by: By): Promise<void> {
  const dealers = await listTrialDealers(deps)
  for (const [index, { tenantId, stepsDone }] of dealers.entries()) {
    const dealer = { ...TRIAL_DEALERS[index]!, tenantId }
    for (let step = stepsDone; step < STEPS; step++) {
      const isOurs = step < WEEKS ? await fillWeek(deps, dealer, step) : await fillToday(deps, dealer, by)
      // The data has since been removed, or another call has filled it.
      if (!isOurs) return
    }
  }
}

function fillWeek(deps: TrialDeps, dealer: TrialDealer & { tenantId: string }, week: number): Promise<boolean> {
  const nowMs = deps.databaseClock.now()
  const startMs = nowMs - (WEEKS - week) * WEEK_MS
  return deps.db.tx(async (tx) => {
    if (!(await finishStep(tx, dealer.tenantId, week))) return false
    await writeWeek(tx, deps, dealer, { week, startMs, endMs: startMs + WEEK_MS, nowMs })
    return true
  })
}

/** All references and transactionIds are fixed, so repeating a step has no further effect. */
async function fillToday(deps: TrialDeps, dealer: TrialDealer & { tenantId: string }, by: By): Promise<boolean> {
  const { tenantId, currencyCode } = dealer
  await topUp(deps, { tenantId, amount: 2_500_000n, reference: 'bank transfer today' }, by)
  const fee = { tenantId, amount: -15_000n, reference: 'bank fee', reason: 'Bank fee for the latest transfer' }
  const goodwill = { tenantId, amount: 50_000n, reference: 'goodwill', reason: 'Goodwill after a late delivery' }
  const { adjustmentId } = await proposeAdjustment(deps, fee, SYSTEM)
  await approveAdjustment(deps, tenantId, adjustmentId, by)
  await proposeAdjustment(deps, goodwill, SYSTEM)
  for (const [packageCode, count] of TODAY) {
    const request = { transactionId: `TODAY-${packageCode}`, packageInfoList: [{ packageCode, count }] }
    const verdict = await deps.orderPlacer.place({
      tenant: { tenantId, currencyCode },
      request,
      orderId: deps.ids.uuid(),
    })
    if (verdict.kind === 'refused') deps.log.info({ tenantId, packageCode, code: verdict.code }, 'trial order refused')
  }
  return deps.db.tx((tx) => finishStep(tx, tenantId, WEEKS))
}

/** Orders of sandbox packages that end in different states. */
const TODAY = [
  ['SANDBOX_OK', 2],
  ['SANDBOX_USAGE', 1],
  ['SANDBOX_PARTIAL', 2],
  ['SANDBOX_REFUSED', 1],
  ['SANDBOX_UNKNOWN', 1],
] as const

/** Locks the dealer's row. @returns false if another call has done the step, or if the data was removed */
async function finishStep(tx: Tx, tenantId: string, step: number): Promise<boolean> {
  const rows = await tx.query(sql`
    update trial_dealers set steps_done = steps_done + 1
    where tenant_id = ${tenantId} and steps_done = ${step} returning 1`)
  return rows.length > 0
}
