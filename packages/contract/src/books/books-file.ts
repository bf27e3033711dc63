import { fromBase64, toBase64 } from '#base64.ts'
import type { ProofAnswer } from '#schemas/books.ts'
import { verifyCheckpoint } from './checkpoint.ts'
import { checkChain, compareOrders, firstOf, type OwnOrder } from './compare-entries.ts'
import { type Finding, findingOf } from './findings.ts'
import { followEndorsements } from './key-notes.ts'
import { type LeafEntry, leafText } from './leaf.ts'
import { inclusionRanges, type LeafRange, splitOf } from './tree-ranges.ts'
import {
  type Remembered,
  type ShownCheckpoint,
  type TrustedCheckpoint,
  trustCheckpoint,
  type Verdict,
} from './trust-checkpoint.ts'
import { type Hash, leafHash, nodeHash } from './verify-proof.ts'

/*
 * A books file: entries of a ledger with all that proves them, so that they can be checked offline. One JSON object a line:
 * first the checkpoint, then an entry each, oldest first.
 *
 *     {"format":"dealer-esim-books-1","note":"esim.example.com/01a1…\n8\n…","keys":[…],"restores":[],"consistency":null,"from":5,"to":8,"proofs":[…]}
 *     {"leaf":"CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=","entry":{"entryNo":"5",…}}
 */

const FORMAT = 'dealer-esim-books-1'

/** The checkpoint as the portal shows it: enough to trust it, without entries. */
export interface BooksHead extends ShownCheckpoint {
  /** The consistency proof from the size that the reader remembers; null: it remembers none, or the tree is shorter. */
  consistency: { fromSize: number; hashes: string[] } | null
}

interface FileHead extends BooksHead {
  /** The first and the last entry of the file. Without entries, `to` is `from` - 1. */
  from: number
  to: number
  /** Inclusion proofs of these two entries. Between them they contain each hash outside the file that leads to the root. */
  proofs: ProofAnswer[]
}

export interface BooksResult {
  verdict: Verdict
  finding: Finding | undefined
  /** undefined: no genuine checkpoint was found. */
  trusted: TrustedCheckpoint | undefined
  /** The entries that were compared. */
  from: number
  to: number
}

/** The first line of a books file. */
export function booksFileHead(head: Omit<FileHead, 'format'>): string {
  return `${JSON.stringify({ format: FORMAT, ...head })}\n`
}

/** The line of an entry. @param leaf its hash as it was stored when the entry was new */
export function booksFileLine(leaf: string, entry: LeafEntry): string {
  return `${JSON.stringify({ leaf, entry: JSON.parse(leafText(entry)) as LeafEntry })}\n`
}

/**
 * Verifies a checkpoint that the portal shows against what the reader remembers.
 * @param isTest the account is a test twin, whose ledger a reset begins again
 */
export async function verifyBooksHead(
  head: BooksHead,
  remembered: Partial<Remembered> = {},
  isTest = false,
): Promise<BooksResult> {
  const consistencyOf = async ({ fromSize }: { fromSize: number }) => ({
    hashes: head.consistency?.fromSize === fromSize ? head.consistency.hashes : [],
  })
  const trusted = await trustCheckpoint(head, remembered, consistencyOf, isTest)
  if ('finding' in trusted) return { ...trusted, trusted: undefined, from: 1, to: 0 }
  const result = { trusted, from: 1, to: 0 }
  const { isContinued, restoredAt, checkpoint, last } = trusted
  if (isContinued || restoredAt !== undefined) return { ...result, verdict: 'EQUAL', finding: undefined }
  const sizes = { now: checkpoint.treeSize, before: last!.treeSize }
  if (head.consistency?.fromSize !== last!.treeSize && last!.treeSize < checkpoint.treeSize)
    return { ...result, verdict: 'CANNOT_TELL', finding: findingOf('noProof', sizes) }
  return { ...result, verdict: 'DIFFERS', finding: findingOf('proofFails', sizes) }
}

