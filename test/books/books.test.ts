import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import {
  checkpointText,
  consistencyRanges,
  inclusionRanges,
  type LeafEntry,
  type LeafRange,
  leafText,
} from '@dealer-esim/contract'
import { createSigningKey } from '@dealer-esim/contract/signing-key'
import { leafHash, RootBuilder } from '@dealer-esim/contract/tree'
import { canRun } from '@dealer-esim/gateway/test/harness/can-run.ts'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import vectors from '../vectors/books.json' with { type: 'json' }

/*
 * verify_books.py knows only the RFCs. What it accepts and refuses here is what a dealer's own program would.
 */
const SCRIPT = fileURLToPath(new URL('verify_books.py', import.meta.url))

/** What does not hold, one line each. */
function faultsOf(books: object): string[] {
  const { stdout, stderr, status } = spawnSync('python3', ['-B', SCRIPT], {
    input: JSON.stringify(books),
    encoding: 'utf8',
  })
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  return stdout.split('\n').slice(0, -1)
}

describe.skipIf(!canRun('the verifier in Python', 'python3'))(
  'an independent verifier, from the text of the RFCs',
  () => {
    test('finds nothing wrong in the test vectors', () => {
      expect(faultsOf(vectors)).toEqual([])
    })

    test('accepts the proofs and checkpoints of random trees, and refuses each with one altered bit', () => {
      fc.assert(
        fc.property(fc.integer({ min: 1, max: 140 }), fc.gen(), (size, generate) => {
          const randomInt: RandomInt = (below) => generate(fc.nat, { max: below - 1 })
          const books = randomBooks(size, randomInt)
          expect(faultsOf(books)).toEqual([])
          const altered = alterEach(books, randomInt)
          const expected = Object.values(altered).reduce((count, items) => count + items.length, 0)
          expect(faultsOf(altered)).toHaveLength(expected)
        }),
        // Each run starts Python twice, so a failure is not shrunk.
        { numRuns: 4, endOnFailure: true },
      )
    })
  },
)

/** A number from 0 to `below` - 1. */
type RandomInt = (below: number) => number

function randomBooks(size: number, randomInt: RandomInt) {
  const entries = Array.from({ length: size }, (_, index) => randomEntry(index + 1, randomInt))
  const hashes = entries.map((entry) => leafHash(leafText(entry)))
  const rootOf = ({ start, end }: LeafRange) => {
    const builder = new RootBuilder()
    for (const hash of hashes.slice(start, end)) builder.append(hash)
    return builder.root().toString('base64')
  }
  const proofs = Array.from({ length: 30 }, () => {
    const treeSize = 1 + randomInt(size)
    const leafIndex = randomInt(treeSize)
    return { treeSize, leafIndex, hashes: inclusionRanges(leafIndex, treeSize).map(rootOf) }
  })
  const key = createSigningKey(Buffer.alloc(32, size))
  const origin = 'localhost/01a1fd8b-dc30-7373-b571-a5a73161e676'
  const createTime = '2026-11-20T13:28:09.000Z'
  const text = checkpointText({ origin, treeSize: size, rootHash: rootOf({ start: 0, end: size }), createTime })
  return {
    leaves: entries.map((entry, index) => ({ entry, hash: hashes[index]!.toString('base64') })),
    roots: proofs.map(({ treeSize }) => ({ treeSize, rootHash: rootOf({ start: 0, end: treeSize }) })),
    inclusion: proofs,
    consistency: proofs.map(({ treeSize: toSize, leafIndex }) => {
      const fromSize = leafIndex + 1
      return { fromSize, toSize, hashes: consistencyRanges(fromSize, toSize).map(rootOf) }
    }),
    notes: [
      {
        ...{ keyName: origin, genuine: true, treeSize: size, publicKey: key.publicKey.toString('base64') },
        note: `${text}\n${key.signatureOf(origin, text)}`,
      },
    ],
  }
}

const REFERENCES = [null, 'INV-1', '東京 – café 🗼', '"\\/\b\f\t<>&\u007f\u2028', 'é', 'e\u0301', '']

function randomEntry(entryNo: number, randomInt: RandomInt): LeafEntry {
  return {
    entryNo: String(entryNo),
    kind: (['ORDER', 'REFUND', 'WALLET_TOPUP'] as const)[randomInt(3)]!,
    amount: randomInt(2 ** 31) - 2 ** 30,
    balanceAfter: [0, Number.MAX_SAFE_INTEGER, -Number.MAX_SAFE_INTEGER, randomInt(2 ** 31)][randomInt(4)]!,
    currencyCode: 'USD',
    orderNo: randomInt(2) === 0 ? null : 'D7Q2M4K8N1',
    transactionId: randomInt(2) === 0 ? null : `T-${entryNo}`,
    esimTranNo: null,
    actionNo: null,
    reference: REFERENCES[randomInt(REFERENCES.length)]!,
    createTime: '2026-11-20T13:28:09.000Z',
  }
}

/** The same books with one bit altered in each leaf, root and proof, and a digit in each note. */
function alterEach({ leaves, roots, inclusion, consistency, notes }: Books, randomInt: RandomInt) {
  function altering(hash: string): string {
    const bytes = Buffer.from(hash, 'base64')
    bytes[randomInt(bytes.length)]! ^= 1 << randomInt(8)
    return bytes.toString('base64')
  }
  function alteringOne<Proof extends { hashes: string[] }>(proof: Proof): Proof {
    const index = randomInt(proof.hashes.length)
    return { ...proof, hashes: proof.hashes.with(index, altering(proof.hashes[index]!)) }
  }
  const hasHashes = ({ hashes }: { hashes: string[] }) => hashes.length > 0
  return {
    leaves: leaves.map((leaf) => ({ ...leaf, hash: altering(leaf.hash) })),
    roots: roots.map((root) => ({ ...root, rootHash: altering(root.rootHash) })),
    inclusion: inclusion.filter(hasHashes).map(alteringOne),
    consistency: consistency.filter(hasHashes).map(alteringOne),
    notes: notes.map((each) => ({ ...each, note: each.note.replace('\ntime 2', '\ntime 3') })),
  }
}

type Books = ReturnType<typeof randomBooks>
