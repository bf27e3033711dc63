import type { ConsistencyAnswer, ConsistencyRequest, KeysAnswer } from '#schemas/books.ts'
import { type Checkpoint, verifyCheckpoint } from './checkpoint.ts'
import { type Finding, findingOf } from './findings.ts'
import { findFirstKey, followEndorsements, verifyRestore } from './key-notes.ts'
import { verifyConsistency } from './verify-proof.ts'

export type Verdict = 'EQUAL' | 'DIFFERS' | 'CANNOT_TELL'

/** What a dealer keeps from one audit to the next. */
export interface Remembered {
  /** Base64. The key that the first audit saw; others are trusted by endorsement only. */
  pinnedKey: string
  /** The last checkpoint that held. */
  note: string
}

export interface TrustedCheckpoint {
  checkpoint: Checkpoint
  note: string
  pinnedKey: string
  /** The remembered checkpoint. */
  last: Checkpoint | undefined
  /** False: the entries will show which one differs, or the ledger is shorter. */
  isContinued: boolean
  /** The size after a restore that explains why the ledger is shorter than the last checkpoint, or goes on otherwise. */
  restoredAt: number | undefined
  /** True if the test twin was reset since the remembered checkpoint: nothing of the ledger before can be compared. */
  wasReset: boolean
}

/** A checkpoint as the gateway shows it now: the answers of `ledger/checkpoint` and `ledger/keys`. */
export interface ShownCheckpoint extends KeysAnswer {
  note: string
}

/**
 * A genuine checkpoint that belongs to the remembered tree, or an explanation.
 * @param consistencyOf answers `ledger/consistency`
 * @param isTest the account is a test twin, whose ledger a reset begins again under another name
 */
export async function trustCheckpoint(
  { note, keys, restores }: ShownCheckpoint,
  remembered: Partial<Remembered>,
  consistencyOf: (sizes: ConsistencyRequest) => Promise<ConsistencyAnswer>,
  isTest = false,
): Promise<TrustedCheckpoint | { verdict: Verdict; finding: Finding }> {
  const pinnedKey = remembered.pinnedKey ?? (await findFirstKey(keys))
  if (pinnedKey === undefined) return { verdict: 'CANNOT_TELL', finding: findingOf('noKey') }
  const trusted = await followEndorsements(pinnedKey, keys)
  const checkpoint = await verifyCheckpoint(note, trusted)
  if (checkpoint === undefined) return { verdict: 'DIFFERS', finding: findingOf('unknownKey') }
  const genuine = {
    checkpoint,
    note,
    pinnedKey,
    last: undefined,
    isContinued: true,
    restoredAt: undefined,
    wasReset: false,
  }
  if (remembered.note === undefined) return genuine
  const last = await verifyCheckpoint(remembered.note, trusted)
  if (last === undefined) return { verdict: 'CANNOT_TELL', finding: findingOf('lastUntrusted') }
  if (isTest && isAfterReset(last.origin, checkpoint.origin)) return { ...genuine, wasReset: true }
  if (last.origin !== checkpoint.origin)
    return { verdict: 'DIFFERS', finding: findingOf('otherLedger', { now: checkpoint.origin, before: last.origin }) }
  if (last.treeSize <= checkpoint.treeSize) {
    const sizes = { fromSize: last.treeSize, toSize: checkpoint.treeSize }
    const isContinued = last.treeSize === 0 || (await verifyConsistency(last, checkpoint, await consistencyOf(sizes)))
    if (isContinued) return { ...genuine, last }
  }
  for (const record of [...restores].reverse()) {
    const restore = await verifyRestore(record, checkpoint.origin, trusted)
    if (restore && restore.time > last.createTime) return { ...genuine, last, restoredAt: restore.treeSize }
  }
  return { ...genuine, last, isContinued: false }
}

/** True if a ledger is that of the same test twin after more resets, such as `…/test/2` after `…/test/1`. */
function isAfterReset(before: string, after: string): boolean {
  const [nameBefore, resetsBefore] = parseOrigin(before)
  const [nameAfter, resetsAfter] = parseOrigin(after)
  return nameBefore === nameAfter && resetsBefore < resetsAfter
}

function parseOrigin(origin: string): [name: string, resets: number] {
  const [, name, resets] = /^(.*)\/test\/(\d{1,9})$/.exec(origin) ?? []
  return name === undefined ? [origin, 0] : [name, Number(resets)]
}
