import { isIccid, stripIccidPadding } from '@dealer-esim/contract'
import type { Cipher } from '../../lib/crypto.ts'
import type { Db } from '../../lib/db.ts'
import type { Ids } from '../../lib/ids.ts'
import type { Outbound } from '../../lib/outbound/outbound.ts'
import { pause } from '../../lib/pause.ts'
import type { CancelOutcome, Outcome, SuppliedEsim, Supplier, SupplierRequest } from '../supplier.ts'
import { type Es2plusClient, es2plusClient, TIMEOUT_MS } from './client.ts'
import type { Es2plusConfig } from './config.ts'
import { type Es2plusResult, ICCID_IN_USE } from './outcome.ts'
import { type Progress, type ProgressBook, progressBook } from './progress.ts'
import { testEs2plus } from './test.ts'

const CONCURRENCY = 16
const SETTLES_MS = 60_000
const GIVE_UP_AFTER_MS = 30 * 60_000
/** DownloadOrder, ConfirmOrder, ReleaseProfile; and CancelOrder where the second is refused. */
const CALLS_MOST = 3
const OWN_TIME_MS = 2_000

export interface Es2plusDeps {
  db: Db
  ids: Ids
  cipher: Pick<Cipher, 'encrypt' | 'decrypt'>
  outbound: Outbound
}

/**
 * An SM-DP+ by SGP.22 ES2+: DownloadOrder, ConfirmOrder with release, CancelOrder. DownloadOrder has no idempotency
 * key, so one without an answer cannot be asked about; with an ICCID range of ours it is simply repeated.
 */
export function es2plusSupplier(name: string, config: Es2plusConfig, deps: Es2plusDeps): Supplier {
  const client = es2plusClient(config, deps)
  const book = progressBook(name, config, deps)
  const desk: Desk = { client, book, config }
  return {
    name,
    type: 'es2plus',
    traits: {
      batch: 1,
      concurrency: config.concurrency ?? CONCURRENCY,
      perSecond: config.perSecond ?? null,
      timeout_ms: CALLS_MOST * (config.timeoutMs ?? TIMEOUT_MS) + OWN_TIME_MS,
      settles_ms: config.settlesMs ?? SETTLES_MS,
      giveUpAfter_ms: config.giveUpAfterMs ?? GIVE_UP_AFTER_MS,
    },
    order: (requests) => Promise.all(requests.map((request) => order(desk, request))),
    query: (requests) => Promise.all(requests.map((request) => query(desk, request))),
    cancel: (esim) => cancel(desk, esim),
    test: () => testEs2plus(client, config),
    noticesFrom: {
      certificates: (config.notices?.certificates ?? []).map((print) => print.replaceAll(':', '').toLowerCase()),
      addresses: config.notices?.addresses ?? [],
    },
  }
}

interface Desk {
  client: Es2plusClient
  book: ProgressBook
  config: Es2plusConfig
}

async function order(desk: Desk, request: SupplierRequest): Promise<Outcome> {
  const progress = (await desk.book.find(request.key)) ?? (await desk.book.start(request.key))
  if (progress === undefined) return { kind: 'refused', words: 'the ICCID range is used up' }
  return goOn(desk, progress, request.productCode)
}

async function query(desk: Desk, request: SupplierRequest): Promise<Outcome> {
  const progress = await desk.book.find(request.key)
  if (progress === undefined || progress.step === 'NEW') return { kind: 'retry', words: 'DownloadOrder was never sent' }
  if (progress.iccid === null) {
    return { kind: 'unknown', words: 'DownloadOrder had no answer, and ES2+ has no way to ask' }
  }
  return goOn(desk, progress, request.productCode)
}

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
      return { kind: 'unknown', words: 'CancelOrder had no answer' }
    case 'CANCELLED':
      return { kind: 'refused', words: 'the SM-DP+ has cancelled the order' }
    default:
      return progress.step satisfies never
  }
}

/** @returns why it does not go on; undefined: it does. */
async function download(desk: Desk, progress: Progress, profileType: string): Promise<Outcome | undefined> {
  const repeated = progress.step === 'ORDERING'
  progress.step = 'ORDERING'
  await desk.book.save(progress)
  await pause('es2plus.before-download-order')
  const result = await desk.client.downloadOrder({ iccid: progress.iccid, profileType })
  await pause('es2plus.after-download-order')
  if (result.kind === 'done') {
    const iccid = stripIccidPadding(result.body.iccid ?? progress.iccid ?? '')
    if (!isIccid(iccid)) return { kind: 'unknown', words: 'DownloadOrder was executed, but its answer has no ICCID' }
    progress.iccid = iccid
    progress.step = 'ORDERED'
    await desk.book.save(progress)
    await pause('es2plus.ordered')
    return undefined
  }
  // In use, on a repeat with an ICCID that is ours alone: by our own earlier order. Confirming it will tell.
  const ownEarlier = repeated && progress.iccidChosen && result.kind === 'unknown' && result.code === ICCID_IN_USE
  if (ownEarlier) return undefined
  if (result.kind === 'retry' && !repeated) {
    progress.step = 'NEW'
    await desk.book.save(progress)
  }
  // A repeat that was not executed says nothing of the first; one that may have been is still in doubt.
  if (result.kind === 'retry' && repeated) return { kind: 'unknown', words: result.words, ...downOf(result) }
  return outcomeOf(result)
}

