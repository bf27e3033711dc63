import { setTimeout as delay } from 'node:timers/promises'
import type { EsimStatus } from '@dealer-esim/contract'
import type { Clock } from '@dealer-esim/lib/clock.ts'
import type { Cipher } from '@dealer-esim/lib/crypto.ts'
import { LOWEST_UUID } from '@dealer-esim/lib/ids.ts'
import { isAhead } from '@dealer-esim/lib/leases.ts'
import { type Loop, runLoop, settlesWithin } from '@dealer-esim/lib/process/start-stop.ts'
import { notFound, Refusal } from '@dealer-esim/lib/refusal.ts'
import { asQuestion } from '@dealer-esim/wholesalers/account-rate.ts'
import { latestReference } from '@dealer-esim/wholesalers/stored-answer.ts'
import type { ReportOutcome, SuppliedEsim, Supplier, UnreadableEntry } from '@dealer-esim/wholesalers/supplier.ts'
import { isHeld } from '#platform/held-tenants.ts'
import { beginQuestionNow } from '#suppliers/supplier-questions.ts'
import type { ConfiguredSupplier, Suppliers } from '#suppliers/supplier-registry.ts'
import { applyEachReport, applyReports, type ReportedProfile } from './apply-reports.ts'
import type { LifeDeps } from './life/expire.ts'
import { POLL_IN_USE_LONGEST_S, POLL_SHORTEST_S, POLL_UNUSED_LONGEST_S } from './life/poll-interval.ts'
import { type SuppliedEsimRow, toSuppliedEsim } from './profile-secrets.ts'

export interface PollDeps extends LifeDeps {
  cipher: Pick<Cipher, 'decrypt'>
  clock: Clock
  suppliers: Suppliers
}

/** As short as the shortest interval of an eSIM. If nothing is due, a pass costs one index read. */
const POLL_MS = POLL_SHORTEST_S * 1000
/** eSIMs of one tenant and supplier per pass. Limits how long the next tenant waits. */
const TURN_MAX = 200
/** The time a pass spends on one supplier. The next pass continues from there. */
const PASS_MAX_MS = 60_000
/** Polling uses at most this fraction of a supplier's permits simultaneously, a quarter, so that orders come first. */
const PERMITS_DIVISOR = 4

/**
 * Polls suppliers for the status and usage of eSIMs whose poll is due, the longest due first. An eSIM whose usage nears a
 * threshold is polled often; one whose usage does not change is polled rarely (life/poll-interval.ts). Suppliers are polled
 * concurrently, through their gates and within their time limits, so one that hangs delays neither orders nor other
 * suppliers.
 */
