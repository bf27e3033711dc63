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
  NOT_TO_BE_RELEASED,
} from './outcome.ts'
import type { Progress, ProgressBook, Step } from './progress.ts'

export interface Es2plusDeps {
  db: Db
  ids: Ids
  cipher: Pick<Cipher, 'encrypt' | 'decrypt'>
  outbound: Outbound
}

export interface Desk {
  client: Es2plusClient
  book: ProgressBook
  config: Es2plusConfig
}

export async function order(desk: Desk, request: SupplierRequest): Promise<Outcome> {
  const progress = (await desk.book.find(request.key)) ?? (await desk.book.start(request.key))
  if (progress === undefined) return { kind: 'refused', words: 'the ICCID range is used up' }
  return goOn(desk, progress, request.productCode)
}

/** Carries on an order that stopped half-way: the item is still wanted. */
export async function resume(desk: Desk, request: SupplierRequest): Promise<Outcome> {
  const progress = await desk.book.find(request.key)
  if (progress === undefined || progress.step === 'NEW') return NEVER_SENT
  if (progress.iccid === null) return NOT_TOLD
  return goOn(desk, progress, request.productCode)
}

/**
 * What is there of an order that nobody wants any more. Going on with it would buy; so what may be reserved for us is
 * cancelled, and when that was executed there was an eSIM: it is told of, to be kept as an orphan and reported.
 */
export async function look(desk: Desk, request: SupplierRequest): Promise<Outcome> {
  const progress = await desk.book.find(request.key)
  if (progress === undefined || progress.step === 'NEW') return NEVER_SENT
  if (progress.iccid === null) return NOT_TOLD
  if (progress.step === 'CONFIRMED') return delivered(desk.config, progress)
  if (progress.step === 'CANCELLED') return GIVEN_BACK
  const outcome = await giveBack(desk, progress, 'nobody wants it any more')
  // What giveBack has changed in it, the compiler does not see.
  return (progress.step as Step) === 'CANCELLED' ? delivered(desk.config, progress) : outcome
}

const NEVER_SENT: Outcome = { kind: 'retry', words: 'DownloadOrder was never sent' }
const NOT_TOLD: Outcome = { kind: 'unknown', words: 'DownloadOrder had no answer, and ES2+ has no way to ask' }
const GIVEN_BACK: Outcome = { kind: 'refused', words: 'the SM-DP+ has cancelled the order' }
/** Of two workers at one order (the lease of one ran out), one goes on. */
const ELSEWHERE: Outcome = { kind: 'unknown', words: 'another worker is at this order' }

/** From wherever the order stands to the end, as far as answers carry it. */
async function goOn(desk: Desk, progress: Progress, profileType: string): Promise<Outcome> {
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
      return giveBack(desk, progress, 'it could not be confirmed')
    case 'CANCELLED':
      return GIVEN_BACK
    default:
      return progress.step satisfies never
  }
}

/** @returns why it does not go on; undefined: it does. */
async function download(desk: Desk, progress: Progress, profileType: string): Promise<Outcome | undefined> {
  const repeated = progress.step === 'ORDERING'
  if (!repeated && !(await desk.book.advance(progress, { step: 'ORDERING' }))) return ELSEWHERE
  await failpoint('es2plus.before-download-order')
  const result = await desk.client.downloadOrder({ iccid: progress.iccid, profileType })
  await failpoint('es2plus.after-download-order')
  if (result.kind === 'done') {
    const iccid = stripIccidPadding(result.body.iccid ?? progress.iccid ?? '')
    if (!isIccid(iccid)) return { kind: 'unknown', words: 'DownloadOrder was executed, but its answer has no ICCID' }
    // The answer may be that to another order, whose profile is not ours to confirm. Ours is asked for again.
    if (progress.iccidChosen && iccid !== progress.iccid) {
      return { kind: 'unknown', words: `DownloadOrder was sent for ICCID ${progress.iccid} and answered for ${iccid}` }
    }
    if (!(await desk.book.advance(progress, { step: 'ORDERED', iccid }))) return ELSEWHERE
    await failpoint('es2plus.ordered')
    return undefined
  }
  // In use, on a repeat with an ICCID that is ours alone: by our own earlier order. Confirming it will tell.
  const ownEarlier = repeated && progress.iccidChosen && result.kind === 'unknown' && result.code === ICCID_IN_USE
  if (ownEarlier) return undefined
  // Definitely not executed, so that nothing is in question even if we die before our caller has written it down.
  if (result.kind !== 'unknown' && !repeated) await desk.book.advance(progress, { step: 'NEW' })
  // A repeat that was not executed says nothing of the first; one that may have been is still in doubt.
  if (result.kind === 'retry' && repeated) return { kind: 'unknown', words: result.words, ...downOf(result) }
  const words = `DownloadOrder: ${result.words}`
  if (result.kind !== 'refused') return { kind: result.kind, words, ...downOf(result) }
  if (!repeated) return { kind: 'refused', words }
  // The first may have been executed: ours was the last one that was left, or our account was closed after it.
  return progress.iccid === null ? NOT_TOLD : giveBack(desk, progress, words)
}

