import { Gauge } from '@platformatic/prom-client'
import type { Deps } from '../deps.ts'

/** What this process knows without asking anybody, read at each scrape. */
export function processGauges({ metrics, pools, suppliers, config }: Deps): void {
  const registers = [metrics]
  new Gauge({
    name: 'dealer_esim_info',
    help: 'Always 1; the labels say what this process is',
    labelNames: ['deployment', 'role'],
    registers,
  }).set({ deployment: config.deployment, role: config.role }, 1)
  new Gauge({
    name: 'dealer_esim_database_connections',
    help: 'Connections to the database by pool: open, idle, and callers that wait for one',
    labelNames: ['pool', 'state'],
    registers,
    collect() {
      for (const [pool, of] of Object.entries(pools)) {
        this.set({ pool, state: 'open' }, of.totalCount)
        this.set({ pool, state: 'idle' }, of.idleCount)
        this.set({ pool, state: 'waited_for' }, of.waitingCount)
      }
    },
  })
  new Gauge({
    name: 'dealer_esim_database_connections_max',
    help: 'Connections that the pool may open',
    labelNames: ['pool'],
    registers,
    collect() {
      for (const [pool, of] of Object.entries(pools)) this.set({ pool }, of.options.max)
    },
  })
  new Gauge({
    name: 'dealer_esim_supplier_up',
    help: '1: asked as usual; 0.5: probed after an interruption; 0: not asked after failures in a row; -1: paused',
    labelNames: ['supplier'],
    registers,
    collect() {
      this.reset()
      for (const { supplier, gate, paused } of suppliers.all())
        this.set({ supplier: supplier.name }, paused ? -1 : UP[gate.state])
    },
  })
}

const UP = { closed: 1, 'half-open': 0.5, open: 0 } as const
