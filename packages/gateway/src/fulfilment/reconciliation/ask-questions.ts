import { type Running, runLoop, settlesWithin } from '@dealer-esim/lib/process/start-stop.ts'
import { asQuestion } from '@dealer-esim/wholesalers/account-rate.ts'
import {
  type AskedItem,
  beginQuestion,
  endQuestion,
  forgetQuestions,
  listDueQuestions,
} from '#suppliers/supplier-questions.ts'
import type { ConfiguredSupplier } from '#suppliers/supplier-registry.ts'
import type { FulfilmentDeps } from '../outcomes/outcome-deps.ts'
import { refreshItem } from './refresh-item.ts'

/** Also the longest delay of a question that another node has noted without a wakeup. */
const POLL_MS = 2_000
const FORGET_EVERY_MS = 60_000
/** How many due questions are listed at a time. Each listing decides the tenants' turns again. */
const LISTED_MAX = 20

/**
 * Asks suppliers about items that events have mentioned, one item at a time per supplier, using the part of the account's
 * rate limit that purchases leave. A supplier that hangs delays only its own questions.
 */
export function questionLoop(deps: FulfilmentDeps): Running {
  const stopping = new AbortController()
  const asking = new Map<string, Promise<void>>()
  let forgottenAt = Number.NEGATIVE_INFINITY
  const loop = runLoop(deps, 'questions', POLL_MS, async () => {
    const now = deps.clock.monotonic()
    if (now - forgottenAt > FORGET_EVERY_MS) {
      await forgetQuestions(deps.db)
      forgottenAt = now
    }
    for (const supplied of deps.suppliers.all()) {
      const { name } = supplied.supplier
      if (asking.has(name)) continue
      const asked = askAll(deps, supplied, stopping.signal)
        .catch((error) => deps.log.error({ err: error, supplier: name }, 'questions to a supplier could not be asked'))
        .finally(() => void asking.delete(name))
      asking.set(name, asked)
    }
  })
  const unsubscribe = deps.wake.on('questions', () => loop.wake())
  return {
    async stop(deadlineMs) {
      unsubscribe()
      stopping.abort()
      await loop.stop(deadlineMs)
      await settlesWithin(Promise.all(asking.values()), deadlineMs)
    },
  }
}

/** Asks until no question to the supplier is due. */
async function askAll(deps: FulfilmentDeps, supplied: ConfiguredSupplier, stopping: AbortSignal): Promise<void> {
  for (;;) {
    const due = await listDueQuestions(deps.db, supplied.supplier.name, LISTED_MAX)
    if (due.length === 0) return
    for (const item of due) {
      // A supplier that is down is queried once it is up again.
      if (stopping.aborted || supplied.gate.state === 'open') return
      await ask(deps, supplied, item)
    }
  }
}

/** Never rejects because of one item: the supplier is still queried about the items after it. */
async function ask(deps: FulfilmentDeps, supplied: ConfiguredSupplier, item: AskedItem): Promise<void> {
  if (!(await beginQuestion(deps.db, item))) return
  let again = true
  try {
    const { isPostponed } = await asQuestion(() => refreshItem(deps, supplied, item))
    again = isPostponed
  } catch (error) {
    deps.log.warn(
      { err: error, supplier: supplied.supplier.name, ...item },
      'an item could not be refreshed and will be asked about again',
    )
  }
  await endQuestion(deps.db, item, again)
}
