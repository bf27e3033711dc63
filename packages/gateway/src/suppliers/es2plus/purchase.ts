import { isIccid, stripIccidPadding } from '@dealer-esim/contract'
import type { Cipher } from '../../lib/crypto.ts'
import type { Ids } from '../../lib/ids.ts'
import type { Outbound } from '../../lib/outbound/outbound.ts'
import type { Db } from '../../lib/postgres/db.ts'
import { failpoint } from '../../lib/process/failpoint.ts'
import type { Outcome, SupplierRequest } from '../supplier.ts'
import type { Es2plusClient } from './client.ts'
import type { Es2plusConfig } from './config.ts'
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
  progressStore: ProgressStore
  config: Es2plusConfig
}

export async function order(desk: Es2plusContext, request: SupplierRequest): Promise<Outcome> {
  const progress = (await desk.progressStore.find(request.key)) ?? (await desk.progressStore.start(request.key))
  if (progress === undefined) return { kind: 'refused', message: 'the ICCID range is used up' }
  return continueOrder(desk, progress, request.productCode)
}

/** Carries on an order that stopped half-way: the item is still wanted. */
export async function resume(desk: Es2plusContext, request: SupplierRequest): Promise<Outcome> {
  const progress = await desk.progressStore.find(request.key)
  if (progress === undefined || progress.step === 'NEW') return NEVER_SENT
  if (progress.iccid === null) return NO_ANSWER
  return continueOrder(desk, progress, request.productCode)
}

/**
 * What is there of an order that nobody wants any more. Going on with it would buy; so what may be reserved for us is
 * cancelled, and when that was executed there was an eSIM: it is told of, to be kept as an orphan and reported.
 */
export async function check(desk: Es2plusContext, request: SupplierRequest): Promise<Outcome> {
  const progress = await desk.progressStore.find(request.key)
  if (progress === undefined || progress.step === 'NEW') return NEVER_SENT
  if (progress.iccid === null) return NO_ANSWER
  if (progress.step === 'CONFIRMED') return delivered(desk.config, progress)
  if (progress.step === 'CANCELLED') return CANCELLED
  const outcome = await cancelReservation(desk, progress, 'nobody wants it any more')
  // What giveBack has changed in it, the compiler does not see.
  return (progress.step as Step) === 'CANCELLED' ? delivered(desk.config, progress) : outcome
}

const NEVER_SENT: Outcome = { kind: 'retry', message: 'DownloadOrder was never sent' }
const NO_ANSWER: Outcome = { kind: 'unknown', message: 'DownloadOrder had no answer, and ES2+ has no way to ask' }
const CANCELLED: Outcome = { kind: 'refused', message: 'the SM-DP+ has cancelled the order' }
/** Of two workers at one order (the lease of one ran out), one goes on. */
const OTHER_WORKER: Outcome = { kind: 'unknown', message: 'another worker is at this order' }

/** From wherever the order stands to the end, as far as answers carry it. */
async function continueOrder(desk: Es2plusContext, progress: Progress, profileType: string): Promise<Outcome> {
  switch (progress.step) {
    case 'NEW':
    case 'ORDERING': {
      const stopped = await download(desk, progress, profileType)
      return stopped ?? confirm(desk, progress)
    }
    case 'ORDERED':
    case 'CONFIRMING':
      return confirm(desk, progress)
    case 'CONFIRMED':
      return delivered(desk.config, progress)
    case 'CANCELLING':
      return cancelReservation(desk, progress, 'it could not be confirmed')
    case 'CANCELLED':
      return CANCELLED
    default:
      return progress.step satisfies never
  }
}

/** @returns why it does not go on; undefined: it does. */
async function download(desk: Es2plusContext, progress: Progress, profileType: string): Promise<Outcome | undefined> {
  const repeated = progress.step === 'ORDERING'
  if (!repeated && !(await desk.progressStore.advance(progress, { step: 'ORDERING' }))) return OTHER_WORKER
  await failpoint('es2plus.before-download-order')
  const result = await desk.client.downloadOrder({ iccid: progress.iccid, profileType })
  await failpoint('es2plus.after-download-order')
  if (result.kind === 'done') {
    const iccid = stripIccidPadding(result.body.iccid ?? progress.iccid ?? '')
    if (!isIccid(iccid)) return { kind: 'unknown', message: 'DownloadOrder was executed, but its answer has no ICCID' }
    // The answer may be that to another order, whose profile is not ours to confirm. Ours is asked for again.
    if (progress.iccidChosen && iccid !== progress.iccid) {
      return {
        kind: 'unknown',
        message: `DownloadOrder was sent for ICCID ${progress.iccid} and answered for ${iccid}`,
      }
    }
    if (!(await desk.progressStore.advance(progress, { step: 'ORDERED', iccid }))) return OTHER_WORKER
    await failpoint('es2plus.ordered')
    return undefined
  }
  // In use, on a repeat with an ICCID that is ours alone: by our own earlier order. Confirming it will tell.
  const ownEarlier = repeated && progress.iccidChosen && result.kind === 'unknown' && result.code === ICCID_IN_USE
  if (ownEarlier) return undefined
  // Definitely not executed, so that nothing is in question even if we die before our caller has written it down.
  if (result.kind !== 'unknown' && !repeated) await desk.progressStore.advance(progress, { step: 'NEW' })
  // A repeat that was not executed says nothing of the first; one that may have been is still in doubt.
  if (result.kind === 'retry' && repeated) return { kind: 'unknown', message: result.message, ...downOf(result) }
  const message = `DownloadOrder: ${result.message}`
  if (result.kind !== 'refused') return { kind: result.kind, message, ...downOf(result) }
  if (!repeated) return { kind: 'refused', message }
  // The first may have been executed: ours was the last one that was left, or our account was closed after it.
  return progress.iccid === null ? NO_ANSWER : cancelReservation(desk, progress, message)
}

