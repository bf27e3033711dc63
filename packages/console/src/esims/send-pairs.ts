import type { SendStatus } from '@dealer-esim/contract'
import type { ProfileRow } from '@dealer-esim/gateway/http/console/esims/esims.ts'
import type { TravellerList } from '@dealer-esim/gateway/http/console/esims/traveller-lists.ts'
import { formatMessage, t } from '#strings/strings.ts'

type Line = TravellerList['lines'][number]

/** A line of a list of travellers, and the eSIM that it gets. */
export interface Pair extends Omit<Line, 'fault'> {
  key: string
  esim: ProfileRow | undefined
  /** Why nothing is sent; null: nothing is wrong. */
  fault: string | null
}

/** The address to which an eSIM was sent already, or TAKEN: however the lines are changed, it goes to nobody else. */
export type Given = ReadonlyMap<string, string | typeof TAKEN>
/** Somebody else has sent it. */
export const TAKEN = Symbol('taken')

/** What has become of the e-mail of a pair. */
export interface Result {
  /** What the gateway says about the e-mail; absent: the call failed. */
  sendStatus?: SendStatus
  failure?: string
  /** It needs no further attempt. */
  isOver: boolean
}

/** The eSIMs that can be sent to travellers, in the order in which they were bought: neither installed nor sent yet. */
export function chooseTargets(esims: readonly ProfileRow[]): { targets: ProfileRow[]; skipped: number } {
  const targets = esims
    .filter(({ isSent }) => !isSent)
    .filter(({ esimStatus }) => esimStatus === 'GOT_RESOURCE')
    .filter(({ smdpStatus }) => smdpStatus === null || smdpStatus === 'RELEASED')
    .sort((a, b) => a.entryNo - b.entryNo || a.itemNo - b.itemNo)
  return { targets, skipped: esims.length - targets.length }
}

/**
 * Gives the first usable line the first eSIM, and so on. A line with a fault takes none. `taken` counts the eSIMs that somebody else has
 * sent since they were chosen.
 */
export function pairsOf(
  targets: readonly ProfileRow[],
  lines: readonly Line[],
  given: Given = new Map(),
): { pairs: Pair[]; left: number; taken: number } {
  const free = targets.filter(({ profileId }) => !given.has(profileId))
  const sent = targets.filter(({ profileId }) => given.has(profileId))
  const pairs = lines.map(({ fault, ...line }) => {
    const own = sent.findIndex(({ profileId }) => given.get(profileId) === line.email)
    const esim = fault !== null ? undefined : own === -1 ? free.shift() : sent.splice(own, 1)[0]
    const noneLeft = esim === undefined ? t.esims.many.noneLeft : null
    return { ...line, key: keyOf(line, esim), esim, fault: fault ?? noneLeft }
  })
  const taken = [...given.values()].filter((to) => to === TAKEN).length
  return { pairs, left: free.length, taken }
}

interface Progress {
  pairs: readonly Pair[]
  results: Readonly<Record<string, Result>>
  taken: number
  isReading: boolean
  isSending: boolean
  isDone: boolean
}

/** What people hear who do not see the table, such as `2 lines read, faulty: 1.` It says nothing about single e-mails on their way. */
export function progressText({ pairs, results, taken, isReading, isSending, isDone }: Progress): string {
  if (isReading) return ''
  const now = pairs.flatMap(({ key }) => results[key] ?? [])
  if (isSending || now.some(({ sendStatus }) => sendStatus === 'QUEUED')) return t.esims.many.onItsWay
  const failed = now.filter(({ isOver }) => !isOver).length
  const faults = pairs.filter(({ key, fault }) => fault !== null && results[key] === undefined).length
  return [
    pairs.length > 0 && !isDone && formatMessage(t.esims.many.read, { count: pairs.length, faults }),
    taken > 0 && formatMessage(t.esims.many.taken, { count: taken }),
    now.length > 0 && formatMessage(t.esims.many.tally, { sent: now.length - failed, failed }),
    isDone && t.esims.many.done,
  ]
    .filter((sentence) => sentence !== false)
    .join(' ')
}

/** The address is part of it, so that a corrected line is another e-mail. */
function keyOf({ row, email }: Pick<Line, 'row' | 'email'>, esim: ProfileRow | undefined): string {
  return esim === undefined ? `line-${row}` : `${esim.profileId} ${email}`
}
