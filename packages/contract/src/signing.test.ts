import { describe, expect, test } from 'vitest'
import vectors from '../../../test/vectors/signing.json' with { type: 'json' }
import * as onWeb from './signing.ts'
import * as onNode from './signing-node.ts'

const implementations = [
  ['Web Crypto', onWeb],
  ['node:crypto', onNode],
] as const

describe.each(implementations)('requests signed on %s', (_, { signRequest, verifyRequest }) => {
  test.each(vectors.requests)('$name has the signature of the vector', async (vector) => {
    expect(await signRequest(vector.appSecret, vector, vector.body)).toBe(vector.signature)
    expect(await verifyRequest([vector.appSecret], vector, vector.body)).toBe(vector.appSecret)
  })
})
