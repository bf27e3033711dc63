import type { Clock } from '@dealer-esim/lib/clock.ts'
import type { Cipher } from '@dealer-esim/lib/crypto.ts'
import type { Ids } from '@dealer-esim/lib/ids.ts'
import type { Db } from '@dealer-esim/lib/postgres/db.ts'
import type { Wakeups } from '@dealer-esim/lib/postgres/wakeups.ts'
import { type Loop, type LoopDeps, type Running, runLoop, StartRefused } from '@dealer-esim/lib/process/start-stop.ts'
import { SANDBOX_PRODUCTS } from '@dealer-esim/wholesalers/sandbox/sandbox-records.ts'
import { type Supplier, supplierOwner } from '@dealer-esim/wholesalers/supplier.ts'
import sql from 'sql-template-tag'
import type { Config } from '#platform/config/config.ts'
import { accountValuesOf, type CreateSupplierDeps, createSupplier, type SupplierType } from './create-supplier.ts'
import { recordCalls } from './recording/record-calls.ts'
import { IS_OVER, recordingSink } from './recording/recording-state.ts'
import { NOT_TESTED, SEEN_COLUMNS, type SeenColumns, type SeenState, seenStateOf } from './state/see-supplier.ts'
import { createGate, type Gate } from './supplier-gate.ts'

/** A supplier that can be called, and the limits on its calls. */
export interface ConfiguredSupplier {
  readonly supplier: Supplier
  readonly gate: Gate
  /** An operator has paused it. */
  readonly paused: boolean
  /** The supplier has a daily spend limit. Fulfilment reads the limit again for each purchase. */
  readonly hasSpendLimit?: boolean
  /** The latest observation of the supplier known to this node. */
  readonly seen?: { last: SeenState }
}

/** The configured suppliers known to this node. A change is noticed within seconds. */
export interface Suppliers {
  get(name: string): ConfiguredSupplier | undefined
  all(): ConfiguredSupplier[]
  /** Reads the table of suppliers now. */
  refresh(): Promise<void>
}

export interface SuppliersDeps extends CreateSupplierDeps, LoopDeps {
  config: Pick<Config, 'deployment'>
  db: Db
  ids: Ids
  clock: Clock
  cipher: Cipher
  wake: Pick<Wakeups<'settings' | 'stock'>, 'wake' | 'on'>
}

/** Returns a function that checks whether a supplier accepts orders: it is configured and not paused. */
export function isUsableIn(suppliers: Pick<Suppliers, 'get'>): (name: string) => boolean {
  return (name) => suppliers.get(name)?.paused === false
}

const POLL_MS = 2_000

/**
 * Creates the configured suppliers and follows changes to their table. A local or test gateway always has `sandbox`.
 * @throws StartRefused on a production gateway with a sandbox: no dealer may be sold a test eSIM.
 */
