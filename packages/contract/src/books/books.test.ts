import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { fromBase64, toBase64 } from '#base64.ts'
import vectors from '../../../../test/vectors/books.json' with { type: 'json' }
import { verifyCheckpoint } from './checkpoint.ts'
import { compareOrders, parseOwnOrders } from './compare-entries.ts'
import { EMPTY_ROOT, leafHash, nodeHash, RootBuilder, rangeHash } from './hashed-tree.ts'
import {
  type EndorsedKey,
  endorsementText,
  findFirstKey,
  followEndorsements,
  KEYS_NAME,
  verifyRestore,
} from './key-notes.ts'
import { leafText } from './leaf.ts'
import { isSignedBy, parseNote } from './signed-note.ts'
import { createSigningKey } from './signing-key.ts'
import { consistencyRanges, inclusionRanges, type LeafRange, subtreesOf } from './tree-ranges.ts'
import { verifyConsistency, verifyInclusion } from './verify-proof.ts'

const leaves = vectors.leaves.map(({ hash }) => Buffer.from(hash, 'base64'))
const entryOf = (index: number) => vectors.leaves[index]!.entry as Parameters<typeof leafText>[0]
const headOf = (size: number) => vectors.roots.find(({ treeSize }) => treeSize === size)!

function rootOf(hashes: readonly Buffer[]): Buffer {
  const builder = new RootBuilder()
  for (const hash of hashes) builder.append(hash)
  return builder.root()
}

const hashesOf = (ranges: LeafRange[], hashes: readonly Buffer[]) =>
  ranges.map(({ start, end }) => toBase64(rootOf(hashes.slice(start, end))))

describe('the tree', () => {
  test('has the roots of the reference implementation of Certificate Transparency', () => {
    // Its test inputs, as hexadecimal, and the root after each.
    const inputs = ['', '00', '10', '2021', '3031', '40414243', '5051525354555657', '606162636465666768696a6b6c6d6e6f']
    const builder = new RootBuilder()
    const roots = inputs.map((input) => {
      builder.append(leafHash(Buffer.from(input, 'hex').toString('latin1')))
      return builder.root().toString('hex')
    })
    expect(EMPTY_ROOT.toString('hex')).toBe('e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855')
    expect(roots[0]).toBe('6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d')
    expect(roots[2]).toBe('aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77')
    expect(roots[6]).toBe('ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c')
    expect(roots[7]).toBe('5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328')
  })

  test.each(vectors.leaves)('writes the leaf of entry $entry.entryNo as the vector does', ({ entry, text, hash }) => {
    const shuffled = Object.fromEntries(Object.entries({ ...entry, keyLabel: 'shop' }).reverse())
    expect(leafText(shuffled as never)).toBe(text)
    expect(leafHash(text).toString('base64')).toBe(hash)
  })

  test('refuses an entry that lacks a member instead of hashing something else', () => {
    const { reference, ...entry } = entryOf(0)
    expect(() => leafText(entry as never)).toThrow('The entry has no reference')
  })

  test.each(vectors.roots)('has the root of the vector at size $treeSize', ({ treeSize, rootHash }) => {
    expect(toBase64(rootOf(leaves.slice(0, treeSize)))).toBe(rootHash)
  })

  test('hashes any range of a proof from its complete subtrees', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 300 }), fc.nat(), (size, seed) => {
        const hashes = Array.from({ length: size }, (_, index) => leafHash(`${seed} ${index}`))
        const index = seed % size
        for (const range of [...inclusionRanges(index, size), ...consistencyRanges(index + 1, size)]) {
          const hashOf = ({ height, position }: { height: number; position: number }) =>
            rootOf(hashes.slice(position * 2 ** height, (position + 1) * 2 ** height))
          expect(rangeHash(range, hashOf)).toEqual(rootOf(hashes.slice(range.start, range.end)))
        }
      }),
      { numRuns: 50 },
    )
  })

  test('finds the hashes of a proof by arithmetic at any size', () => {
    const size = Number.MAX_SAFE_INTEGER
    expect(inclusionRanges(size - 1, size).length).toBeLessThanOrEqual(53)
    expect(consistencyRanges(2 ** 52 + 1, size).length).toBeLessThanOrEqual(54)
    expect(subtreesOf({ start: 0, end: size })).toHaveLength(53)
  })
})

