import { findMissingPartitions } from '@dealer-esim/lib/postgres/partitions.ts'
import { type Loop, runLoop } from '@dealer-esim/lib/process/start-stop.ts'
import { Gauge } from '@platformatic/prom-client'
import type { Deps } from '#deps.ts'
import { findLastBackup } from '#operations/backup/backup-alert.ts'
import { PARTITIONED } from '#platform/retention/retention-table.ts'
import { findLatestLedgerCheck } from '#wallet/verify/verify-loop.ts'
import { COUNTED_MAX, countBacklogs } from './backlogs.ts'

/** Fresh for every scrape at the usual 15 s, and a negligible load even for a large database. */
const POLL_MS = 5_000

type GaugesDeps = Pick<Deps, 'db' | 'metrics' | 'log' | 'loops'>

/**
 * Refreshes the gauges whose values are in the database. Every process does so, so that each scrape is complete; alerts
 * use the maximum. While the database is unavailable, the gauges keep their last values.
 */
export function databaseGaugesLoop(deps: GaugesDeps): Loop {
  const refreshers = [backlogs(deps), ledger(deps), backups(deps), partitions(deps)]
  return runLoop(deps, 'figures', POLL_MS, async () => {
    // A failing refresh does not stop the others. The first failure is thrown at the end.
    const results = await Promise.allSettled(refreshers.map((refresh) => refresh()))
    for (const result of results) if (result.status === 'rejected') throw result.reason
  })
}

type Refresh = () => Promise<void>

function backlogs({ db, metrics }: GaugesDeps): Refresh {
  const registers = [metrics]
  const limit = `counted up to ${COUNTED_MAX}`
  const setOrders = statusGauges(metrics, 'order', `Unfinished orders by status, ${limit}`)
  const setActions = statusGauges(metrics, 'action', `Open actions on eSIMs by status, ${limit}`)
  const events = new Gauge({
    name: 'dealer_esim_events',
    help: `Events by state: waiting for an attempt, or dead (given up), ${limit}`,
    labelNames: ['state'],
    registers,
  })
  const oldestEvent = new Gauge({
    name: 'dealer_esim_oldest_event_seconds',
    help: 'Age of the oldest event waiting for an attempt; 0: none',
    registers,
  })
  const failing = new Gauge({
    name: 'dealer_esim_webhook_failing_seconds',
    help: 'Longest time that an enabled endpoint has been failing; 0: none fails',
    registers,
  })
  const disabled = new Gauge({
    name: 'dealer_esim_webhook_endpoints_disabled',
    help: 'Endpoints disabled because they failed or answered 410 Gone',
    registers,
  })
  const lowStock = new Gauge({
    name: 'dealer_esim_stock_low_products',
    help: 'Products of stock suppliers with fewer codes than their low-stock level',
    registers,
  })
  const withoutMoney = new Gauge({
    name: 'dealer_esim_suppliers_without_money',
    help: 'Suppliers that refuse purchases because the account there is out of funds',
    registers,
  })
  const lackingMoney = new Gauge({
    name: 'dealer_esim_packages_without_money',
    help: 'Packages that are off sale because the account at each of their suppliers is out of funds',
    registers,
  })
  const orphans = new Gauge({
    name: 'dealer_esim_orphan_esims',
    help: 'eSIMs received for items already refunded or delivered, not yet cancelled at their supplier',
    registers,
  })
  const mails = new Gauge({
    name: 'dealer_esim_mails_waiting',
    help: `E-mails waiting to be sent, ${limit}`,
    registers,
  })
  const oldestMail = new Gauge({
    name: 'dealer_esim_oldest_mail_seconds',
    help: 'Age of the oldest e-mail waiting to be sent; 0: none',
    registers,
  })
  return async () => {
    const read = await countBacklogs(db)
    setOrders(read.orders)
    setActions(read.actions)
    events.set({ state: 'waiting' }, read.eventsWaiting)
    events.set({ state: 'dead' }, read.eventsDead)
    oldestEvent.set(read.oldestEventS)
    failing.set(read.failingS)
    disabled.set(read.disabled)
    lowStock.set(read.lowStock)
    withoutMoney.set(read.withoutMoney)
    lackingMoney.set(read.lackingMoney)
    orphans.set(read.orphans)
    mails.set(read.mailsWaiting)
    oldestMail.set(read.oldestMailS)
  }
}

/** Gauges of unfinished work: how much there is, and the age of the oldest. */
function statusGauges(metrics: GaugesDeps['metrics'], noun: 'order' | 'action', help: string) {
  const labelNames = ['status']
  const counts = new Gauge({ name: `dealer_esim_${noun}s`, help, labelNames, registers: [metrics] })
  const ages = new Gauge({
    name: `dealer_esim_oldest_${noun}_seconds`,
    help: `Age of the oldest of dealer_esim_${noun}s by status; 0: none`,
    labelNames,
    registers: [metrics],
  })
  return (read: { status: string; count: number; oldestS: number }[]) => {
    for (const { status, count, oldestS } of read) {
      counts.set({ status }, count)
      ages.set({ status }, oldestS)
    }
  }
}

/** The result of the latest ledger check. Before the first check the gauge is absent, because 0 would mean "no faults". */
function ledger({ db, metrics }: GaugesDeps): Refresh {
  const registers = [metrics]
  const faults = new Gauge({
    name: 'dealer_esim_ledger_faults',
    help: 'Faults found by the latest check of the whole ledger; investigate immediately if not 0',
    labelNames: ['check'],
    registers,
  })
  const checked = new Gauge({
    name: 'dealer_esim_ledger_checked_timestamp_seconds',
    help: 'When the latest check of the whole ledger finished; before the first, when the database was created',
    labelNames: ['check'],
    registers,
  })
  return async () => {
    const state = await findLatestLedgerCheck(db)
    if (state) faults.set({ check: 'daily' }, Number(state.faults))
    // This reports a first check that never runs as overdue.
    const at = state?.finishedAt ?? (await findCreationTime(db))
    if (at) checked.set({ check: 'daily' }, at.getTime() / 1000)
  }
}

async function findCreationTime(db: Deps['db']): Promise<Date | undefined> {
  const [row] = await db.query<{ at: Date }>({ text: 'select created_at as at from deployment' })
  return row?.at
}

/** Alerts subtract it from now: dealers' data since then is lost in a disaster, unless the write-ahead log is archived. */
function backups({ db, metrics }: GaugesDeps): Refresh {
  const made = new Gauge({
    name: 'dealer_esim_backup_timestamp_seconds',
    help: 'The moment that the latest backup contains; before the first, when the database was created',
    registers: [metrics],
  })
  return async () => {
    const at = (await findLastBackup(db))?.startedAt ?? (await findCreationTime(db))
    if (at) made.set(at.getTime() / 1000)
  }
}

function partitions({ db, metrics }: GaugesDeps): Refresh {
  const missing = new Gauge({
    name: 'dealer_esim_partitions_missing',
    help: 'Missing partitions for the current and the next period; without them inserts fail',
    labelNames: ['table'],
    registers: [metrics],
  })
  return async () => {
    for (const { table, names } of await findMissingPartitions(db, PARTITIONED)) missing.set({ table }, names.length)
  }
}
