/*
 * Which hashes a proof consists of: the Merkle tree of RFC 9162 section 2.1 as arithmetic, without hashes. Leaves are
 * numbered from 0; leaf n is the entry with entryNo n + 1. Numbers are safe integers, so no bit operators.
 */

/** The leaves from `start` to `end` - 1. */
export interface LeafRange {
  start: number
  end: number
}

/** The 2^height leaves from position × 2^height on. Example: height 2, position 1 is the leaves 4 to 7. */
export interface Subtree {
  height: number
  position: number
}

/** The leaves below each hash of an inclusion proof, the lowest first: PATH(index, D_size) of §2.1.3.1. */
export function inclusionRanges(index: number, size: number): LeafRange[] {
  return pathFrom(index, { start: 0, end: size })
}

function pathFrom(index: number, { start, end }: LeafRange): LeafRange[] {
  if (end - start === 1) return []
  const middle = start + splitOf(end - start)
  return index < middle
    ? [...pathFrom(index, { start, end: middle }), { start: middle, end }]
    : [...pathFrom(index, { start: middle, end }), { start, end: middle }]
}

/** The leaves below each hash of a consistency proof: PROOF(from, D_to) of §2.1.4.1. Empty for equal sizes. */
export function consistencyRanges(from: number, to: number): LeafRange[] {
  return subproof(from, { start: 0, end: to }, true)
}

/** SUBPROOF. `isKnown`: the range begins at leaf 0, so the verifier knows its hash as the older root. */
function subproof(from: number, range: LeafRange, isKnown: boolean): LeafRange[] {
  const { start, end } = range
  if (from === end) return isKnown ? [] : [range]
  const middle = start + splitOf(end - start)
  return from <= middle
    ? [...subproof(from, { start, end: middle }, isKnown), { start: middle, end }]
    : [...subproof(from, { start: middle, end }, false), { start, end: middle }]
}

/** The largest power of two below `size`, which is at least 2. Example: 4 for 5 to 8. */
export function splitOf(size: number): number {
  let split = 1
  while (split * 2 < size) split *= 2
  return split
}

/**
 * The complete subtrees that a range consists of, the largest first. Example: the leaves 0 to 6 are subtrees of 4, 2 and 1
 * leaves. The range is one of the tree: its start is a multiple of the first subtree's size.
 */
export function subtreesOf({ start, end }: LeafRange): Subtree[] {
  const subtrees: Subtree[] = []
  let [height, leaves] = [0, 1]
  for (; leaves * 2 <= end - start; leaves *= 2) height += 1
  for (let at = start; at < end; leaves /= 2, height -= 1) {
    if (at + leaves > end) continue
    subtrees.push({ height, position: at / leaves })
    at += leaves
  }
  return subtrees
}