async function confirm(desk: Es2plusContext, progress: Progress): Promise<Outcome> {
  const { iccid, matchingId, iccidChosen: chosen } = progress
  if (iccid === null) return NO_ANSWER
  const repeated = progress.step === 'CONFIRMING'
  const maybeReleased = progress.confirmed === true
  if (!repeated && !(await desk.progressStore.advance(progress, { step: 'CONFIRMING' }))) return OTHER_WORKER
  if (!progress.confirmed) {
    await failpoint('es2plus.before-confirm-order')
    const result = await desk.client.confirmOrder({ iccid, matchingId, chosen })
    await failpoint('es2plus.after-confirm-order')
    // Nobody else has our matching id: that it is in use says that an earlier ConfirmOrder of ours was executed.
    const ownEarlier = repeated && result.kind === 'unknown' && result.code === MATCHING_ID_IN_USE
    if (result.kind !== 'done' && !ownEarlier) {
      if (result.kind === 'refused') return cancelReservation(desk, progress, result.message)
      return { kind: 'unknown', message: `ConfirmOrder: ${messageOf(result)}`, ...downOf(result) }
    }
    const told = result.kind === 'done' ? result.body : {}
    const learnt = {
      confirmed: true as const,
      matchingId: told.matchingId || matchingId,
      ...(told.smdpAddress ? { smdpAddress: told.smdpAddress } : {}),
    }
    const step = desk.config.releaseWithConfirm === false ? 'CONFIRMING' : 'CONFIRMED'
    if (!(await desk.progressStore.advance(progress, { step, ...learnt }))) return OTHER_WORKER
  }
  if (progress.step !== 'CONFIRMED') {
    const result = await desk.client.releaseProfile({ iccid, chosen })
    // It is confirmed, so that an earlier ReleaseProfile of ours is all that can have led on from there.
    const ownEarlier = maybeReleased && result.kind === 'unknown' && result.code === NOT_RELEASABLE
    if (result.kind !== 'done' && !ownEarlier) {
      return { kind: 'unknown', message: `ReleaseProfile: ${messageOf(result)}`, ...downOf(result) }
    }
    if (!(await desk.progressStore.advance(progress, { step: 'CONFIRMED' }))) return OTHER_WORKER
  }
  await failpoint('es2plus.confirmed')
  return delivered(desk.config, progress)
}

/**
 * The profile was allocated to us and is not used: only when it is given back is nothing bought. A CancelOrder whose
 * answer was lost is repeated; nobody knows our matching id, so that one which leads nowhere any more was given back.
 * Where nobody knows whether anything was allocated, the SM-DP+ may know no such ICCID: then nothing was, so far. A
 * DownloadOrder may yet be at work, so that this is not written down: whoever asks when the doubt is over asks again.
 */
async function cancelReservation(desk: Es2plusContext, progress: Progress, why: string): Promise<Outcome> {
  const repeated = progress.step === 'CANCELLING'
  const { step } = progress
  if (!repeated && !(await desk.progressStore.advance(progress, { step: 'CANCELLING' }))) return OTHER_WORKER
  const result = await desk.client.cancelOrder({ iccid: progress.iccid!, matchingId: progress.matchingId })
  if (step === 'ORDERING' && result.kind === 'unknown' && result.code === NO_SUCH_ICCID) {
    return (await desk.progressStore.advance(progress, { step })) ? { kind: 'refused', message: why } : OTHER_WORKER
  }
  if (result.kind !== 'done' && !(repeated && isGone(result))) {
    if (!repeated && isNotExecuted(result)) await desk.progressStore.advance(progress, { step })
    return { kind: 'unknown', message: `${why}; CancelOrder: ${messageOf(result)}`, ...downOf(result) }
  }
  if (!(await desk.progressStore.advance(progress, { step: 'CANCELLED' }))) return OTHER_WORKER
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
