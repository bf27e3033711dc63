import { fromBase64, toBase64 } from '#base64.ts'
import type { ConsistencyAnswer, ProofAnswer } from '#schemas/books.ts'
import { concatenate, utf8 } from '#signing/request-signing.ts'
import { type LeafEntry, leafText } from './leaf.ts'

/** What a proof is checked against. `verifyCheckpoint` returns it for a genuine note. */
export interface TreeHead {
  treeSize: number
  /** Base64. */
  rootHash: string
}

export type Hash = Uint8Array<ArrayBuffer>

/**
 * True if the checkpoint's tree contains the entry at its number (RFC 9162 §2.1.3.2). Pass the entry as `account/statement` returned
 * it and the answer of `ledger/proof`. Says nothing about the checkpoint itself: verify that first.
 */
export async function verifyInclusion(entry: LeafEntry, proof: ProofAnswer, checkpoint: TreeHead): Promise<boolean> {
  const { leafIndex, treeSize } = proof
  const hashes = decode(proof.hashes)
  if (hashes === undefined || treeSize !== checkpoint.treeSize || !isSize(treeSize)) return false
  if (!isSize(leafIndex) || leafIndex >= treeSize || entry.entryNo !== String(leafIndex + 1)) return false
  let place: Place = [leafIndex, treeSize - 1]
  let hash = await leafHash(leafText(entry))
  for (const sibling of hashes) {
    const [node, last] = place
    if (last === 0) return false
    if (isRight(node) || node === last) {
      hash = await nodeHash(sibling, hash)
      place = aboveLeftEdges(place)
    } else hash = await nodeHash(hash, sibling)
    place = above(place)
  }
  return place[1] === 0 && toBase64(hash) === checkpoint.rootHash
}

/**
 * True if the newer checkpoint's tree begins with all entries of the older one, unchanged (RFC 9162 §2.1.4.2). Pass the answer of
 * `ledger/consistency` from the older size to the newer one.
 */
export async function verifyConsistency(older: TreeHead, newer: TreeHead, proof: ConsistencyAnswer): Promise<boolean> {
  const hashes = decode(proof.hashes)
  const olderRoot = fromBase64(older.rootHash, HASH_BYTES)
  if (hashes === undefined || olderRoot === undefined || !isSize(older.treeSize) || !isSize(newer.treeSize))
    return false
  if (older.treeSize < 1 || older.treeSize > newer.treeSize) return false
  if (older.treeSize === newer.treeSize) return hashes.length === 0 && older.rootHash === newer.rootHash
  let place = aboveRightEdges([older.treeSize - 1, newer.treeSize - 1])
  // If the older tree is one complete subtree, the proof begins at its root.
  const [first, ...siblings] = place[0] === 0 ? [olderRoot, ...hashes] : hashes
  if (first === undefined) return false
  let [olderHash, newerHash] = [first, first]
  for (const sibling of siblings) {
    const [node, last] = place
    if (last === 0) return false
    if (isRight(node) || node === last) {
      olderHash = await nodeHash(sibling, olderHash)
      newerHash = await nodeHash(sibling, newerHash)
      place = aboveLeftEdges(place)
    } else newerHash = await nodeHash(newerHash, sibling)
    place = above(place)
  }
  return place[1] === 0 && toBase64(olderHash) === older.rootHash && toBase64(newerHash) === newer.rootHash
}

/** A node and the last node of its level, both numbered from the left: fn and sn of RFC 9162. */
type Place = readonly [node: number, last: number]

function above([node, last]: Place): Place {
  return [Math.floor(node / 2), Math.floor(last / 2)]
}

/** Skips the levels at which the node is the last one and has no sibling on its right. */
function aboveLeftEdges(place: Place): Place {
  let at = place
  while (!isRight(at[0]) && at[0] !== 0) at = above(at)
  return at
}

function aboveRightEdges(place: Place): Place {
  let at = place
  while (isRight(at[0])) at = above(at)
  return at
}

function isRight(node: number): boolean {
  return node % 2 === 1
}

function isSize(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0
}

const HASH_BYTES = 32
/** No tree of safe integers has a longer proof. */
const HASHES_MAX = 64

function decode(hashes: readonly string[]): Hash[] | undefined {
  if (!Array.isArray(hashes) || hashes.length > HASHES_MAX) return undefined
  const decoded = hashes.map((hash) => fromBase64(hash, HASH_BYTES))
  return decoded.every((hash) => hash !== undefined) ? decoded : undefined
}

export function leafHash(text: string): Promise<Hash> {
  return sha256(utf8(`\0${text}`))
}

export function nodeHash(left: Hash, right: Hash): Promise<Hash> {
  return sha256(concatenate('\x01', concatenate(left, right)))
}

async function sha256(bytes: Hash): Promise<Hash> {
  return new Uint8Array(await crypto.subtle.digest('SHA-256', bytes))
}
