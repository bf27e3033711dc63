import { say, t } from '../strings/index.ts'

/** What came of an attempt to deliver an event: a word of ours, or what went wrong in the gateway's words. */
export function outcomeOf(outcome: string | null): string | null {
  return outcome === 'acknowledged' ? t.webhooks.acknowledged : outcome
}

/** The same, with the status of the answer where there was one. */
export function answerOf({ outcome, httpStatus }: { outcome: string; httpStatus: number | null }): string {
  const words = outcomeOf(outcome) ?? ''
  return httpStatus === null ? words : `${words} · ${say(t.webhooks.http, { status: httpStatus })}`
}