describe('verifyInclusion', () => {
  test.each(vectors.inclusion)('accepts the vector of leaf $leafIndex in size $treeSize', async (proof) => {
    expect(hashesOf(inclusionRanges(proof.leafIndex, proof.treeSize), leaves)).toEqual(proof.hashes)
    expect(await verifyInclusion(entryOf(proof.leafIndex), proof, headOf(proof.treeSize))).toBe(true)
  })

  test('accepts every proof of every tree up to 9 entries, and no other entry, index or size', async () => {
    const entries = Array.from({ length: 9 }, (_, index) => ({ ...entryOf(1), entryNo: String(index + 1) }))
    const hashes = entries.map((entry) => leafHash(leafText(entry)))
    for (let size = 1; size <= entries.length; size++) {
      const head = { treeSize: size, rootHash: toBase64(rootOf(hashes.slice(0, size))) }
      for (let leafIndex = 0; leafIndex < size; leafIndex++) {
        const proof = { leafIndex, treeSize: size, hashes: hashesOf(inclusionRanges(leafIndex, size), hashes) }
        expect(await verifyInclusion(entries[leafIndex]!, proof, head)).toBe(true)
        const other = (leafIndex + 1) % entries.length
        expect(await verifyInclusion(entries[other]!, { ...proof, leafIndex: other }, head)).toBe(false)
        expect(await verifyInclusion(entries[leafIndex]!, { ...proof, treeSize: size + 1 }, head)).toBe(false)
      }
    }
  })

  test('refuses a proof in which any one bit is altered, shortened or prolonged', async () => {
    const proof = vectors.inclusion[2]!
    const head = headOf(8)
    for (const hashes of alterations(proof.hashes))
      expect(await verifyInclusion(entryOf(5), { ...proof, hashes }, head)).toBe(false)
    for (const rootHash of [headOf(7).rootHash, '', head.rootHash.slice(0, -1)])
      expect(await verifyInclusion(entryOf(5), proof, { treeSize: 8, rootHash })).toBe(false)
    for (const change of [
      { amount: -2 },
      { balanceAfter: 1 },
      { reference: null },
      { createTime: '2026-11-20T13:28:06.001Z' },
    ])
      expect(await verifyInclusion({ ...entryOf(5), ...change }, proof, head)).toBe(false)
  })
})

describe('verifyConsistency', () => {
  test.each(vectors.consistency)('accepts the vector of the sizes $fromSize and $toSize', async (proof) => {
    expect(hashesOf(consistencyRanges(proof.fromSize, proof.toSize), leaves)).toEqual(proof.hashes)
    expect(await verifyConsistency(headOf(proof.fromSize), headOf(proof.toSize), proof)).toBe(true)
  })

  test('accepts every pair of sizes up to 9, and no tree with another entry', async () => {
    const hashes = Array.from({ length: 9 }, (_, index) => leafHash(`leaf ${index}`))
    const headAt = (treeSize: number, of = hashes) => ({ treeSize, rootHash: toBase64(rootOf(of.slice(0, treeSize))) })
    for (let to = 1; to <= 9; to++) {
      for (let from = 1; from <= to; from++) {
        const proof = { hashes: hashesOf(consistencyRanges(from, to), hashes) }
        expect(await verifyConsistency(headAt(from), headAt(to), proof)).toBe(true)
        const changed = hashes.with(to % from, leafHash('changed'))
        expect(await verifyConsistency(headAt(from, changed), headAt(to), proof)).toBe(false)
        if (from < to) expect(await verifyConsistency(headAt(from + 1), headAt(to), proof)).toBe(false)
      }
    }
  })

  test('refuses a proof in which any one bit is altered, shortened or prolonged', async () => {
    const proof = vectors.consistency[3]!
    for (const hashes of alterations(proof.hashes))
      expect(await verifyConsistency(headOf(3), headOf(7), { hashes })).toBe(false)
    expect(await verifyConsistency(headOf(0), headOf(7), { hashes: [] })).toBe(false)
    expect(await verifyConsistency(headOf(7), headOf(3), proof)).toBe(false)
  })
})

