import { isIccid, stripIccidPadding } from '@dealer-esim/contract'
import type { Cipher } from '@dealer-esim/lib/crypto.ts'
import type { Ids } from '@dealer-esim/lib/ids.ts'
import type { Outbound } from '@dealer-esim/lib/outbound/outbound.ts'
import type { Db } from '@dealer-esim/lib/postgres/db.ts'
import { failpoint } from '@dealer-esim/lib/process/failpoint.ts'
import type { Outcome, SupplierRequest } from '#supplier.ts'
import type { Es2plusClient } from './client.ts'
import type { Es2plusConfig } from './es2plus-config.ts'
import {
  type Es2plusResult,
  ICCID_IN_USE,
  isGone,
  isNotExecuted,
  MATCHING_ID_IN_USE,
  NO_SUCH_ICCID,
  NOT_RELEASABLE,
} from './outcome.ts'
import type { Progress, ProgressStore, Step } from './progress.ts'

export interface Es2plusDeps {
  db: Db
  ids: Ids
  cipher: Pick<Cipher, 'encrypt' | 'decrypt'>
  outbound: Outbound
}

export interface Es2plusContext {
  client: Es2plusClient
  store: ProgressStore
  config: Es2plusConfig
}

export async function order(context: Es2plusContext, request: SupplierRequest): Promise<Outcome> {
  const progress = (await context.store.find(request.key)) ?? (await context.store.start(request.key))
  if (progress === undefined) return { kind: 'refused', message: 'the ICCID range is used up' }
  return continueOrder(context, progress, request.productCode)
}

/** Continues an order that stopped half-way: the item is still wanted. */
export async function resume(context: Es2plusContext, request: SupplierRequest): Promise<Outcome> {
  const progress = await context.store.find(request.key)
  if (progress === undefined || progress.step === 'NEW') return NEVER_SENT
  if (progress.iccid === null) return inDoubt(progress)
  return continueOrder(context, progress, request.productCode)
}

/**
 * Checks an order that is no longer wanted. Continuing it would buy an eSIM, so this cancels a possible reservation. If the
 * SM-DP+ executes the cancellation, there was an eSIM: it is returned as delivered, so that fulfilment records an orphan.
 */
export async function check(context: Es2plusContext, request: SupplierRequest): Promise<Outcome> {
  const progress = await context.store.find(request.key)
  if (progress === undefined || progress.step === 'NEW') return NEVER_SENT
  if (progress.iccid === null) return inDoubt(progress)
  if (progress.step === 'CONFIRMED') return delivered(context.config, progress)
  if (progress.step === 'CANCELLED') return CANCELLED
  const outcome = await cancelReservation(context, progress, 'no longer wanted')
  // The compiler does not see that cancelReservation may have changed the step.
  return (progress.step as Step) === 'CANCELLED' ? delivered(context.config, progress) : outcome
}

const NEVER_SENT: Outcome = { kind: 'retry', message: 'DownloadOrder was never sent' }
const CANCELLED: Outcome = { kind: 'refused', message: 'the SM-DP+ has cancelled the order' }
/** After a lease has expired, two workers may process one order. Only one of them continues. */
const OTHER_WORKER: Outcome = { kind: 'unknown', message: 'another worker is processing this order' }

/**
 * Only the SM-DP+ knows whether DownloadOrder took a profile. An operator has to ask, quoting the reason that the SM-DP+
 * gave.
 */
function inDoubt({ failure }: Progress): Outcome {
  const what = failure === undefined ? 'DownloadOrder was not answered' : `DownloadOrder: ${failure}`
  return { kind: 'unknown', message: `${what}; ES2+ has no query` }
}

/** Continues from the current step until delivery or the first answer that stops it. */
async function continueOrder(context: Es2plusContext, progress: Progress, profileType: string): Promise<Outcome> {
  switch (progress.step) {
    case 'NEW':
    case 'ORDERING': {
      const stopped = await download(context, progress, profileType)
      return stopped ?? confirm(context, progress)
    }
    case 'ORDERED':
    case 'CONFIRMING':
      return confirm(context, progress)
    case 'CONFIRMED':
      return delivered(context.config, progress)
    case 'CANCELLING':
      return cancelReservation(context, progress, 'it could not be confirmed')
    case 'CANCELLED':
      return CANCELLED
    default:
      return progress.step satisfies never
  }
}

/** @returns the outcome that stops the order; undefined: it continues */
async function download(
  context: Es2plusContext,
  progress: Progress,
  profileType: string,
): Promise<Outcome | undefined> {
  const repeated = progress.step === 'ORDERING'
  if (!repeated && !(await context.store.advance(progress, { step: 'ORDERING' }))) return OTHER_WORKER
  await failpoint('es2plus.before-download-order')
  const result = await context.client.downloadOrder({ iccid: progress.iccid, profileType })
  await failpoint('es2plus.after-download-order')
  if (result.kind === 'done') {
    const iccid = stripIccidPadding(result.body.iccid ?? progress.iccid ?? '')
    if (!isIccid(iccid)) return { kind: 'unknown', message: 'DownloadOrder was executed, but its answer has no ICCID' }
    // The answer may belong to a different order, whose profile we must not confirm. Our own order is queried again.
    if (progress.iccidChosen && iccid !== progress.iccid) {
      return {
        kind: 'unknown',
        message: `DownloadOrder was sent for ICCID ${progress.iccid} but answered for ${iccid}`,
      }
    }
    if (!(await context.store.advance(progress, { step: 'ORDERED', iccid }))) return OTHER_WORKER
    await failpoint('es2plus.ordered')
    return undefined
  }
  // A repeat found the ICCID from our own range in use, so our earlier order took it. ConfirmOrder will show it.
  const ownEarlier = repeated && progress.iccidChosen && result.kind === 'unknown' && result.code === ICCID_IN_USE
  if (ownEarlier) return undefined
  // DownloadOrder was definitely not executed. Recording that leaves nothing in doubt, even if we crash before our caller saves
  // it.
  if (result.kind !== 'unknown' && !repeated) await context.store.advance(progress, { step: 'NEW' })
  // Without an ICCID of our own the call is never repeated, so the SM-DP+ states its reason only this once.
  if (result.kind === 'unknown' && result.code !== undefined && progress.iccid === null) {
    await context.store.advance(progress, { step: 'ORDERING', failure: result.message })
  }
  // A repeat that was not executed says nothing about the first call, which is still in doubt.
  if (result.kind === 'retry' && repeated) return { kind: 'unknown', message: result.message, ...downOf(result) }
  const message = `DownloadOrder: ${result.message}`
  if (result.kind !== 'refused') return { kind: result.kind, message, ...downOf(result) }
  if (!repeated) return { kind: 'refused', message }
  // The first call may have been executed, and the repeat refused because the first took the last profile, or because our
  // account was closed in between.
  return progress.iccid === null ? inDoubt(progress) : cancelReservation(context, progress, message)
}

