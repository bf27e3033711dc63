import { setTimeout as delay } from 'node:timers/promises'
import type { Clock } from '../lib/clock.ts'
import type { Cipher } from '../lib/crypto.ts'
import { LOWEST_UUID } from '../lib/ids.ts'
import { type Loop, runLoop, settlesWithin } from '../lib/process/lifecycle.ts'
import type { Supplied, Suppliers } from '../suppliers/registry.ts'
import type { ReportOutcome, SuppliedEsim } from '../suppliers/supplier.ts'
import { applyReports, type ReportedProfile } from './apply-reports.ts'
import type { LifeDeps } from './expire.ts'
import { findNextTenant } from './expire.ts'
import { type SuppliedEsimRow, toSuppliedEsim } from './secrets.ts'

export interface PollDeps extends LifeDeps {
  cipher: Pick<Cipher, 'decrypt'>
  clock: Clock
  suppliers: Suppliers
}

const POLL_MS = 60_000
/** An eSIM that lives is asked about this often, where its supplier can tell. */
const ASK_EVERY_S = 900
/** eSIMs of one tenant and supplier in one pass: the next tenant waits no longer. */
const TURN_MAX = 200
/** One supplier's part of a pass; the next pass goes on where it was. */
const PASS_MAX_MS = 60_000
/** Of the places at a supplier, questions take a quarter at once: orders go first. */
const PLACES_SHARE = 4

/**
 * Asks suppliers that report status and usage about the eSIMs that were asked about longest ago. Suppliers are asked side
 * by side, through their gates and within their time limits: one that hangs holds up nobody's orders and no other.
 */
export function pollSuppliersLoop(deps: PollDeps): Loop {
  const stopping = new AbortController()
  /** Of each supplier whose part of the pass was cut: the tenant that was asked last. */
  const after = new Map<string, string>()

  async function askSupplier(supplied: Supplied): Promise<void> {
    const { name } = supplied.supplier
    const until = deps.clock.monotonic() + PASS_MAX_MS
    const isOver = () => stopping.signal.aborted || deps.clock.monotonic() >= until
    for (;;) {
      const tenantId = await findNextTenant(deps.db, after.get(name) ?? LOWEST_UUID)
      if (tenantId === undefined) {
        after.delete(name)
        return
      }
      if (isOver()) return
      after.set(name, tenantId)
      await askTurn(supplied, tenantId, until).catch((error) =>
        deps.log.error(
          { err: error, tenantId, supplier: name },
          'its eSIMs could not be asked about; the others go on',
        ),
      )
    }
  }

  /** One tenant's turn at one supplier. */
  async function askTurn(supplied: Supplied, tenantId: string, until: number): Promise<void> {
    const { supplier, gate } = supplied
    const parcel = Math.ceil(supplier.traits.concurrency / PLACES_SHARE)
    for (let left = await countDue(deps, tenantId, supplier.name); left > 0 && !stopping.signal.aborted; ) {
      const granted = gate.take(tenantId, Math.min(left, parcel))
      if (granted > 0) {
        await askParcel(deps, supplied, tenantId, granted)
        left -= granted
        continue
      }
      const waitMs = gate.comeAgainIn(tenantId)
      if (deps.clock.monotonic() + waitMs >= until) return
      await delay(waitMs, undefined, { signal: stopping.signal }).catch(() => {})
    }
  }

  const loop = runLoop({
    name: 'profile reports',
    log: deps.log,
    loops: deps.loops,
    pollMs: POLL_MS,
    async pass() {
      const telling = deps.suppliers.all().filter(({ supplier, paused }) => supplier.report !== undefined && !paused)
      const asked = await Promise.allSettled(telling.map(askSupplier))
      for (const one of asked) if (one.status === 'rejected') throw one.reason
      return false
    },
  })
  return {
    wake: loop.wake,
    stop(deadlineMs) {
      stopping.abort()
      return loop.stop(deadlineMs)
    },
  }
}

async function countDue({ db }: Pick<PollDeps, 'db'>, tenantId: string, supplier: string): Promise<number> {
  const [due] = await db.query<{ count: number }>({
    name: 'profiles-living-count',
    text: `select count(*)::int as count from (select from profiles where ${DUE} limit $4) due`,
    values: [tenantId, supplier, ASK_EVERY_S, TURN_MAX],
  })
  return due!.count
}

/** Asks about as many as the gate has let in. */
async function askParcel(deps: PollDeps, supplied: Supplied, tenantId: string, granted: number): Promise<void> {
  const { gate } = supplied
  let living: Living[] = []
  try {
    living = await takeDue(deps, supplied.supplier.name, tenantId, granted)
  } finally {
    gate.giveBack(tenantId, granted - living.length)
  }
  if (living.length === 0) return
  const startedAt = deps.clock.monotonic()
  const outcomes = await ask(
    deps,
    supplied,
    living.map(({ esim }) => esim),
  )
  const down = outcomes.every((outcome) => outcome.kind === 'silent' && outcome.down === true)
  gate.done(tenantId, living.length, deps.clock.monotonic() - startedAt, down)
  const reported = living.flatMap(({ esim, profileId }, index): ReportedProfile[] => {
    const outcome = outcomes[index]
    return outcome?.kind === 'told' ? [{ orderId: esim.orderId, profileId, report: outcome.report }] : []
  })
  await applyReports(deps, tenantId, reported)
}

/** None where it took too long, or threw. */
async function ask(deps: PollDeps, { supplier }: Supplied, esims: SuppliedEsim[]): Promise<ReportOutcome[]> {
  const asking = (async () => (await supplier.report?.(esims)) ?? [])().catch((error): ReportOutcome[] => {
    deps.log.warn({ err: error, supplier: supplier.name }, 'it did not report on its eSIMs')
    return []
  })
  return (await settlesWithin(asking, supplier.traits.timeoutMs)) ? asking : []
}

const DUE = `tenant_id = $1 and supplier = $2 and esim_status in ('GOT_RESOURCE', 'IN_USE')
  and polled_at < now() - $3 * interval '1 second'`

interface Living {
  profileId: string
  esim: SuppliedEsim
}

interface LivingRow extends SuppliedEsimRow {
  profileId: string
}

/** Takes those that were asked about longest ago; no other node takes them. One that cannot be opened is left out. */
async function takeDue(deps: PollDeps, supplier: string, tenantId: string, most: number): Promise<Living[]> {
  const rows = await deps.db.query<LivingRow>({
    name: 'profiles-living',
    text: `with living as (
        select profile_id from profiles where ${DUE} order by polled_at limit $4 for no key update skip locked
      ), asked as (
        update profiles p set polled_at = now() from living l where p.tenant_id = $1 and p.profile_id = l.profile_id
        returning p.profile_id, p.order_id, p.item_no, p.iccid, p.secrets
      )
      select a.*, i.product_code from asked a
      join order_items i on i.tenant_id = $1 and i.order_id = a.order_id and i.item_no = a.item_no`,
    values: [tenantId, supplier, ASK_EVERY_S, most],
  })
  return rows.flatMap((row) => {
    const profileId = row.profileId
    try {
      return [{ profileId, esim: toSuppliedEsim(deps.cipher, tenantId, row, true) }]
    } catch (error) {
      deps.log.error({ err: error, tenantId, profileId }, 'what installs the eSIM cannot be opened')
      return []
    }
  })
}
