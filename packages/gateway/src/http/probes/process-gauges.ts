import { Gauge } from '@platformatic/prom-client'
import type { Deps } from '#deps.ts'

/** Gauges from this process's memory, read at each scrape. */
export function addProcessGauges({ metrics, pools, suppliers, config }: Deps): void {
  const registers = [metrics]
  new Gauge({
    name: 'dealer_esim_info',
    help: 'Always 1; the labels describe this process',
    labelNames: ['deployment', 'role', 'cell'],
    registers,
  }).set({ deployment: config.deployment, role: config.role, cell: config.cellName }, 1)
  new Gauge({
    name: 'dealer_esim_database_connections',
    help: 'Database connections by pool: open, idle, and callers waiting for one',
    labelNames: ['pool', 'state'],
    registers,
    collect() {
      for (const [pool, connections] of Object.entries(pools)) {
        this.set({ pool, state: 'open' }, connections.totalCount)
        this.set({ pool, state: 'idle' }, connections.idleCount)
        this.set({ pool, state: 'waited_for' }, connections.waitingCount)
      }
    },
  })
  new Gauge({
    name: 'dealer_esim_database_connections_max',
    help: 'Connections that the pool may open',
    labelNames: ['pool'],
    registers,
    collect() {
      for (const [pool, connections] of Object.entries(pools)) this.set({ pool }, connections.options.max)
    },
  })
  new Gauge({
    name: 'dealer_esim_supplier_up',
    help: '1: in use; 0.5: probed after an interruption; 0: interrupted after failures in a row; -1: paused',
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