async function confirm(context: Es2plusContext, progress: Progress): Promise<Outcome> {
  const { iccid, matchingId, iccidChosen: chosen } = progress
  if (iccid === null) return inDoubt(progress)
  const repeated = progress.step === 'CONFIRMING'
  const maybeReleased = progress.confirmed === true
  if (!repeated && !(await context.store.advance(progress, { step: 'CONFIRMING' }))) return OTHER_WORKER
  if (!progress.confirmed) {
    await failpoint('es2plus.before-confirm-order')
    const result = await context.client.confirmOrder({ iccid, matchingId, chosen })
    await failpoint('es2plus.after-confirm-order')
    // Only we have this matching id: if it is in use, our earlier ConfirmOrder was executed.
    const ownEarlier = repeated && result.kind === 'unknown' && result.code === MATCHING_ID_IN_USE
    if (result.kind !== 'done' && !ownEarlier) {
      if (result.kind === 'refused') return cancelReservation(context, progress, result.message)
      return { kind: 'unknown', message: `ConfirmOrder: ${messageOf(result)}`, ...downOf(result) }
    }
    const answer = result.kind === 'done' ? result.body : {}
    const confirmation = {
      confirmed: true as const,
      matchingId: answer.matchingId || matchingId,
      ...(answer.smdpAddress ? { smdpAddress: answer.smdpAddress } : {}),
    }
    const step = context.config.releaseWithConfirm === false ? 'CONFIRMING' : 'CONFIRMED'
    if (!(await context.store.advance(progress, { step, ...confirmation }))) return OTHER_WORKER
  }
  if (progress.step !== 'CONFIRMED') {
    const result = await context.client.releaseProfile({ iccid, chosen })
    // The order is confirmed, so only our own earlier ReleaseProfile can have changed its state.
    const ownEarlier = maybeReleased && result.kind === 'unknown' && result.code === NOT_RELEASABLE
    if (result.kind !== 'done' && !ownEarlier) {
      return { kind: 'unknown', message: `ReleaseProfile: ${messageOf(result)}`, ...downOf(result) }
    }
    if (!(await context.store.advance(progress, { step: 'CONFIRMED' }))) return OTHER_WORKER
  }
  await failpoint('es2plus.confirmed')
  return delivered(context.config, progress)
}

/**
 * Cancels a profile that was allocated to us and is not used. Until that succeeds, the profile counts as bought. We repeat
 * a CancelOrder whose answer was lost: only we know the matching id, so if it no longer exists, the profile was cancelled.
 * If we do not know whether anything was allocated and the SM-DP+ does not know the ICCID, nothing has been allocated so
 * far. A DownloadOrder may still be running, so we do not record that, and a later query checks again.
 */
async function cancelReservation(context: Es2plusContext, progress: Progress, why: string): Promise<Outcome> {
  const repeated = progress.step === 'CANCELLING'
  const { step } = progress
  if (!repeated && !(await context.store.advance(progress, { step: 'CANCELLING' }))) return OTHER_WORKER
  const result = await context.client.cancelOrder({ iccid: progress.iccid!, matchingId: progress.matchingId })
  if (step === 'ORDERING' && result.kind === 'unknown' && result.code === NO_SUCH_ICCID) {
    return (await context.store.advance(progress, { step })) ? { kind: 'refused', message: why } : OTHER_WORKER
  }
  if (result.kind !== 'done' && !(repeated && isGone(result))) {
    if (!repeated && isNotExecuted(result)) await context.store.advance(progress, { step })
    return { kind: 'unknown', message: `${why}; CancelOrder: ${messageOf(result)}`, ...downOf(result) }
  }
  if (!(await context.store.advance(progress, { step: 'CANCELLED' }))) return OTHER_WORKER
  return { kind: 'refused', message: why }
}

function delivered(config: Es2plusConfig, progress: Progress): Outcome {
  const smdpAddress = progress.smdpAddress ?? config.smdpAddress ?? new URL(config.url).host
  return {
    kind: 'delivered',
    esim: { iccid: progress.iccid!, smdpAddress, matchingId: progress.matchingId, smdpStatus: 'RELEASED' },
  }
}

export function messageOf(result: Es2plusResult): string {
  return result.kind === 'done' ? 'done' : result.message
}

function downOf(result: Es2plusResult): { down?: true } {
  return 'down' in result && result.down ? { down: true } : {}
}
