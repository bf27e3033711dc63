import type { TimelineStep } from '@dealer-esim/gateway/http/console/orders/orders.ts'

/** One line of a timeline: a step, or several steps that differ only in their time and eSIM. */
export interface FoldedStep {
  /** The first step. */
  step: TimelineStep
  count: number
  /** The time of the last step. */
  until: string
  /** The eSIMs that they are about, in order. */
  itemNos: number[]
}

/**
 * Folds repeated polls of suppliers and repeated attempts to send an event. Polls of several eSIMs take turns, so those
 * between two other steps are folded together if supplier and answer are the same. A step with new content stays on its own
 * line, at its own time.
 */
export function foldSteps(steps: readonly TimelineStep[]): FoldedStep[] {
  const lines: FoldedStep[] = []
  /** The lines of the current run of repeatable steps. */
  let lineOf = new Map<string, FoldedStep>()
  for (const step of steps) {
    const key = repeatKey(step)
    if (key === undefined) lineOf = new Map()
    const line = key === undefined ? undefined : lineOf.get(key)
    const itemNos = step.itemNo == null ? [] : [step.itemNo]
    if (line) {
      line.count++
      line.until = step.at
      line.itemNos = [...new Set([...line.itemNos, ...itemNos])].sort((a, b) => a - b)
      continue
    }
    const added = { step, count: 1, until: step.at, itemNos }
    lines.push(added)
    if (key !== undefined) lineOf.set(key, added)
  }
  return lines
}

/** A key that repeated steps have in common; undefined for a step that is always shown on its own. */
function repeatKey(step: TimelineStep): string | undefined {
  if (step.kind === 'ATTEMPT' && step.operation === 'QUERY')
    return JSON.stringify([step.kind, step.supplier, step.outcome, step.detail])
  if (step.kind === 'DELIVERY') return JSON.stringify([step.kind, step.notifyId, step.outcome, step.httpStatus])
  return undefined
}

/** Numbers as a short list: 1–3, 5. */
export function formatItemNos(itemNos: readonly number[]): string {
  const ranges: [number, number][] = []
  for (const itemNo of itemNos) {
    const last = ranges.at(-1)
    if (last && last[1] === itemNo - 1) last[1] = itemNo
    else ranges.push([itemNo, itemNo])
  }
  return ranges.map(([first, last]) => (first === last ? `${first}` : `${first}–${last}`)).join(', ')
}