export function pollSuppliersLoop(deps: PollDeps): Loop {
  const stopping = new AbortController()
  /** The tenant that was polled last, for each supplier whose time ran out. */
  const lastTenants = new Map<string, string>()

  async function pollSupplier(supplied: ConfiguredSupplier): Promise<void> {
    const { name } = supplied.supplier
    const until = deps.clock.monotonic() + PASS_MAX_MS
    const isTimeUp = () => stopping.signal.aborted || deps.clock.monotonic() >= until
    for (;;) {
      const tenantId = await findNextDue(deps.db, name, lastTenants.get(name) ?? LOWEST_UUID)
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

  const loop = runLoop(deps, 'profile reports', POLL_MS, async () => {
    const reporting = deps.suppliers.all().filter(({ supplier, paused }) => isPolled(supplier) && !paused)
    const polled = await Promise.allSettled(reporting.map(pollSupplier))
    for (const one of polled) if (one.status === 'rejected') throw one.reason
  })
  return {
    wake: loop.wake,
    stop(deadlineMs) {
      stopping.abort()
      return loop.stop(deadlineMs)
    },
  }
}

/** Some suppliers report only at the request of a person or an event. */
function isPolled({ report, traits }: Supplier): boolean {
  return report !== undefined && !traits.reportsOnRequest
}

/** Finds the next tenant with due eSIMs of this supplier: one index probe per tenant. */
async function findNextDue(db: PollDeps['db'], supplier: string, after: string): Promise<string | undefined> {
  const ofTenant = OF_TENANT.replace('$1', 't.tenant_id')
  const [next] = await db.query<{ tenantId: string }>({
    name: 'profiles-poll-next-tenant',
    text: `select t.tenant_id from tenants t
           where t.tenant_id > $1 and not ${isHeld('t.tenant_id')}
             and (exists (select from profiles p where ${ofTenant} and ${DUE})
               or exists (select from profiles p where ${ofTenant} and ${AHEAD}))
           order by t.tenant_id limit 1`,
    values: [after, supplier],
  })
  return next?.tenantId
}

async function countDue({ db }: Pick<PollDeps, 'db'>, tenantId: string, supplier: string): Promise<number> {
  const [due] = await db.query<{ count: number }>({
    name: 'profiles-living-count',
    text: `select count(*)::int as count from (
             (select from profiles p where ${OF_TENANT} and ${DUE} limit $3)
             union all (select from profiles p where ${OF_TENANT} and ${AHEAD} limit $3)) due`,
    values: [tenantId, supplier, TURN_MAX],
  })
  return due!.count
}

/** Polls as many eSIMs as the gate has granted permits for. */
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
  if (due.length > 0) await applyEachReport(deps, tenantId, (await pollEsims(deps, supplied, tenantId, due)).reported)
}

/** Polls with permits that were granted, then releases them. */
async function pollEsims(
  deps: PollDeps,
  supplied: ConfiguredSupplier,
  tenantId: string,
  polled: readonly PolledEsim[],
): Promise<{ reported: ReportedProfile[]; unreadable: UnreadableEntry[] }> {
  const startedAt = deps.clock.monotonic()
  const outcomes = await requestReports(
    deps,
    supplied,
    polled.map(({ esim }) => esim),
  )
  const down = outcomes.every((outcome) => outcome.kind === 'silent' && outcome.down === true)
  supplied.gate.complete(tenantId, polled.length, deps.clock.monotonic() - startedAt, down)
  const reported = polled.flatMap(({ esim, profileId }, index): ReportedProfile[] => {
    const outcome = outcomes[index]
    if (outcome?.unreadable) {
      const { name } = supplied.supplier
      deps.log.warn(
        { supplier: name, profileId, unreadable: outcome.unreadable },
        'a report on an eSIM has unreadable entries',
      )
    }
    return outcome?.kind === 'reported' ? [{ orderId: esim.orderId, profileId, report: outcome.report }] : []
  })
  return { reported, unreadable: outcomes.flatMap(({ unreadable = [] }) => unreadable) }
}

/** A supplier's answer about one eSIM. */
export interface Polled {
  /** NO_REPORT: the supplier did not report on the eSIM. */
  outcome: 'CHANGED' | 'UNCHANGED' | 'NO_REPORT'
  /** Entries of its answer that cannot be read, such as `entry 2 of the list of plans`. */
  unreadable: { entry: string; reason: string }[]
}

/**
 * Queries the supplier of an eSIM for its state and usage immediately, and applies the report.
 * @throws Refusal if the supplier cannot be queried
 */
export async function pollNow(
  deps: PollDeps,
  { tenantId, profileId }: { tenantId: string; profileId: string },
): Promise<Polled> {
  const [row] = await deps.db.query<PolledRow & { supplier: string; esimStatus: EsimStatus }>({
    name: 'profiles-poll-now',
    text: `select p.profile_id, p.order_id, p.item_no, p.iccid, p.secrets, p.supplier, p.esim_status, i.product_code,
             ${latestReference({ tenantId: '$1', orderId: 'p.order_id', itemNo: 'p.item_no', supplier: 'p.supplier' })} as reference
           from profiles p
           join order_items i on i.tenant_id = $1 and i.order_id = p.order_id and i.item_no = p.item_no
           where p.tenant_id = $1 and p.profile_id = $2`,
    values: [tenantId, profileId],
  })
  if (!row) throw notFound('eSIM')
  if (!['GOT_RESOURCE', 'IN_USE'].includes(row.esimStatus))
    throw new Refusal(409, 'ESIM_ENDED', 'This eSIM has ended: its supplier has nothing more to report.')
  const supplied = deps.suppliers.get(row.supplier)
  if (supplied?.supplier.report === undefined)
    throw new Refusal(422, 'NOT_SUPPORTED', 'The supplier of this eSIM does not answer queries about eSIMs.')
  if (supplied.gate.acquire(tenantId, 1) === 0) throw supplierBusy()
  let polled: PolledEsim[]
  try {
    const waitS = await beginQuestionNow(deps.db, row.supplier, { tenantId, orderId: row.orderId, itemNo: row.itemNo })
    if (waitS !== undefined) throw askedRecently(waitS)
    polled = [{ profileId, esim: toSuppliedEsim(deps.cipher, tenantId, row, true) }]
  } catch (error) {
    supplied.gate.release(tenantId, 1)
    throw error
  }
  // While waiting, it holds a permit that purchases need, so it must not wait long.
  const { result, isPostponed } = await asQuestion(() => pollEsims(deps, supplied, tenantId, polled), ASKED_NOW_WAIT_MS)
  if (isPostponed) throw supplierBusy()
  const { reported, unreadable } = result
  const named = unreadable.map(({ entry, reason }) => ({ entry, reason }))
  if (reported.length === 0) return { outcome: 'NO_REPORT', unreadable: named }
  const changed = await applyReports(deps, tenantId, reported)
  return { outcome: changed > 0 ? 'CHANGED' : 'UNCHANGED', unreadable: named }
}

const ASKED_NOW_WAIT_MS = 1_000

function askedRecently(retryAfterS: number): Refusal {
  const message = `The supplier was queried about this eSIM less than ${retryAfterS} s ago. Use the state that is shown, or try again later.`
  return new Refusal(429, 'ASKED_RECENTLY', message, { retryAfterS })
}

function supplierBusy(): Refusal {
  const message = 'The supplier is not accepting more requests at the moment. Try again in a minute.'
  return new Refusal(429, 'SUPPLIER_BUSY', message, { retryAfterS: 60 })
}

/** @returns no outcomes if the supplier throws or exceeds its time-out. */
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

const OF_TENANT = `p.tenant_id = $1 and p.supplier = $2 and p.esim_status in ('GOT_RESOURCE', 'IN_USE')`
const DUE = 'p.poll_at <= now()'
/** A time beyond the longest interval was set by a fast clock, and is ignored. */
const AHEAD = isAhead('p.poll_at', `${POLL_UNUSED_LONGEST_S} * 1000`)

interface PolledEsim {
  profileId: string
  esim: SuppliedEsim
}

type PolledRow = SuppliedEsimRow & { profileId: string }

/**
 * Claims, for this node alone, the eSIMs that have been due longest, and doubles their intervals. A report with a change
 * sets them again. Leaves out an eSIM that cannot be decrypted.
 */
async function claimDue(deps: PollDeps, supplier: string, tenantId: string, limit: number): Promise<PolledEsim[]> {
  const rows = await deps.db.query<PolledRow>({
    name: 'profiles-living',
    text: `with due as (
        select p.profile_id,
          least(p.poll_every_s * 2, case p.esim_status when 'IN_USE' then $4::integer else $5 end) as every_s
        from profiles p where p.tenant_id = $1 and p.profile_id = any (
          array(select p.profile_id from profiles p where ${OF_TENANT} and ${AHEAD} limit $3)
          || array(select p.profile_id from profiles p where ${OF_TENANT} and ${DUE} order by p.poll_at limit $3))
        and (${DUE} or ${AHEAD})
        limit $3 for no key update skip locked
      ), polled as (
        update profiles p set poll_every_s = d.every_s, poll_at = now() + d.every_s * interval '1 second'
        from due d where p.tenant_id = $1 and p.profile_id = d.profile_id
        returning p.profile_id, p.order_id, p.item_no, p.iccid, p.secrets
      )
      select p.*, i.product_code,
        ${latestReference({ tenantId: '$1', orderId: 'p.order_id', itemNo: 'p.item_no', supplier: '$2' })} as reference
      from polled p
      join order_items i on i.tenant_id = $1 and i.order_id = p.order_id and i.item_no = p.item_no`,
    values: [tenantId, supplier, limit, POLL_IN_USE_LONGEST_S, POLL_UNUSED_LONGEST_S],
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
