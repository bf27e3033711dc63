import { pause } from '../../lib/pause.ts'
import type { CancelOutcome, SuppliedEsim } from '../supplier.ts'
import type { Es2plusResult } from './outcome.ts'
import type { Progress } from './progress.ts'
import { type Desk, wordsOf } from './purchase.ts'

/** CancelOrder for an eSIM that was delivered, or is an orphan. A repeat is safe: it finds how far the last one came. */
export async function cancel(desk: Desk, esim: SuppliedEsim): Promise<CancelOutcome> {
  const progress = (await desk.book.find(esim.key)) ?? (await desk.book.adopt(esim))
  if (progress.step === 'CANCELLED') return { kind: 'cancelled' }
  const repeated = progress.step === 'CANCELLING'
  const before: Progress = { ...progress }
  if (!repeated && !(await desk.book.advance(progress, { step: 'CANCELLING' }))) return ELSEWHERE
  await pause('es2plus.before-cancel-order')
  const result = await desk.client.cancelOrder({ iccid: esim.iccid, matchingId: esim.matchingId })
  await pause('es2plus.after-cancel-order')
  if (result.kind === 'done') {
    await desk.book.advance(progress, { step: 'CANCELLED' })
    return { kind: 'cancelled' }
  }
  // A first CancelOrder that was not executed changed nothing; a repeated one may fail because the first was.
  if (repeated || !isDefinite(result)) return { kind: 'unknown', words: wordsOf(result) }
  await desk.book.advance(progress, { step: before.step })
  if (result.kind === 'retry') return { kind: 'unknown', words: result.words }
  return { kind: 'refused', words: wordsOf(result) }
}

const ELSEWHERE: CancelOutcome = { kind: 'unknown', words: 'another worker is at this order' }

/** An execution error may come after the execution. */
function isDefinite(result: Exclude<Es2plusResult, { kind: 'done' }>): boolean {
  if (result.kind !== 'unknown') return true
  return result.code !== undefined && !/\/(4\.2|5\.1)$/.test(result.code)
}