describe('a note', () => {
  test.each(vectors.notes)('is judged as the vector says: $name', async ({ note, keyName, publicKey, genuine }) => {
    expect(await isSignedBy(parseNote(note)!, keyName, publicKey)).toBe(genuine)
  })

  test('has the same bytes when it is signed again', () => {
    const [{ seed, publicKey } = { seed: '', publicKey: '' }] = vectors.keys
    const key = createSigningKey(Buffer.from(seed, 'base64'))
    expect(key.publicKey.toString('base64')).toBe(publicKey)
    const { note, keyName } = vectors.notes[0]!
    const text = note.slice(0, note.indexOf('\n\n') + 1)
    expect(`${text}\n${key.signatureOf(keyName, text)}`).toBe(note)
  })

  test('yields its checkpoint, and none once any character is altered', async () => {
    const { note, publicKey, keyName } = vectors.notes[0]!
    expect(await verifyCheckpoint(note, [vectors.keys[1]!.publicKey, publicKey])).toEqual({
      ...headOf(8),
      ...{ origin: keyName, createTime: '2026-11-20T14:00:00.000Z', publicKey },
    })
    for (let i = 0; i < note.length; i++) {
      const altered = `${note.slice(0, i)}${String.fromCharCode(note.charCodeAt(i) ^ 1)}${note.slice(i + 1)}`
      expect(await verifyCheckpoint(altered, [publicKey])).toBeUndefined()
    }
  })

  test.each([
    ['no signature', (note: string) => note.slice(0, note.indexOf('\n\n') + 2)],
    ['no final newline', (note: string) => note.slice(0, -1)],
    ['a carriage return', (note: string) => note.replace('\n8\n', '\r\n8\n')],
    ['a name with a space', (note: string) => note.replace('— ', '— a ')],
    ['text', () => 'text'],
    ['too many signatures', (note: string) => note + note.slice(note.indexOf('—')).repeat(256)],
  ])('with %s is malformed', (_, change) => {
    expect(parseNote(change(vectors.notes[0]!.note))).toBeUndefined()
  })

  test('of a restore is read for its own tree only', async () => {
    const { note, publicKey } = vectors.notes.at(-1)!
    const origin = vectors.notes[0]!.keyName
    const expected = { treeSize: 5, time: '2026-12-02T08:00:00.000Z' }
    expect(await verifyRestore(note, origin, [publicKey])).toEqual(expected)
    expect(await verifyRestore(note, `${origin}0`, [publicKey])).toBeUndefined()
    expect(await verifyRestore(note, origin, [vectors.keys[0]!.publicKey])).toBeUndefined()
    expect(await verifyRestore(vectors.notes[0]!.note, origin, [publicKey])).toBeUndefined()
  })
})

describe('followEndorsements', () => {
  const [first, second] = vectors.keys as [(typeof vectors.keys)[0], (typeof vectors.keys)[1]]

  test('trusts a key that a trusted one endorses, in any order', async () => {
    expect(await followEndorsements(first.publicKey, [second, first])).toEqual([first.publicKey, second.publicKey])
  })

  test('trusts a key that each of forty keys of other cells endorses', async () => {
    const cells = String.fromCharCode(...Array.from({ length: 40 }, (_, index) => 0x100 + index))
    const [key, first] = keysOf(`B<${cells}`, cells[0]!) as [EndorsedKey, EndorsedKey]
    expect(await followEndorsements(first.publicKey, [key])).toEqual([first.publicKey, key.publicKey])
  })

  test('trusts no key before it, without an endorsement, or with one for another time', async () => {
    expect(await followEndorsements(second.publicKey, [first, second])).toEqual([second.publicKey])
    expect(await followEndorsements(first.publicKey, [{ ...second, endorsement: null }])).toEqual([first.publicKey])
    const later = { ...second, validFrom: '2026-12-01T00:00:00.001Z' }
    expect(await followEndorsements(first.publicKey, [later])).toEqual([first.publicKey])
  })
})

describe('findFirstKey', () => {
  test.each([
    ['the oldest of one cell', ['A', 'B<A', 'C<B'], 'A'],
    ['one that a key of another cell endorses, which is not listed', ['B<X', 'C<B'], 'B'],
    ['that of the old cell of a moved dealer, though it is younger', ['B<C', 'C'], 'C'],
    ['the oldest, after a move there and back', ['A<B', 'B<A'], 'A'],
    ['the one from which more keys follow', ['A', 'B', 'C<B'], 'B'],
  ])('is %s', async (_, names, expected) => {
    const keys = keysOf(...names)
    const found = keys[names.findIndex((name) => name.startsWith(expected))]!.publicKey
    expect(await findFirstKey(keys)).toBe(found)
    expect(await findFirstKey(keys.toReversed())).toBe(found)
  })

  test('returns undefined without keys', async () => {
    expect(await findFirstKey([])).toBeUndefined()
  })
})

test('base64 has one text for each value', () => {
  fc.assert(fc.property(fc.uint8Array(), (bytes) => toBase64(fromBase64(toBase64(bytes))!) === toBase64(bytes)))
  for (const text of ['+/9=', '+/8', '-_8=', ' +/8=', '+/8=\n', 'A===', '===='])
    expect(fromBase64(text)).toBeUndefined()
  expect(fromBase64('+/8=', 3)).toBeUndefined()
})