interface FileChecks {
  remembered?: Partial<Remembered>
  /** As in verifyBooksHead. */
  isTest?: boolean
  /** The note of an earlier checkpoint, such as the one on a statement. The file must begin with entry 1. */
  earlierNote?: string
  /** The dealer's own list of orders. */
  orders?: readonly OwnOrder[]
}

/**
 * Verifies a books file: the checkpoint, each entry's hash, balance and number, and that they lead to the checkpoint's root.
 * @param lines of the file, without line ends
 */
export async function verifyBooksFile(
  lines: AsyncIterable<string> | Iterable<string>,
  { remembered, isTest, earlierNote, orders }: FileChecks = {},
): Promise<BooksResult> {
  const read = await readFile(lines)
  if (read === undefined)
    return { verdict: 'CANNOT_TELL', finding: findingOf('notBooks'), trusted: undefined, from: 1, to: 0 }
  const { head, entries, leaves } = read
  const { from, to } = head
  const shown = await verifyBooksHead(head, remembered, isTest)
  if (shown.verdict !== 'EQUAL' || shown.trusted === undefined) return { ...shown, from, to }
  const result = { trusted: shown.trusted, from, to }
  const last = from + entries.length - 1
  const changed = firstOf(
    await compareLeaves(entries, leaves, from),
    checkChain(entries, from - 1, last, from === 1 ? 0 : undefined),
  )
  if (changed !== undefined) return { ...result, verdict: 'DIFFERS', finding: changed }
  if (last < to) return { ...result, verdict: 'CANNOT_TELL', finding: findingOf('cutOff', { last, to }) }
  if (earlierNote !== undefined) {
    const earlier = await compareEarlier(read, shown.trusted, earlierNote)
    if (earlier !== undefined) return { ...result, ...earlier }
  }
  const isPartial = from > 1 || to < shown.trusted.checkpoint.treeSize
  const finding =
    (await compareRoot(head, leaves, shown.trusted)) ?? (orders && compareOrders(orders, entries, isPartial))
  return { ...result, verdict: finding === undefined ? 'EQUAL' : 'DIFFERS', finding }
}

interface ReadFile {
  head: FileHead
  entries: LeafEntry[]
  leaves: string[]
}

/** undefined if a line cannot be read. A last line that was cut is left out: the file is then too short. */
async function readFile(lines: AsyncIterable<string> | Iterable<string>): Promise<ReadFile | undefined> {
  let read: ReadFile | undefined
  let isCut = false
  for await (const line of lines) {
    if (line === '') continue
    const value = isCut ? undefined : parse(line)
    if (read === undefined) {
      if (!isHead(value)) return undefined
      read = { head: value, entries: [], leaves: [] }
    } else if (isLine(value)) {
      read.entries.push(value.entry)
      read.leaves.push(value.leaf)
    } else if (isCut || value !== undefined) return undefined
    else isCut = true
  }
  return read
}

function parse(line: string): unknown {
  try {
    return JSON.parse(line)
  } catch {
    return undefined
  }
}

function isHead(value: unknown): value is FileHead {
  const head = value as (FileHead & { format: string }) | undefined
  return (
    head?.format === FORMAT &&
    typeof head.note === 'string' &&
    [head.keys, head.restores, head.proofs].every(Array.isArray) &&
    [head.from, head.to].every(Number.isSafeInteger) &&
    head.from >= 1 &&
    head.to >= head.from - 1
  )
}

function isLine(value: unknown): value is { leaf: string; entry: LeafEntry } {
  const { leaf, entry } = (value ?? {}) as { leaf?: unknown; entry?: LeafEntry }
  if (typeof leaf !== 'string' || typeof entry !== 'object' || entry === null) return false
  return [entry.amount, entry.balanceAfter].every(Number.isSafeInteger) && typeof entry.entryNo === 'string'
}

/** Hashes computed at a time: Web Crypto hashes in another thread. */
const HASHED_TOGETHER = 512

