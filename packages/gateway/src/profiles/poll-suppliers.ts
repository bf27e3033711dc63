import { setTimeout as delay } from 'node:timers/promises'
import type { Clock } from '../lib/clock.ts'
import type { Cipher } from '../lib/crypto.ts'
import { LOWEST_UUID } from '../lib/ids.ts'
import { type Loop, runLoop, settlesWithin } from '../lib/process/lifecycle.ts'
import type { ConfiguredSupplier, Suppliers } from '../suppliers/registry.ts'
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
/** An active eSIM is polled this often, where its supplier reports. */
const POLL_EVERY_S = 900
/** eSIMs of one tenant and supplier in one pass: limits how long the next tenant waits. */
const TURN_MAX = 200
/** The time of one supplier in a pass. The next pass continues where it stopped. */
const PASS_MAX_MS = 60_000
/** Polling uses at most a quarter of a supplier's permits at once, so that orders come first. */
const PERMITS_DIVISOR = 4

/**
 * Polls suppliers for the status and usage of the eSIMs that were polled longest ago. Suppliers are polled concurrently,
 * through their gates and within their time limits: one that hangs delays neither orders nor other suppliers.
 */
export function pollSuppliersLoop(deps: PollDeps): Loop {
  const stopping = new AbortController()
  /** The tenant polled last, for each supplier whose time ran out. */
  const lastTenants = new Map<string, string>()

  async function pollSupplier(supplied: ConfiguredSupplier): Promise<void> {
    const { name } = supplied.supplier
    const until = deps.clock.monotonic() + PASS_MAX_MS
    const isTimeUp = () => stopping.signal.aborted || deps.clock.monotonic() >= until
    for (;;) {
      const tenantId = await findNextTenant(deps.db, {
        name: 'profiles-next-polled',
        conditions: [DUE_OF_SUPPLIER, AHEAD_OF_SUPPLIER],
        values: [lastTenants.get(name) ?? LOWEST_UUID, name, POLL_EVERY_S],
      })
      if (tenantId === undefined) {
        lastTenants.delete(name)
        return
      }
      if (isTimeUp()) return
      lastTenants.set(name, tenantId)
      await pollTenant(supplied, tenantId, until).catch((error) =>
        deps.log.error(
          { err: error, tenantId, supplier: name },
          'the eSIMs of a tenant could not be polled; continuing with the next tenant',
        ),
      )
    }
  }

  /** Polls one supplier about one tenant's eSIMs. */
  async function pollTenant(supplied: ConfiguredSupplier, tenantId: string, until: number): Promise<void> {
    const { supplier, gate } = supplied
    const batch = Math.ceil(supplier.traits.concurrency / PERMITS_DIVISOR)
    for (let left = await countDue(deps, tenantId, supplier.name); left > 0 && !stopping.signal.aborted; ) {
      const granted = gate.acquire(tenantId, Math.min(left, batch))
      if (granted > 0) {
        await pollBatch(deps, supplied, tenantId, granted)
        left -= granted
        continue
      }
      const waitMs = gate.retryInMs(tenantId)
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
      const reporting = deps.suppliers.all().filter(({ supplier, paused }) => supplier.report !== undefined && !paused)
      const polled = await Promise.allSettled(reporting.map(pollSupplier))
      for (const one of polled) if (one.status === 'rejected') throw one.reason
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
    text: `select count(*)::int as count from (
             (select from profiles where ${DUE} limit $4) union all (select from profiles where ${AHEAD} limit $4)) due`,
    values: [tenantId, supplier, POLL_EVERY_S, TURN_MAX],
  })
  return due!.count
}

/** Polls as many eSIMs as the gate has granted permits. */
async function pollBatch(
  deps: PollDeps,
  supplied: ConfiguredSupplier,
  tenantId: string,
  granted: number,
): Promise<void> {
  const { gate } = supplied
  let due: PolledEsim[] = []
  try {
    due = await claimDue(deps, supplied.supplier.name, tenantId, granted)
  } finally {
    gate.release(tenantId, granted - due.length)
  }
  if (due.length === 0) return
  const startedAt = deps.clock.monotonic()
  const outcomes = await requestReports(
    deps,
    supplied,
    due.map(({ esim }) => esim),
  )
  const down = outcomes.every((outcome) => outcome.kind === 'silent' && outcome.down === true)
  gate.complete(tenantId, due.length, deps.clock.monotonic() - startedAt, down)
  const reported = due.flatMap(({ esim, profileId }, index): ReportedProfile[] => {
    const outcome = outcomes[index]
    return outcome?.kind === 'reported' ? [{ orderId: esim.orderId, profileId, report: outcome.report }] : []
  })
  await applyReports(deps, tenantId, reported)
}

/** @returns no outcomes where the supplier throws or exceeds its time-out. */
async function requestReports(
  deps: PollDeps,
  { supplier }: ConfiguredSupplier,
  esims: SuppliedEsim[],
): Promise<ReportOutcome[]> {
  const reporting = (async () => (await supplier.report?.(esims)) ?? [])().catch((error): ReportOutcome[] => {
    deps.log.warn({ err: error, supplier: supplier.name }, 'a supplier did not report on its eSIMs')
    return []
  })
  return (await settlesWithin(reporting, supplier.traits.timeoutMs)) ? reporting : []
}

const LIVE = `supplier = $2 and esim_status in ('GOT_RESOURCE', 'IN_USE')`
/** A time in the future was written by a clock that was ahead, and does not count. Two ranges of one index. */
const DUE_OF_SUPPLIER = `${LIVE} and polled_at < now() - $3 * interval '1 second'`
const AHEAD_OF_SUPPLIER = `${LIVE} and polled_at > now() + interval '10 seconds'`
const DUE = `tenant_id = $1 and ${DUE_OF_SUPPLIER}`
const AHEAD = `tenant_id = $1 and ${AHEAD_OF_SUPPLIER}`

interface PolledEsim {
  profileId: string
  esim: SuppliedEsim
}

type PolledRow = SuppliedEsimRow & { profileId: string }

/** Claims the eSIMs that were polled longest ago, for this node only. Leaves out an eSIM that cannot be decrypted. */
async function claimDue(deps: PollDeps, supplier: string, tenantId: string, limit: number): Promise<PolledEsim[]> {
  const rows = await deps.db.query<PolledRow>({
    name: 'profiles-living',
    text: `with due as (
        select profile_id from profiles where tenant_id = $1 and profile_id = any (
          array(select profile_id from profiles where ${AHEAD} limit $4)
          || array(select profile_id from profiles where ${DUE} order by polled_at limit $4))
        and (polled_at < now() - $3 * interval '1 second' or polled_at > now())
        limit $4 for no key update skip locked
      ), polled as (
        update profiles p set polled_at = now() from due d where p.tenant_id = $1 and p.profile_id = d.profile_id
        returning p.profile_id, p.order_id, p.item_no, p.iccid, p.secrets
      )
      select p.*, i.product_code from polled p
      join order_items i on i.tenant_id = $1 and i.order_id = p.order_id and i.item_no = p.item_no`,
    values: [tenantId, supplier, POLL_EVERY_S, limit],
  })
  return rows.flatMap((row) => {
    const { profileId } = row
    try {
      return [{ profileId, esim: toSuppliedEsim(deps.cipher, tenantId, row, true) }]
    } catch (error) {
      deps.log.error({ err: error, tenantId, profileId }, 'the secrets of an eSIM cannot be decrypted')
      return []
    }
  })
}
