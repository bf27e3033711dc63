import { isSignedBy, parseNote } from './signed-note.ts'

/** The name under which a ledger key signs other keys and restores; a checkpoint is signed under its origin. */
export const KEYS_NAME = 'dealer-esim-keys'

/** The text by which the previous key endorses a key. */
export function endorsementText(publicKey: string, validFrom: string): string {
  return `dealer-esim-key\n${publicKey}\n${validFrom}\n`
}

/** The text of a restore from a backup: the tree had `treeSize` entries afterwards. */
export function restoreText(origin: string, treeSize: number, time: string): string {
  return `dealer-esim-restore\n${origin}\n${treeSize}\n${time}\n`
}

/** The part of a ledger key that says which key vouches for it. */
export interface EndorsedKey {
  publicKey: string
  validFrom: string
  endorsement: string | null
}

/**
 * The keys that can be trusted because `pinned` can: itself, and each key that a trusted one endorses. The order of the keys
 * does not matter.
 */
export async function followEndorsements(pinned: string, keys: readonly EndorsedKey[]): Promise<string[]> {
  const trusted = [pinned]
  for (const endorser of trusted) {
    for (const key of keys) {
      if (!trusted.includes(key.publicKey) && (await isEndorsedBy(key, endorser))) trusted.push(key.publicKey)
    }
  }
  return trusted
}

/**
 * The key to pin at first sight: the one from which the most keys follow, of several the oldest. It may have an endorsement: after
 * a dealer was moved from one cell to another, a key of the first endorses those of the second, which stay the oldest ones of
 * the dealers there.
 */
export async function findFirstKey(keys: readonly EndorsedKey[]): Promise<string | undefined> {
  let first: string[] = []
  const reached = new Set<string>()
  for (const { publicKey } of keys.toSorted((a, b) => (a.validFrom < b.validFrom ? -1 : 1))) {
    // No more keys follow from this one than from the key that leads to it.
    if (reached.has(publicKey)) continue
    const following = await followEndorsements(publicKey, keys)
    for (const each of following) reached.add(each)
    if (following.length > first.length) first = following
  }
  return first[0]
}

async function isEndorsedBy({ publicKey, validFrom, endorsement }: EndorsedKey, endorser: string): Promise<boolean> {
  const note = endorsement === null ? undefined : parseNote(endorsement)
  return note?.text === endorsementText(publicKey, validFrom) && (await isSignedBy(note, KEYS_NAME, endorser))
}

/** The size at a genuine restore of this tree; undefined if the note says anything else. */
export async function verifyRestore(
  note: string,
  origin: string,
  publicKeys: readonly string[],
): Promise<{ treeSize: number; time: string } | undefined> {
  const parsed = parseNote(note)
  if (parsed === undefined) return undefined
  const [, , size = '', time = ''] = parsed.text.split('\n')
  const treeSize = Number(size)
  if (!Number.isSafeInteger(treeSize) || parsed.text !== restoreText(origin, treeSize, time)) return undefined
  for (const publicKey of publicKeys) if (await isSignedBy(parsed, KEYS_NAME, publicKey)) return { treeSize, time }
  return undefined
}
