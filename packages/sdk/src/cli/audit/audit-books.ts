import {
  type Checkpoint,
  checkChain,
  compareOrders,
  type Finding,
  findingOf,
  firstOf,
  leafText,
  type OwnOrder,
  type Remembered,
  type StatementEntry,
  trustCheckpoint,
  type Verdict,
} from '@dealer-esim/contract'
import { leafHash, RootBuilder } from '@dealer-esim/contract/tree'
import type { DealerEsim } from '#client.ts'

/** What an audit keeps for the next one. */
export interface AuditState extends Partial<Remembered> {
  /** The hash of each entry, base64. */
  leaves: string[]
  /** The balance after the last entry. */
  balance: number
}

interface AuditInput {
  /** The account is a test twin, whose ledger a reset begins again. */
  isTest: boolean
  state: AuditState | undefined
  orders: readonly OwnOrder[] | undefined
  newOnly: boolean
}

export interface AuditResult {
  verdict: Verdict
  /** What differs, or why this audit cannot tell. Of several differences the one of the first entry. */
  finding: Finding | undefined
  state: AuditState
  /** How many entries were compared with those of the last audit. */
  compared: number
  /** Set if entries after this one were lost in a restore, of which the gateway has signed a record. */
  restoredAt: number | undefined
  /** True if the test twin was reset since the last audit: nothing of the ledger before can be compared. */
  wasReset: boolean
}

const PAGE_SIZE = 500

/**
 * Audits the ledger of the client's account.
 *
 * 1. A checkpoint is signed by a key that follows from the pinned one, and its origin is that of the last audit.
 * 2. The entries are numbered 1, 2, 3 …, and each balance follows from the one before.
 * 3. Their hashes are those of the last audit, as far as that went, and lead to the checkpoint's root.
 * 4. The dealer's own orders are the ledger's, with their amounts.
 */
export async function auditBooks(
  client: DealerEsim,
  { state, isTest, orders, newOnly }: AuditInput,
): Promise<AuditResult> {
  const before: AuditState = state ?? { leaves: [], balance: 0 }
  const shown = { note: (await client.checkpoint()).note, ...(await client.ledgerKeys()) }
  const found = await trustCheckpoint(shown, before, (sizes) => client.consistency(sizes), isTest)
  if ('finding' in found) return { ...found, ...NOTHING_COMPARED, state: before }
  const { checkpoint, note, pinnedKey, restoredAt, wasReset } = found
  const known = wasReset ? [] : before.leaves.slice(0, restoredAt ?? before.leaves.length)
  const skipped = newOnly && restoredAt === undefined ? known.length : 0
  const { entries, later } = await readEntries(client, skipped, checkpoint.treeSize)
  const balanceBefore = skipped === 0 ? 0 : before.balance
  const leaves = [...known.slice(0, skipped), ...entries.map((entry) => leafHash(leafText(entry)).toString('base64'))]
  const compared = Math.min(known.length, leaves.length) - skipped
  const finding =
    firstOf(
      compareLeaves(known, leaves, checkpoint),
      checkChain(entries, skipped, checkpoint.treeSize, balanceBefore),
    ) ??
    (orders && compareOrders(orders, entries, skipped > 0, later))
  const balance = entries.at(-1)?.balanceAfter ?? balanceBefore
  return {
    verdict: finding === undefined ? 'EQUAL' : 'DIFFERS',
    finding,
    state: { pinnedKey, note, leaves, balance },
    compared,
    restoredAt,
    wasReset,
  }
}

const NOTHING_COMPARED = { compared: 0, restoredAt: undefined, wasReset: false }

/** The entries after the first `skipped` ones, oldest first, up to number `last`. */
async function readEntries(
  client: DealerEsim,
  skipped: number,
  last: number,
): Promise<{ entries: StatementEntry[]; later: StatementEntry[] }> {
  const entries: StatementEntry[] = []
  const later: StatementEntry[] = []
  for await (const entry of client.eachEntry({ pageSize: PAGE_SIZE })) {
    const entryNo = Number(entry.entryNo)
    if (entryNo <= skipped) break
    if (entryNo <= last) entries.push(entry)
    else later.push(entry)
  }
  return { entries: entries.reverse(), later }
}

/** Compares the entries with those of the last audit and with the checkpoint's root. */
function compareLeaves(
  known: readonly string[],
  leaves: readonly string[],
  { treeSize, rootHash }: Checkpoint,
): Finding | undefined {
  const differing = known.findIndex((leaf, index) => leaf !== leaves[index])
  if (differing >= 0)
    return findingOf(differing < leaves.length ? 'notLastAudits' : 'gone', { entryNo: String(differing + 1) })
  const builder = new RootBuilder()
  for (const leaf of leaves.slice(0, treeSize)) builder.append(Buffer.from(leaf, 'base64'))
  if (leaves.length < treeSize || builder.root().toString('base64') === rootHash) return undefined
  return findingOf('auditRoot', { count: treeSize })
}