export async function createSuppliers(deps: SuppliersDeps): Promise<Suppliers & Running> {
  const { deployment } = deps.config
  if (deployment !== 'production') await ensureSandbox(deps)
  const suppliers = await loadSuppliers(deps)
  if (deployment === 'production') refuseSandbox(suppliers.all())
  const loop: Loop = runLoop(deps, 'suppliers', POLL_MS, () => suppliers.refresh())
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

/** Loads the suppliers once, for short-lived commands. Afterwards only `refresh` updates them. */
export async function loadSuppliers(
  deps: Omit<SuppliersDeps, 'config'> & Pick<CreateSupplierDeps, 'config'>,
): Promise<Suppliers> {
  const known = new Map<string, LoadedSupplier>()
  let refreshed = Promise.resolve()

  /** One at a time: an older list of the suppliers must not undo the changes of a newer one. */
  function refresh(): Promise<void> {
    refreshed = refreshed.catch(() => {}).then(readAll)
    return refreshed
  }

  async function readAll(): Promise<void> {
    const rows = await deps.db.query<SupplierRow>({
      name: 'suppliers-all',
      text: `select s.supplier, s.type, s.config, s.paused, s.spend_limit is not null as has_spend_limit,
               b.no_money_since is not null as lacks_money, r.recording_id, ${SEEN_COLUMNS}
             from suppliers s left join supplier_balances b using (supplier) left join supplier_states t using (supplier)
             left join supplier_recordings r on r.supplier = s.supplier and not ${IS_OVER}
             order by s.supplier`,
    })
    for (const row of rows) {
      const before = known.get(row.supplier)
      if (before?.config.equals(row.config)) {
        known.set(row.supplier, {
          ...before,
          ...recorded(row, before),
          paused: row.paused,
          hasSpendLimit: row.hasSpendLimit,
        })
      } else replace(row)
      const loaded = known.get(row.supplier)
      if (loaded === undefined) continue
      loaded.gate.lacksMoney = row.lacksMoney
      loaded.seen.last = seenStateOf(row)
    }
    const names = new Set(rows.map((row) => row.supplier))
    for (const name of known.keys()) if (!names.has(name)) remove(name)
  }

  /** A supplier that cannot be created behaves as if paused: its orders wait, and other suppliers are unaffected. */
  function replace(row: SupplierRow): void {
    try {
      const created = createSupplier(deps, row.type, row.supplier, row.config)
      remove(row.supplier)
      known.set(row.supplier, {
        ...recorded(row, { created, supplier: created, recordingId: null }),
        gate: createGate(created.traits, deps.clock),
        paused: row.paused,
        hasSpendLimit: row.hasSpendLimit,
        seen: { last: NOT_TESTED },
        config: row.config,
      })
    } catch (error) {
      remove(row.supplier)
      deps.log.error({ err: error, supplier: row.supplier }, 'the supplier cannot be used: check its configuration')
    }
  }

  /** The supplier as used for calls while the recording in its row is running. */
  function recorded({ supplier: name, type, config, recordingId }: SupplierRow, before: Recorded): Recorded {
    if (recordingId === before.recordingId) return before
    const { created } = before
    if (recordingId === null) return { created, supplier: created, recordingId }
    const sink = recordingSink(deps, name, recordingId)
    const masked = accountValuesOf(deps, type, name, config)
    return { created, supplier: recordCalls(created, sink, deps.ids.uuid, masked), recordingId }
  }

  /** Closes the supplier's connections in the background. */
  function remove(name: string): void {
    known
      .get(name)
      ?.supplier.stop?.()
      .catch(() => {})
    known.delete(name)
  }

  await refresh()
  return { get: (name) => known.get(name), all: () => [...known.values()], refresh }
}

interface SupplierRow extends SeenColumns {
  supplier: string
  type: SupplierType
  config: Buffer
  paused: boolean
  hasSpendLimit: boolean
  lacksMoney: boolean
  /** The recording that is currently running. */
  recordingId: string | null
}

interface Recorded {
  /** The supplier without a recording. */
  created: Supplier
  supplier: Supplier
  recordingId: string | null
}

type LoadedSupplier = ConfiguredSupplier & Recorded & { config: Buffer; seen: { last: SeenState } }

function refuseSandbox(known: readonly ConfiguredSupplier[]): void {
  const sandbox = known.find(({ supplier }) => supplier.type === 'sandbox')
  if (sandbox === undefined) return
  const { name } = sandbox.supplier
  throw new StartRefused(`Supplier ${name} is a sandbox: a production gateway must not sell test eSIMs.`)
}

const SANDBOX = 'sandbox'

async function ensureSandbox(deps: SuppliersDeps): Promise<void> {
  await deps.db.tx(async (tx) => {
    tx.send({
      text: `insert into suppliers (supplier, type, config) values ($1, 'sandbox', $2) on conflict do nothing`,
      values: [SANDBOX, deps.cipher.encrypt('{}', supplierOwner(SANDBOX))],
    })
    tx.send(sql`insert into supplier_states (supplier) values (${SANDBOX}) on conflict do nothing`)
    tx.send(sql`
      insert into stock_levels (supplier, product_code, available)
      values (${SANDBOX}, ${SANDBOX_PRODUCTS.outOfStock}, 0) on conflict do nothing`)
  })
}