async function confirm(desk: Desk, progress: Progress): Promise<Outcome> {
  const { iccid, matchingId, iccidChosen } = progress
  if (iccid === null) return { kind: 'unknown', words: 'the ICCID is not known' }
  progress.step = 'CONFIRMING'
  await desk.book.save(progress)
  await pause('es2plus.before-confirm-order')
  let result = await desk.client.confirmOrder({ iccid, matchingId, chosen: iccidChosen })
  if (result.kind === 'done') {
    if (result.body.matchingId) progress.matchingId = result.body.matchingId
    if (result.body.smdpAddress) progress.smdpAddress = result.body.smdpAddress
    await pause('es2plus.after-confirm-order')
    if (desk.config.releaseWithConfirm === false) {
      result = await desk.client.releaseProfile({ iccid, chosen: iccidChosen })
      if (result.kind !== 'done') return { kind: 'unknown', words: `ReleaseProfile: ${wordsOf(result)}` }
    }
    progress.step = 'CONFIRMED'
    await desk.book.save(progress)
    await pause('es2plus.confirmed')
    return delivered(desk.config, progress)
  }
  if (result.kind !== 'refused')
    return { kind: 'unknown', words: `ConfirmOrder: ${wordsOf(result)}`, ...downOf(result) }
  return giveBack(desk, progress, result.words)
}

/** The profile was allocated to us and cannot be confirmed: only when it is given back is nothing bought. */
async function giveBack(desk: Desk, progress: Progress, why: string): Promise<Outcome> {
  progress.step = 'CANCELLING'
  await desk.book.save(progress)
  const result = await desk.client.cancelOrder({ iccid: progress.iccid!, matchingId: progress.matchingId })
  if (result.kind !== 'done') return { kind: 'unknown', words: `${why}; CancelOrder: ${wordsOf(result)}` }
  progress.step = 'CANCELLED'
  await desk.book.save(progress)
  return { kind: 'refused', words: why }
}

async function cancel(desk: Desk, esim: SuppliedEsim): Promise<CancelOutcome> {
  const known = await desk.book.find(esim.key)
  const progress: Progress = known ?? { ...esim, iccidChosen: false, step: 'CONFIRMED' }
  if (progress.step === 'CANCELLED') return { kind: 'cancelled' }
  const repeated = progress.step === 'CANCELLING'
  progress.step = 'CANCELLING'
  await desk.book.save(progress)
  await pause('es2plus.before-cancel-order')
  const result = await desk.client.cancelOrder({ iccid: esim.iccid, matchingId: esim.matchingId })
  if (result.kind === 'done') {
    progress.step = 'CANCELLED'
    await desk.book.save(progress)
    return { kind: 'cancelled' }
  }
  // A first CancelOrder that failed with a code changed nothing; a repeated one may fail because the first was executed.
  const definite = result.kind === 'refused' || (result.kind === 'unknown' && result.code !== undefined)
  if (repeated || !definite) return { kind: 'unknown', words: wordsOf(result) }
  progress.step = 'CONFIRMED'
  await desk.book.save(progress)
  return { kind: 'refused', words: wordsOf(result) }
}

function delivered(config: Es2plusConfig, progress: Progress): Outcome {
  const smdpAddress = progress.smdpAddress ?? config.smdpAddress ?? new URL(config.url).host
  return {
    kind: 'delivered',
    esim: { iccid: progress.iccid!, smdpAddress, matchingId: progress.matchingId, smdpStatus: 'RELEASED' },
  }
}

function outcomeOf(result: Exclude<Es2plusResult, { kind: 'done' }>): Outcome {
  const words = `DownloadOrder: ${result.words}`
  return result.kind === 'refused' ? { kind: 'refused', words } : { kind: result.kind, words, ...downOf(result) }
}

function wordsOf(result: Es2plusResult): string {
  return result.kind === 'done' ? 'done' : result.words
}

function downOf(result: Es2plusResult): { down?: true } {
  return 'down' in result && result.down ? { down: true } : {}
}
