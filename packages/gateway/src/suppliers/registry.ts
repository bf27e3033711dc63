import type { Config } from '../config/config.ts'
import type { Clock } from '../lib/clock.ts'
import type { Cipher } from '../lib/crypto.ts'
import type { Ids } from '../lib/ids.ts'
import type { Db } from '../lib/postgres/db.ts'
import type { Wakeups } from '../lib/postgres/wakeups.ts'
import { type Loop, type Running, runLoop, StartRefused } from '../lib/process/lifecycle.ts'
import type { Log } from '../lib/telemetry/log.ts'
import type { LoopMetrics } from '../lib/telemetry/metrics.ts'
import { type MakeDeps, makeSupplier } from './create.ts'
import { type Gate, gate } from './gate.ts'
import { SANDBOX_PRODUCTS } from './sandbox.ts'
import { type Supplier, type SupplierType, supplierOwner } from './supplier.ts'

/** A configured supplier, ready to be asked. */
export interface Supplied {
  readonly supplier: Supplier
  readonly gate: Gate
  /** By an operator. */
  readonly paused: boolean
}

/** The suppliers that are configured, as this node knows them: a change is seen within seconds. */
export interface Suppliers {
  get(name: string): Supplied | undefined
  all(): Supplied[]
  /** Reads the table now. */
  refresh(): Promise<void>
}

export interface SuppliersDeps extends MakeDeps {
  config: Pick<Config, 'deployment'>
  db: Db
  ids: Ids
  clock: Clock
  cipher: Cipher
  log: Log
  loops?: LoopMetrics
  wake: Pick<Wakeups<'settings'>, 'on'>
}

const POLL_MS = 2_000

/**
 * Opens the configured suppliers and follows changes of their table. A local or test gateway always has `sandbox`.
 * @throws StartRefused on a production gateway that has one: nobody is sold a test eSIM.
 */
export async function openSuppliers(deps: SuppliersDeps): Promise<Suppliers & Running> {
  const { deployment } = deps.config
  if (deployment !== 'production') await ensureSandbox(deps)
  const suppliers = await readSuppliers(deps)
  if (deployment === 'production') refuseSandbox(suppliers.all())
  const loop: Loop = runLoop({
    name: 'suppliers',
    log: deps.log,
    loops: deps.loops,
    pollMs: POLL_MS,
    pass: async () => {
      await suppliers.refresh()
      return false
    },
  })
  const unsubscribe = deps.wake.on('settings', () => loop.wake())
  return {
    ...suppliers,
    async stop(deadlineMs) {
      unsubscribe()
      await loop.stop(deadlineMs)
      await Promise.allSettled(suppliers.all().map(({ supplier }) => supplier.stop?.()))
    },
  }
}

/** The suppliers as they are now; they change only when they are told to `refresh`. For a command that ends soon. */
export async function readSuppliers(deps: Omit<SuppliersDeps, 'config' | 'wake'>): Promise<Suppliers> {
  const known = new Map<string, Known>()

  async function refresh(): Promise<void> {
    const rows = await deps.db.query<SupplierRow>({
      name: 'suppliers-all',
      text: 'select supplier, type, config, paused from suppliers order by supplier',
    })
    for (const row of rows) {
      const before = known.get(row.supplier)
      if (before?.config.equals(row.config)) known.set(row.supplier, { ...before, paused: row.paused })
      else open(row)
    }
    const names = new Set(rows.map((row) => row.supplier))
    for (const name of known.keys()) if (!names.has(name)) known.delete(name)
  }

  /** One that cannot be opened is as good as paused: its orders wait, the others go on. */
  function open(row: SupplierRow): void {
    try {
      const supplier = makeSupplier(deps, row.type, row.supplier, row.config)
      known
        .get(row.supplier)
        ?.supplier.stop?.()
        .catch(() => {})
      known.set(row.supplier, {
        supplier,
        gate: gate(supplier.traits, deps.clock),
        paused: row.paused,
        config: row.config,
      })
    } catch (error) {
      known.delete(row.supplier)
      deps.log.error({ err: error, supplier: row.supplier }, 'a supplier cannot be used: check its configuration')
    }
  }

  await refresh()
  return { get: (name) => known.get(name), all: () => [...known.values()], refresh }
}

interface SupplierRow {
  supplier: string
  type: SupplierType
  config: Buffer
  paused: boolean
}

interface Known extends Supplied {
  config: Buffer
}

function refuseSandbox(known: readonly Supplied[]): void {
  const sandbox = known.find(({ supplier }) => supplier.type === 'sandbox')
  if (sandbox === undefined) return
  const { name } = sandbox.supplier
  throw new StartRefused(`Supplier ${name} is a sandbox: a production gateway sells no test eSIMs.`)
}

const SANDBOX = 'sandbox'

async function ensureSandbox(deps: SuppliersDeps): Promise<void> {
  await deps.db.tx(async (tx) => {
    tx.send({
      text: `insert into suppliers (supplier, type, config) values ($1, 'sandbox', $2) on conflict do nothing`,
      values: [SANDBOX, deps.cipher.encrypt('{}', supplierOwner(SANDBOX))],
    })
    tx.send({
      text: `insert into stock_levels (supplier, product_code, available) values ($1, $2, 0) on conflict do nothing`,
      values: [SANDBOX, SANDBOX_PRODUCTS.outOfStock],
    })
  })
}
