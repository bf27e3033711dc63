import { systemClock } from '@dealer-esim/lib/clock.ts'
import { settlesWithin } from '@dealer-esim/lib/process/start-stop.ts'
import type { Log } from '@dealer-esim/lib/telemetry/log.ts'
import { asQuestion } from '@dealer-esim/wholesalers/account-rate.ts'
import type { Supplier } from '@dealer-esim/wholesalers/supplier.ts'
import type { ConfiguredSupplier } from '#suppliers/supplier-registry.ts'

/** A supplier's answer about an eSIM; undefined if it gave none. */
type Answer = ReadonlySet<string> | undefined

interface Known {
  answer: Promise<Answer>
  /** Both by the monotonic clock. */
  askedMs: number
  untilMs: number
}

/**
 * The product codes of the top-ups that an eSIM accepts now, as its supplier lists them. Entries that cannot be read are
 * left out and logged. Each node asks the supplier about an eSIM at most once in ten minutes, only while no purchase is
 * waiting for a request, and not while the supplier is paused or down.
 * @returns undefined if the supplier has no such list or did not answer in time: then only our own rule decides what fits
 */
export async function topUpsListedFor(
  log: Pick<Log, 'warn'>,
  { supplier, gate, paused }: Pick<ConfiguredSupplier, 'supplier' | 'gate' | 'paused'>,
  iccid: string,
): Promise<Answer> {
  if (supplier.topUpsOf === undefined) return undefined
  const known = answersOf(supplier)
  const now = systemClock.monotonic()
  const last = known.get(iccid)
  if (last !== undefined && last.untilMs > now) return inTime(last)
  if (paused || gate.state !== 'closed') return undefined
  if (known.size >= ESIMS_MAX) for (const [each, { untilMs }] of known) if (untilMs <= now) known.delete(each)
  if (known.size >= ESIMS_MAX) return undefined
  const asked: Known = { answer: ask(log, supplier, iccid), askedMs: now, untilMs: now + KEPT_MS }
  known.set(iccid, asked)
  void asked.answer.then((answer) => {
    if (answer === undefined) asked.untilMs = systemClock.monotonic() + UNANSWERED_KEPT_MS
  })
  return inTime(asked)
}

const KEPT_MS = 600_000
const UNANSWERED_KEPT_MS = 30_000
/** Counted from the question, so that a list of many pages waits only once. A late answer serves the next request. */
const ANSWER_WAIT_MS = 2_000
const TURN_WAIT_MS = 1_000
/** The maximum number of eSIMs remembered per supplier. */
const ESIMS_MAX = 1_000

const answers = new WeakMap<Supplier, Map<string, Known>>()

function answersOf(supplier: Supplier): Map<string, Known> {
  const known = answers.get(supplier) ?? new Map<string, Known>()
  answers.set(supplier, known)
  return known
}

/** Never rejects. */
async function ask(log: Pick<Log, 'warn'>, supplier: Supplier, iccid: string): Promise<Answer> {
  try {
    const { result } = await asQuestion(() => supplier.topUpsOf!({ iccid }), TURN_WAIT_MS)
    const { unreadable } = result ?? {}
    if (unreadable) log.warn({ supplier: supplier.name, unreadable }, 'a list of top-ups has unreadable entries')
    return result && new Set(result.productCodes)
  } catch {
    return undefined
  }
}

async function inTime({ answer, askedMs }: Known): Promise<Answer> {
  const leftMs = Math.max(0, askedMs + ANSWER_WAIT_MS - systemClock.monotonic())
  return (await settlesWithin(answer, leftMs)) ? answer : undefined
}
