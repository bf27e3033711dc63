import { setTimeout as delay } from 'node:timers/promises'
import { failpoint } from '@dealer-esim/lib/process/failpoint.ts'
import { downOf, type RestAnswer } from '#rest-client.ts'
import type { Outcome, QueryPurpose, SupplierRequest } from '#supplier.ts'
import type { MobimatterClient } from './client.ts'
import {
  isRefusal,
  isSuccess,
  messageOf,
  outcomeOfCreate,
  outcomeOfOrder,
  outcomeOfRefusal,
  resultOf,
} from './outcome.ts'
import type { Progress, ProgressStore } from './progress.ts'

export interface MobimatterContext {
  client: MobimatterClient
  store: ProgressStore
}

type Held = Progress & { orderId: string }

/** When a call that has just completed an order queries it again, while it is still Processing. */
export const CHECK_AFTER_MS: readonly number[] = [500, 1_500]

/** After a lease has expired, two workers may process one order. Only one of them continues. */
const OTHER_WORKER: Outcome = { kind: 'unknown', message: 'another worker is processing this order' }
const NOT_BOUGHT: Outcome = { kind: 'retry', message: 'no order with this key was completed' }

/** Buys a new eSIM or a top-up, and continues an order that stopped half-way. */
export async function order(context: MobimatterContext, request: SupplierRequest): Promise<Outcome> {
  const progress = await context.store.find(request.key)
  switch (progress?.step) {
    case undefined:
    case 'CREATING':
    case 'ENDED':
      return create(context, request)
    case 'CREATED':
      return complete(context, request, progress)
    case 'COMPLETING': {
      const found = await find(context, request, progress.orderId)
      if (found.kind === 'held') return complete(context, request, progress)
      return found.kind === 'ended' ? end(context, progress, { kind: 'retry', message: found.message }) : found
    }
    default:
      return progress satisfies never
  }
}

async function create(context: MobimatterContext, request: SupplierRequest): Promise<Outcome> {
  const { key, productCode, topUp } = request
  const first = topUp && (topUp.reference ?? (await context.store.find(topUp.key))?.orderId)
  if (topUp && !first) return { kind: 'refused', message: 'the order of the eSIM at MobiMatter is not known' }
  const progress = await context.store.start(key)
  if (progress === undefined) return OTHER_WORKER
  await failpoint('mobimatter.before-create')
  const category = first
    ? { productCategory: 'esim_addon' as const, addOnOrderIdentifier: first }
    : { productCategory: 'esim_realtime' as const }
  const created = outcomeOfCreate(await context.client.create({ productId: productCode, ...category, label: key }))
  await failpoint('mobimatter.after-create')
  if (created.kind !== 'created') return created
  const held: Held = { key, step: 'CREATED', orderId: created.orderId }
  if (!(await context.store.advance(progress, held))) return OTHER_WORKER
  await failpoint('mobimatter.created')
  return complete(context, request, held)
}

/** Completes the held order; a repeat for the same order buys nothing more. */
async function complete(context: MobimatterContext, request: SupplierRequest, held: Held): Promise<Outcome> {
  const { key, orderId: reference } = held
  const completing: Held = { key, step: 'COMPLETING', orderId: reference }
  if (held.step !== 'COMPLETING' && !(await context.store.advance(held, completing))) return OTHER_WORKER
  await failpoint('mobimatter.before-complete')
  const answer = await context.client.complete(reference)
  await failpoint('mobimatter.after-complete')
  const completed = answer.kind === 'reply' && isSuccess(answer.status) ? resultOf(answer, 'orderId') : undefined
  if (completed !== undefined) return untilDelivered(context, request, completed, reference)
  if (isRefusal(answer)) return release(context, request, completing, answer)
  const isKnown = answer.kind === 'failed' ? !answer.sent : answer.status === 401 || answer.status === 403
  const down = answer.kind === 'failed' ? downOf(answer) : { down: true as const }
  return isKnown
    ? { kind: 'retry', message: messageOf(answer), ...down }
    : { kind: 'unknown', message: messageOf(answer), reference, ...down }
}

