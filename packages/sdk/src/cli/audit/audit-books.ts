import {
  type Checkpoint,
  followEndorsements,
  formatMoney,
  leafText,
  type StatementEntry,
  verifyCheckpoint,
  verifyConsistency,
  verifyRestore,
} from '@dealer-esim/contract'
import { leafHash, RootBuilder } from '@dealer-esim/contract/tree'
import type { DealerEsim } from '#client.ts'

/** What an audit keeps for the next one. */
export interface AuditState {
  /** The key that the first audit saw. Others are trusted by endorsement only. */
  pinnedKey: string | undefined
  /** The last checkpoint that held. */
  note: string | undefined
  /** The hash of each entry, base64. */
  leaves: string[]
  /** The balance after the last entry. */
  balance: number
}

/** A row of the dealer's own list of orders. */
export interface OwnOrder {
  transactionId: string
  /** In 1/10 000. */
  amount: number
  /** Its line in the file. */
  line: number
}

interface AuditInput {
  state: AuditState | undefined
  orders: readonly OwnOrder[] | undefined
  newOnly: boolean
}

interface Finding {
  /** The first entry that differs; null: it is not about one entry. */
  entryNo: string | null
  message: string
}

export interface AuditResult {
  verdict: 'EQUAL' | 'DIFFERS' | 'CANNOT_TELL'
  /** What differs, or why this audit cannot tell. Of several differences the one of the first entry. */
  finding: Finding | undefined
  state: AuditState
  /** How many entries were compared with those of the last audit. */
  compared: number
  /** Set if entries after this one were lost in a restore, of which the gateway has signed a record. */
  restoredAt: number | undefined
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
export async function auditBooks(client: DealerEsim, { state, orders, newOnly }: AuditInput): Promise<AuditResult> {
  const before: AuditState = state ?? { pinnedKey: undefined, note: undefined, leaves: [], balance: 0 }
  const found = await getTrustedCheckpoint(client, before)
  if ('message' in found) return cannotTell(before, found.message, found.verdict)
  const { checkpoint, note, pinnedKey, restoredAt } = found
  const known = before.leaves.slice(0, restoredAt ?? before.leaves.length)
  const skipped = newOnly && restoredAt === undefined ? known.length : 0
  const entries = await readEntries(client, skipped, checkpoint.treeSize)
  const balanceBefore = skipped === 0 ? 0 : before.balance
  const leaves = [...known.slice(0, skipped), ...entries.map((entry) => leafHash(leafText(entry)).toString('base64'))]
  const compared = Math.min(known.length, leaves.length) - skipped
  const finding =
    firstOf(
      compareLeaves(known, leaves, checkpoint),
      checkChain(entries, skipped, checkpoint.treeSize, balanceBefore),
    ) ??
    (orders && compareOrders(orders, entries, skipped > 0))
  const balance = entries.at(-1)?.balanceAfter ?? balanceBefore
  return {
    verdict: finding === undefined ? 'EQUAL' : 'DIFFERS',
    finding,
    state: { pinnedKey, note, leaves, balance },
    compared,
    restoredAt,
  }
}

function cannotTell(state: AuditState, message: string, verdict: AuditResult['verdict']): AuditResult {
  return { verdict, finding: { entryNo: null, message }, state, compared: 0, restoredAt: undefined }
}

/** The finding about the earlier entry; one that is about no entry comes last. */
function firstOf(left: Finding | undefined, right: Finding | undefined): Finding | undefined {
  if (left === undefined || right === undefined) return left ?? right
  const placeOf = ({ entryNo }: Finding) => (entryNo === null ? Number.POSITIVE_INFINITY : Number(entryNo))
  return placeOf(right) < placeOf(left) ? right : left
}

interface Trusted {
  checkpoint: Checkpoint
  note: string
  pinnedKey: string
  /** The size after a restore that explains why the ledger is shorter than the last checkpoint, or goes on otherwise. */
  restoredAt: number | undefined
}

/** A genuine checkpoint that continues the last one, or an explanation. */
async function getTrustedCheckpoint(
  client: DealerEsim,
  { pinnedKey, note: lastNote }: AuditState,
): Promise<Trusted | { message: string; verdict: AuditResult['verdict'] }> {
  const { note } = await client.checkpoint()
  const { keys, restores } = await client.ledgerKeys()
  const pinned = pinnedKey ?? keys.find(({ endorsement }) => endorsement === null)?.publicKey
  if (pinned === undefined) return { verdict: 'CANNOT_TELL', message: 'The gateway has no key that signs checkpoints.' }
  const trusted = await followEndorsements(pinned, keys)
  const checkpoint = await verifyCheckpoint(note, trusted)
  if (checkpoint === undefined)
    return {
      verdict: 'DIFFERS',
      message: 'The checkpoint is not signed by a key that follows from the one seen first.',
    }
  const genuine = { checkpoint, note, pinnedKey: pinned, restoredAt: undefined }
  if (lastNote === undefined) return genuine
  const last = await verifyCheckpoint(lastNote, trusted)
  if (last === undefined)
    return {
      verdict: 'CANNOT_TELL',
      message: 'The checkpoint in the state file is not signed by a key that is trusted.',
    }
  if (last.origin !== checkpoint.origin)
    return { verdict: 'DIFFERS', message: `The ledger is called ${checkpoint.origin}; it was ${last.origin}.` }
  if (last.treeSize <= checkpoint.treeSize) {
    const sizes = { fromSize: last.treeSize, toSize: checkpoint.treeSize }
    const isContinued =
      last.treeSize === 0 || (await verifyConsistency(last, checkpoint, await client.consistency(sizes)))
    if (isContinued) return genuine
  }
  for (const record of [...restores].reverse()) {
    const restore = await verifyRestore(record, checkpoint.origin, trusted)
    if (restore && restore.time > last.createTime) return { ...genuine, restoredAt: restore.treeSize }
  }
  // The entries show which one differs; a ledger that is shorter has lost its last ones.
  return genuine
}

/** The entries after the first `skipped` ones, oldest first, up to number `last`. */
async function readEntries(client: DealerEsim, skipped: number, last: number): Promise<StatementEntry[]> {
  const entries: StatementEntry[] = []
  for await (const entry of client.eachEntry({ pageSize: PAGE_SIZE })) {
    const entryNo = Number(entry.entryNo)
    if (entryNo <= skipped) break
    if (entryNo <= last) entries.push(entry)
  }
  return entries.reverse()
}

/** The first entry whose number or balance does not follow from the one before. */
function checkChain(
  entries: readonly StatementEntry[],
  skipped: number,
  last: number,
  balance: number,
): Finding | undefined {
  let before = BigInt(balance)
  for (const [index, entry] of entries.entries()) {
    const entryNo = String(skipped + index + 1)
    if (entry.entryNo !== entryNo)
      return { entryNo, message: `Entry ${entryNo} is missing: ${entry.entryNo} comes next.` }
    const after = before + BigInt(entry.amount)
    if (BigInt(entry.balanceAfter) !== after) {
      const [says, follows] = [formatMoney(BigInt(entry.balanceAfter)), formatMoney(after)]
      return {
        entryNo,
        message: `Entry ${entryNo} records the balance ${says}, but ${follows} follows from the entries.`,
      }
    }
    before = after
  }
  if (entries.length === last - skipped) return undefined
  const entryNo = String(skipped + entries.length + 1)
  return { entryNo, message: `Entry ${entryNo} is missing, but the checkpoint covers ${last} entries.` }
}

/** Compares the entries with those of the last audit and with the checkpoint's root. */
function compareLeaves(
  known: readonly string[],
  leaves: readonly string[],
  { treeSize, rootHash }: Checkpoint,
): Finding | undefined {
  const differing = known.findIndex((leaf, index) => leaf !== leaves[index])
  if (differing >= 0) {
    const entryNo = String(differing + 1)
    const message =
      differing < leaves.length
        ? `Entry ${entryNo} is not the one that the last audit saw.`
        : `Entry ${entryNo} was there at the last audit, and is gone.`
    return { entryNo, message }
  }
  const builder = new RootBuilder()
  for (const leaf of leaves.slice(0, treeSize)) builder.append(Buffer.from(leaf, 'base64'))
  if (leaves.length < treeSize || builder.root().toString('base64') === rootHash) return undefined
  const message = `The entries do not lead to the root of the checkpoint of ${treeSize} entries: one was changed after it was hashed.`
  return { entryNo: null, message }
}

/** Compares debits of orders and top-ups with the dealer's list: the first row that differs on either side. */
function compareOrders(
  orders: readonly OwnOrder[],
  entries: readonly StatementEntry[],
  isPartial: boolean,
): Finding | undefined {
  const debits = new Map<string, StatementEntry>()
  for (const entry of entries) {
    const isDebit = entry.kind === 'ORDER' || entry.kind === 'TOPUP'
    if (isDebit && entry.transactionId !== null) debits.set(entry.transactionId, entry)
  }
  for (const { transactionId, amount, line } of orders) {
    const entry = debits.get(transactionId)
    if (entry === undefined) {
      if (isPartial) continue
      return { entryNo: null, message: `Line ${line} of your list, ${transactionId}, is not in the ledger.` }
    }
    if (-entry.amount !== amount) {
      const [ours, theirs] = [formatMoney(BigInt(amount)), formatMoney(BigInt(-entry.amount))]
      const message = `Entry ${entry.entryNo} debits ${theirs} for ${transactionId}; line ${line} of your list has ${ours}.`
      return { entryNo: entry.entryNo, message }
    }
    debits.delete(transactionId)
  }
  const [extra] = debits.values()
  if (extra === undefined) return undefined
  const message = `Entry ${extra.entryNo} debits ${extra.transactionId}, which your list does not have.`
  return { entryNo: extra.entryNo, message }
}