/** The first entry that is not the one that was hashed when it was new. */
async function compareLeaves(
  entries: readonly LeafEntry[],
  leaves: readonly string[],
  from: number,
): Promise<Finding | undefined> {
  for (let start = 0; start < entries.length; start += HASHED_TOGETHER) {
    const part = entries.slice(start, start + HASHED_TOGETHER)
    const hashes = await Promise.all(part.map(async (entry) => toBase64(await leafHash(leafTextOf(entry)))))
    const differing = hashes.findIndex((hash, index) => hash !== leaves[start + index])
    if (differing >= 0) return findingOf('changed', { entryNo: String(from + start + differing) })
  }
  return undefined
}

/** An entry without one of the members has a text that no hash of an entry fits. */
function leafTextOf(entry: LeafEntry): string {
  try {
    return leafText(entry)
  } catch {
    return ''
  }
}

async function compareRoot(
  { from, to, proofs }: FileHead,
  leaves: readonly string[],
  { checkpoint: { treeSize, rootHash } }: TrustedCheckpoint,
): Promise<Finding | undefined> {
  if (leaves.length > to - from + 1) return findingOf('unproven', { entryNo: String(to + 1) })
  if (leaves.length === 0) return undefined
  const root = await rootFrom(
    { start: from - 1, end: to },
    leaves.map(decodeHash),
    treeSize,
    outsideOf(proofs, treeSize),
  )
  if (root !== undefined && toBase64(root) === rootHash) return undefined
  return findingOf('otherRoot', { from, to, count: treeSize })
}

/** Compares the first entries with an earlier checkpoint; undefined if they are the same. */
async function compareEarlier(
  { head, leaves }: ReadFile,
  { checkpoint, pinnedKey }: TrustedCheckpoint,
  note: string,
): Promise<Pick<BooksResult, 'verdict' | 'finding'> | undefined> {
  const earlier = await verifyCheckpoint(note, await followEndorsements(pinnedKey, head.keys))
  const cannotTell = (...what: Parameters<typeof findingOf>) =>
    ({ verdict: 'CANNOT_TELL', finding: findingOf(...what) }) as const
  if (earlier === undefined) return cannotTell('earlierUntrusted')
  const { origin, treeSize, rootHash } = earlier
  if (origin !== checkpoint.origin) return cannotTell('earlierElsewhere', { origin })
  if (treeSize === 0) return undefined
  if (head.from > 1 || treeSize > leaves.length) return cannotTell('earlierLonger', { count: treeSize })
  const root = await rootFrom({ start: 0, end: treeSize }, leaves.map(decodeHash), treeSize, new Map())
  if (root !== undefined && toBase64(root) === rootHash) return undefined
  return { verdict: 'DIFFERS', finding: findingOf('earlierDiffers', { count: treeSize }) }
}

const HASH_BYTES = 32

function decodeHash(text: string): Hash | undefined {
  return fromBase64(text, HASH_BYTES)
}

/** The hashes of proofs, by the leaves below them. */
function outsideOf(proofs: readonly ProofAnswer[], treeSize: number): Map<string, Hash> {
  const outside = new Map<string, Hash>()
  for (const { leafIndex, hashes } of proofs) {
    if (!Number.isSafeInteger(leafIndex) || leafIndex < 0 || leafIndex >= treeSize) continue
    for (const [index, range] of inclusionRanges(leafIndex, treeSize).entries()) {
      const hash = decodeHash(hashes[index] ?? '')
      if (hash !== undefined) outside.set(keyOf(range), hash)
    }
  }
  return outside
}

function keyOf({ start, end }: LeafRange): string {
  return `${start}-${end}`
}

/** The root of a tree of which these leaves are known; undefined if a hash outside of them is missing. */
async function rootFrom(
  known: LeafRange,
  leaves: readonly (Hash | undefined)[],
  treeSize: number,
  outside: ReadonlyMap<string, Hash>,
): Promise<Hash | undefined> {
  async function hashOf(range: LeafRange): Promise<Hash | undefined> {
    const { start, end } = range
    if (end <= known.start || start >= known.end) return outside.get(keyOf(range))
    if (end - start === 1) return leaves[start - known.start]
    const middle = start + splitOf(end - start)
    const left = await hashOf({ start, end: middle })
    const right = await hashOf({ start: middle, end })
    return left && right && nodeHash(left, right)
  }
  return known.end > treeSize ? undefined : hashOf({ start: 0, end: treeSize })
}
