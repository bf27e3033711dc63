import { storableText } from '@dealer-esim/wholesalers/stored-answer.ts'
import type { UnreadableEntry } from '@dealer-esim/wholesalers/supplier.ts'

/** The entries of a catalogue that could not be read. */
export interface Unread {
  /** The number of such entries. */
  unreadable: number
  /** Listed products that stay as they were because their entry is unreadable. */
  kept: number
  /** The first entries, by name. */
  unreadableEntries: { entry: string; reason: string }[]
}

/** As many as a person would read; a changed format results in thousands. */
const NAMED_MAX = 20

export function unreadOf(entries: readonly UnreadableEntry[], kept: number): Unread {
  const named = entries.slice(0, NAMED_MAX).map(({ entry, reason }) => {
    return { entry: storableText(entry), reason: storableText(reason) }
  })
  return { unreadable: entries.length, kept, unreadableEntries: named }
}

/** For example `2 entries are unreadable, such as H: its price is unreadable`. Empty if all were read. */
export function unreadText({ unreadable, kept, unreadableEntries: [first] }: Unread): string {
  if (first === undefined) return ''
  const count = unreadable === 1 ? '1 entry is unreadable' : `${unreadable} entries are unreadable`
  const stay = kept === 0 ? '' : `; ${kept} of the known products stay as they were`
  return `${count}, such as ${first.entry}: ${first.reason}${stay}`
}