test('a node is hashed from copies, so that its parts stay as they are', () => {
  const [left, right] = [leafHash('left'), leafHash('right')]
  const first = nodeHash(left, right)
  expect(nodeHash(right, left)).not.toEqual(first)
  expect(nodeHash(left, right)).toEqual(first)
})

/** The hashes with one bit altered, for each bit of the first and one of the others; without each one; and with one more. */
function* alterations(hashes: readonly string[]): Generator<string[]> {
  for (const [index, hash] of hashes.entries()) {
    for (let bit = 0; bit < (index === 0 ? 256 : 1); bit++) {
      const bytes = Buffer.from(hash, 'base64')
      bytes[bit >> 3]! ^= 1 << (bit & 7)
      yield [...hashes].with(index, bytes.toString('base64'))
    }
    yield [...hashes].toSpliced(index, 1)
    yield [...hashes].toSpliced(index, 0, hash)
  }
  yield [...hashes, EMPTY_ROOT.toString('base64')]
}

/** Keys by their letter, such as `['A', 'B<A']`: the key B, a day younger, is endorsed by A. */
function keysOf(...names: string[]): EndorsedKey[] {
  const keyOf = (letter: string) => createSigningKey(Buffer.alloc(32, letter))
  return names.map((name, day) => {
    const [letter = '', ...endorsers] = name
    const [publicKey, validFrom] = [keyOf(letter).publicKey.toString('base64'), `2026-12-0${day + 1}T00:00:00.000Z`]
    const text = endorsementText(publicKey, validFrom)
    const lines = endorsers.slice(1).map((endorser) => keyOf(endorser).signatureOf(KEYS_NAME, text))
    return { publicKey, validFrom, endorsement: lines.length === 0 ? null : `${text}\n${lines.join('')}` }
  })
}

describe('a list of orders', () => {
  const [order] = vectors.leaves.map((_, index) => entryOf(index)).filter(({ kind }) => kind === 'ORDER')
  const own = [{ transactionId: order!.transactionId!, amount: -order!.amount, line: 2 }]

  test('may have an order that no checkpoint covers yet, with its amount', () => {
    expect(compareOrders(own, [], false)).toMatchObject({ id: 'notInLedger' })
    expect(compareOrders(own, [], false, [order!])).toBeUndefined()
    expect(compareOrders([{ ...own[0]!, amount: 1 }], [], false, [order!])).toMatchObject({ id: 'otherAmount' })
  })

  test('need not have it', () => {
    expect(compareOrders([], [], false, [order!])).toBeUndefined()
    expect(compareOrders([], [order!], false)).toMatchObject({ id: 'notInList' })
  })

  test('that has an order twice is refused, and both lines are named', () => {
    const twice = [...own, { ...own[0]!, line: 7 }]
    const finding = { id: 'twiceInList', values: { line: 7, first: 2 } }
    expect(compareOrders(twice, [order!], false)).toMatchObject(finding)
    expect(compareOrders(twice, [], true)).toMatchObject(finding)
    expect(compareOrders(twice, [], false, [order!])).toMatchObject(finding)
  })

  test('is read as spreadsheets write it, with commas, quotes and line breaks in quoted cells', () => {
    const text =
      '\ufeffamount,"a note, if any",transactionId\r\n4.50,"a, b",T-5\r\n\r\n45000, "two ""lines""\n, of it" ,"T-6"\r\n1.00,5",T-7'
    expect(parseOwnOrders(text, 'orders.csv')).toEqual([
      { transactionId: 'T-5', amount: 45_000, line: 2 },
      { transactionId: 'T-6', amount: 45_000, line: 4 },
      { transactionId: 'T-7', amount: 10_000, line: 6 },
    ])
  })

  test('is refused if a quote is never closed, or a column or a value is missing', () => {
    const read = (text: string) => () => parseOwnOrders(text, 'o.csv')
    expect(read('transactionId,amount\nT-1,1.00\n"T-2,1.00\nT-3,1.00')).toThrow('Line 3 of o.csv has a quotation mark')
    expect(read('transactionId,amount\n"T-1,"1.00"\n"T-2","2.00"')).toThrow('Line 2 of o.csv has a quotation mark')
    expect(read('transactionId,amount,note\nT-1,1.00,"5" sim"\nT-2,2.00,"x"')).toThrow('Line 2 of o.csv')
    expect(read('transactionId;amount\nT-1;1.00')).toThrow('needs a first line')
    expect(read('')).toThrow('needs a first line')
    expect(read('transactionId,amount\nT-1,')).toThrow('Line 2 of o.csv has no transactionId, or no amount')
  })
})
