import { Gauge } from '@platformatic/prom-client'
import type { Deps } from '../deps.ts'
import { missingPartitions } from '../lib/postgres/partitions.ts'
import { type Loop, runLoop } from '../lib/process/lifecycle.ts'
import { PARTITIONED } from '../retention/table.ts'
import { readLedgerState } from '../wallet/verify/loop.ts'
import { COUNTED_MAX, readBacklogs } from './backlogs.ts'

/** Every scrape of the usual fifteen seconds sees fresh figures; a big database hardly notices. */
const POLL_MS = 5_000

type FiguresDeps = Pick<Deps, 'db' | 'metrics' | 'log' | 'loops'>

/**
 * Reads what the database knows into gauges. Every process with a metrics port does, so that each scrape
 * stands by itself; alerts take the maximum. While the database is away the last word stands.
 */
export function figuresLoop(deps: FiguresDeps): Loop {
  const refreshers = [backlogs(deps), ledger(deps), partitions(deps)]
  return runLoop({
    name: 'figures',
    log: deps.log,
    loops: deps.loops,
    pollMs: POLL_MS,
    async pass() {
      // One that fails does not keep the others: the first failure is told when all have had their turn.
      const read = await Promise.allSettled(refreshers.map((refresh) => refresh()))
      for (const each of read) if (each.status === 'rejected') throw each.reason
      return false
    },
  })
}

type Refresh = () => Promise<void>

function backlogs({ db, metrics }: FiguresDeps): Refresh {
  const registers = [metrics]
  const most = `counted up to ${COUNTED_MAX}`
  const orders = new Gauge({
    name: 'dealer_esim_orders',
    help: `Orders that are not finished, by status, ${most}`,
    labelNames: ['status'],
    registers,
  })
  const oldest = new Gauge({
    name: 'dealer_esim_oldest_order_seconds',
    help: 'Age of the oldest order that is not finished, by status; 0: none',
    labelNames: ['status'],
    registers,
  })
  const events = new Gauge({
    name: 'dealer_esim_events',
    help: `Events that wait for an attempt, or were given up, ${most}`,
    labelNames: ['state'],
    registers,
  })
  const oldestEvent = new Gauge({
    name: 'dealer_esim_oldest_event_seconds',
    help: 'Age of the oldest event that waits for an attempt; 0: none',
    registers,
  })
  const failing = new Gauge({
    name: 'dealer_esim_webhook_failing_seconds',
    help: 'How long the enabled endpoint that has failed longest has failed; 0: none fails',
    registers,
  })
  const disabled = new Gauge({
    name: 'dealer_esim_webhook_endpoints_disabled',
    help: 'Endpoints that were disabled because they failed or said that they are gone',
    registers,
  })
  const lowStock = new Gauge({
    name: 'dealer_esim_stock_low_products',
    help: 'Products of stock suppliers with fewer codes than the level at which somebody wants to be told',
    registers,
  })
  const orphans = new Gauge({
    name: 'dealer_esim_orphan_esims',
    help: 'eSIMs that came for settled items and are still to be cancelled at their supplier',
    registers,
  })
  const mails = new Gauge({
    name: 'dealer_esim_mails_waiting',
    help: `E-mails that wait to be sent, ${most}`,
    registers,
  })
  const oldestMail = new Gauge({
    name: 'dealer_esim_oldest_mail_seconds',
    help: 'Age of the oldest e-mail that waits to be sent; 0: none',
    registers,
  })
  return async () => {
    const read = await readBacklogs(db)
    for (const { status, count, oldestS } of read.orders) {
      orders.set({ status }, count)
      oldest.set({ status }, oldestS)
    }
    events.set({ state: 'waiting' }, read.eventsWaiting)
    events.set({ state: 'dead' }, read.eventsDead)
    oldestEvent.set(read.oldestEventS)
    failing.set(read.failingS)
    disabled.set(read.disabled)
    lowStock.set(read.lowStock)
    orphans.set(read.orphans)
    mails.set(read.mailsWaiting)
    oldestMail.set(read.oldestMailS)
  }
}

/** What the latest check of the ledger found. Before the first: no faults told, because 0 would say that all is well. */
function ledger({ db, metrics }: FiguresDeps): Refresh {
  const registers = [metrics]
  const faults = new Gauge({
    name: 'dealer_esim_ledger_faults',
    help: 'Faults that the latest check of the whole ledger found; anything but 0 wants somebody at once',
    labelNames: ['check'],
    registers,
  })
  const checked = new Gauge({
    name: 'dealer_esim_ledger_checked_timestamp_seconds',
    help: 'When the latest check of the whole ledger was finished; before the first, when the database was set up',
    labelNames: ['check'],
    registers,
  })
  return async () => {
    const state = await readLedgerState(db)
    if (state) faults.set({ check: 'daily' }, Number(state.faults))
    // A first check that never comes is overdue like any other.
    const at = state?.finishedAt ?? (await setUpAt(db))
    if (at) checked.set({ check: 'daily' }, at.getTime() / 1000)
  }
}

async function setUpAt(db: Deps['db']): Promise<Date | undefined> {
  const [row] = await db.query<{ at: Date }>({ text: 'select created_at as at from deployment' })
  return row?.at
}

function partitions({ db, metrics }: FiguresDeps): Refresh {
  const missing = new Gauge({
    name: 'dealer_esim_partitions_missing',
    help: 'Partitions of the present and the next span that are not there; without them rows are refused',
    labelNames: ['table'],
    registers: [metrics],
  })
  return async () => {
    for (const { table, names } of await missingPartitions(db, PARTITIONED)) missing.set({ table }, names.length)
  }
}