async function untilDelivered(
  context: MobimatterContext,
  request: SupplierRequest,
  completed: Parameters<typeof outcomeOfOrder>[0],
  orderId: string,
): Promise<Outcome> {
  let found: Found = outcomeOfOrder(completed, orderId, request)
  for (const waitMs of CHECK_AFTER_MS) {
    if (found.kind !== 'ordered') break
    await delay(waitMs)
    const next = await find(context, request, orderId)
    if (next.kind !== 'unknown') found = next
  }
  if (found.kind !== 'held' && found.kind !== 'ended') return found
  return {
    kind: 'unknown',
    message: 'MobiMatter has completed the order and shows it as not completed',
    reference: orderId,
  }
}

/** Returns the money after MobiMatter has refused to complete the order, unless an earlier completion has bought it. */
async function release(
  context: MobimatterContext,
  request: SupplierRequest,
  progress: Held,
  refusal: RestAnswer,
): Promise<Outcome> {
  const found = await find(context, request, progress.orderId)
  if (found.kind === 'ended') return end(context, progress, outcomeOfRefusal(refusal))
  if (found.kind !== 'held') return found
  return cancelHeld(context, request, progress, outcomeOfRefusal(refusal))
}

/** Queries the outcome of an order; nothing is bought. */
export async function query(
  context: MobimatterContext,
  request: SupplierRequest,
  purpose: QueryPurpose,
): Promise<Outcome> {
  const progress = await context.store.find(request.key)
  const isWanted = purpose === 'RESUME'
  switch (progress?.step) {
    case undefined:
    case 'ENDED':
      return NOT_BOUGHT
    case 'CREATING':
      return isWanted ? NOT_BOUGHT : end(context, progress, NOT_BOUGHT)
    case 'CREATED': {
      if (isWanted) return NOT_BOUGHT
      // From here on no worker completes the order, so it lapses if this request is lost.
      const ended = await end(context, progress, NOT_BOUGHT)
      if (ended === NOT_BOUGHT) await context.client.cancel(progress.orderId, NOT_WANTED)
      return ended
    }
    case 'COMPLETING': {
      const found = await find(context, request, progress.orderId)
      if (found.kind === 'ended') return end(context, progress, { kind: 'retry', message: found.message })
      if (found.kind !== 'held') return found
      return isWanted ? NOT_BOUGHT : cancelHeld(context, request, progress, NOT_BOUGHT)
    }
    default:
      return progress satisfies never
  }
}

const NOT_WANTED = 'no longer wanted'

/** Cancels an order that may still be completed by a request under way. */
async function cancelHeld(
  context: MobimatterContext,
  request: SupplierRequest,
  progress: Held,
  outcome: Outcome,
): Promise<Outcome> {
  const cancelled = await context.client.cancel(progress.orderId, NOT_WANTED)
  if (cancelled.kind === 'reply' && isSuccess(cancelled.status)) return end(context, progress, outcome)
  // MobiMatter cancels an order itself if its completion fails.
  const found = await find(context, request, progress.orderId)
  if (found.kind === 'ended') return end(context, progress, outcome)
  if (found.kind !== 'held') return found
  const message = `the order at MobiMatter could not be cancelled: ${messageOf(cancelled)}`
  return { kind: 'unknown', message, reference: progress.orderId }
}

async function end({ store }: MobimatterContext, progress: Progress, outcome: Outcome): Promise<Outcome> {
  return (await store.advance(progress, { key: progress.key, step: 'ENDED', orderId: null })) ? outcome : OTHER_WORKER
}

type Found = ReturnType<typeof outcomeOfOrder>

/** Any failure leaves the order in doubt. */
async function find({ client }: MobimatterContext, request: SupplierRequest, reference: string): Promise<Found> {
  const answer = await client.find(reference)
  const found = answer.kind === 'reply' && answer.status === 200 ? resultOf(answer, 'orderId') : undefined
  if (found !== undefined) return outcomeOfOrder(found, reference, request)
  return { kind: 'unknown', message: messageOf(answer), reference, ...downOf(answer) }
}
