import { Gauge, type Registry } from '@platformatic/prom-client'
import type { Db } from '../lib/db.ts'
import { type LedgerState, readLedgerState } from './ledger-state.ts'

/** Registers what the latest check of the ledger found, looked up when it is asked for. Before the first: no samples. */
export function ledgerMetrics({ metrics: registry, db }: { metrics: Registry; db: Pick<Db, 'query'> }): void {
  const gauge = (name: string, help: string, value: (state: LedgerState) => number) =>
    new Gauge({
      name,
      help,
      labelNames: ['check'], // without a label a gauge starts at 0, which would say that all is well
      registers: [registry],
      async collect() {
        // While the database is away the last word stands: other figures of this scrape tell of that.
        const state = await readLedgerState(db).catch(() => undefined)
        if (state) this.set({ check: 'daily' }, value(state))
      },
    })
  gauge(
    'dealer_esim_ledger_faults',
    'Faults that the latest check of the whole ledger found; anything but 0 wants somebody at once',
    (state) => Number(state.faults),
  )
  gauge(
    'dealer_esim_ledger_checked_timestamp_seconds',
    'When the latest check of the whole ledger was finished',
    (state) => state.finishedAt.getTime() / 1000,
  )
}
