import type { Remembered } from '@dealer-esim/contract'
import { isTestMode } from '#api/call-api.ts'

/** What this browser keeps of a dealer's books: a later check is against what was shown here, whatever the gateway says then. */
export interface RememberedBooks extends Remembered {
  /** RFC 3339. */
  checkedAt: string
}

/** A dealer and its test twin have different books. */
const PREFIX = isTestMode ? 'dealer-esim-test-books-' : 'dealer-esim-books-'

export function loadRemembered(tenantId: string): RememberedBooks | undefined {
  try {
    const value = JSON.parse(localStorage.getItem(PREFIX + tenantId) ?? '') as Partial<RememberedBooks>
    const texts = [value.pinnedKey, value.note, value.checkedAt]
    return texts.every((text) => typeof text === 'string') ? (value as RememberedBooks) : undefined
  } catch {
    return undefined
  }
}

/** Storage may be full or forbidden: then each check stands alone. */
export function remember(tenantId: string, books: RememberedBooks): void {
  try {
    localStorage.setItem(PREFIX + tenantId, JSON.stringify(books))
  } catch {}
}

/** The number of entries in the remembered checkpoint: the second line of its note. */
export function knownSizeOf({ note }: Remembered): number {
  return Number(note.split('\n')[1])
}
