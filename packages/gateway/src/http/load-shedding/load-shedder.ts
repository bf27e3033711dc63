import type { Clock } from '@dealer-esim/lib/clock.ts'
import { type Log, rateLimitedLog } from '@dealer-esim/lib/telemetry/log.ts'
import {
  type BodyHolder,
  type ByteBudget,
  createBodyBudget,
  createUnreadAnswers,
  type UnreadAnswers,
} from './byte-budget.ts'
import { createPageQueue, type PageQueue } from './page-queue.ts'
import { createRefusals, OF_BODIES, OF_REQUESTS, type Refusals } from './refusals.ts'
import { createRequestLimit, type RequestLimit } from './request-limit.ts'
import { createTurns, type Turns } from './turns.ts'
import { createTwinTurns, type TwinTurns } from './twin-turns.ts'

/*
 * Keeps a process responsive under more load than it can serve (docs/decisions/0011-load-shedding.md):
 *
 *   requests   an adaptive limit of dealers' requests in progress; requests beyond it are answered 000002
 *   refusals,      answers that refuse are paced, in every API, so that callers that never wait leave time for the others;
 *   bodyRefusals   those of requests whose bodies are refused are fewer
 *   pages      a queue that starts one request for a page per turn of the event loop, and lets dealers' requests in between
 *   turns      a queue that starts one part of a page of the catalogue per turn of the event loop, tenant by tenant
 *   twinTurns  requests of test twins, fewer while live dealers send some
 *   bodies,    budgets in bytes for bodies that have not arrived whole, and for answers that their callers do not read;
 *   unread     beyond a budget the connection that holds most of it loses what it holds; unread answers also have a budget
 *              per connection and per tenant
 *
 * Requests that the limit and the two queues refuse are counted by `countRefused`, in one log line per second.
 */
export interface LoadShedder {
  requests: RequestLimit
  refusals: Refusals
  bodyRefusals: Refusals
  countRefused(): void
  pages: PageQueue
  turns: Turns
  twinTurns: TwinTurns
  bodies: ByteBudget<BodyHolder>
  unread: UnreadAnswers
}

/** Real bodies are a thousandth of this size, so only floods reach it. */
const BODIES_MAX_BYTES = 64 * 1024 * 1024

export function createLoadShedder({ clock, log }: { clock: Clock; log: Pick<Log, 'warn'> }): LoadShedder {
  const countRefused = rateLimitedLog((refused) => log.warn({ refused }, 'overloaded: requests were refused'))
  const requests = createRequestLimit(clock)
  return {
    requests,
    refusals: createRefusals(clock, OF_REQUESTS),
    bodyRefusals: createRefusals(clock, OF_BODIES),
    countRefused,
    pages: createPageQueue({ clock, requests, countRefused }),
    turns: createTurns({ clock, requests, countRefused }),
    twinTurns: createTwinTurns(clock, countRefused),
    bodies: createBodyBudget(BODIES_MAX_BYTES),
    unread: createUnreadAnswers(),
  }
}