async function confirm(desk: Desk, progress: Progress): Promise<Outcome> {
  const { iccid, matchingId, iccidChosen: chosen } = progress
  if (iccid === null) return NOT_TOLD
  const repeated = progress.step === 'CONFIRMING'
  const maybeReleased = progress.confirmed === true
  if (!repeated && !(await desk.book.advance(progress, { step: 'CONFIRMING' }))) return ELSEWHERE
  if (!progress.confirmed) {
    await failpoint('es2plus.before-confirm-order')
    const result = await desk.client.confirmOrder({ iccid, matchingId, chosen })
    await failpoint('es2plus.after-confirm-order')
    // Nobody else has our matching id: that it is in use says that an earlier ConfirmOrder of ours was executed.
    const ownEarlier = repeated && result.kind === 'unknown' && result.code === MATCHING_ID_IN_USE
    if (result.kind !== 'done' && !ownEarlier) {
      if (result.kind === 'refused') return giveBack(desk, progress, result.words)
      return { kind: 'unknown', words: `ConfirmOrder: ${wordsOf(result)}`, ...downOf(result) }
    }
    const told = result.kind === 'done' ? result.body : {}
    const learnt = {
      confirmed: true as const,
      matchingId: told.matchingId || matchingId,
      ...(told.smdpAddress ? { smdpAddress: told.smdpAddress } : {}),
    }
    const step = desk.config.releaseWithConfirm === false ? 'CONFIRMING' : 'CONFIRMED'
    if (!(await desk.book.advance(progress, { step, ...learnt }))) return ELSEWHERE
  }
  if (progress.step !== 'CONFIRMED') {
    const result = await desk.client.releaseProfile({ iccid, chosen })
    // It is confirmed, so that an earlier ReleaseProfile of ours is all that can have led on from there.
    const ownEarlier = maybeReleased && result.kind === 'unknown' && result.code === NOT_TO_BE_RELEASED
    if (result.kind !== 'done' && !ownEarlier) {
      return { kind: 'unknown', words: `ReleaseProfile: ${wordsOf(result)}`, ...downOf(result) }
    }
    if (!(await desk.book.advance(progress, { step: 'CONFIRMED' }))) return ELSEWHERE
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
async function giveBack(desk: Desk, progress: Progress, why: string): Promise<Outcome> {
  const repeated = progress.step === 'CANCELLING'
  const { step } = progress
  if (!repeated && !(await desk.book.advance(progress, { step: 'CANCELLING' }))) return ELSEWHERE
  const result = await desk.client.cancelOrder({ iccid: progress.iccid!, matchingId: progress.matchingId })
  if (step === 'ORDERING' && result.kind === 'unknown' && result.code === NO_SUCH_ICCID) {
    return (await desk.book.advance(progress, { step })) ? { kind: 'refused', words: why } : ELSEWHERE
  }
  if (result.kind !== 'done' && !(repeated && isGone(result))) {
    if (!repeated && isNotExecuted(result)) await desk.book.advance(progress, { step })
    return { kind: 'unknown', words: `${why}; CancelOrder: ${wordsOf(result)}`, ...downOf(result) }
  }
  if (!(await desk.book.advance(progress, { step: 'CANCELLED' }))) return ELSEWHERE
  return { kind: 'refused', words: why }
}

function delivered(config: Es2plusConfig, progress: Progress): Outcome {
  const smdpAddress = progress.smdpAddress ?? config.smdpAddress ?? new URL(config.url).host
  return {
    kind: 'delivered',
    esim: { iccid: progress.iccid!, smdpAddress, matchingId: progress.matchingId, smdpStatus: 'RELEASED' },
  }
}

export function wordsOf(result: Es2plusResult): string {
  return result.kind === 'done' ? 'done' : result.words
}

function downOf(result: Es2plusResult): { down?: true } {
  return 'down' in result && result.down ? { down: true } : {}
}
