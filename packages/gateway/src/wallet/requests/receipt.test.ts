import { describe, expect, it } from 'vitest'
import { parseReceipt, RECEIPT_SIZE_MAX_BYTES } from './receipt.ts'

const PDF = Buffer.from('%PDF-1.7 paid')
const CPU_MAX_MS = 1_000

describe('a receipt', () => {
  it('is accepted with and without padding', () => {
    const padded = PDF.toString('base64')
    expect(padded).toMatch(/==$/)
    for (const content of [padded, padded.slice(0, -2)])
      expect(parseReceipt({ fileName: 'paid.pdf', content })).toMatchObject({ fileName: 'paid.pdf', content: PDF })
  })

  it.each([
    ['padding in the middle', `${'='.repeat(5_000_000)}A`],
    ['too much padding', `${PDF.toString('base64')}${'='.repeat(5_000_000)}`],
    ['other characters', '\u2026'.repeat(5_000_000)],
  ])('with %s is refused within a second of processor time', (_, content) => {
    const before = process.cpuUsage()
    expect(() => parseReceipt({ fileName: 'paid.pdf', content })).toThrow('is not valid Base64')
    const { user, system } = process.cpuUsage(before)
    expect((user + system) / 1000).toBeLessThan(CPU_MAX_MS)
  })

  it('is refused before decoding if it is larger than 4 MB', () => {
    const atLimit = Buffer.concat([PDF, Buffer.alloc(RECEIPT_SIZE_MAX_BYTES - PDF.length)])
    const parse = (bytes: Buffer) => parseReceipt({ fileName: 'paid.pdf', content: bytes.toString('base64') })
    expect(parse(atLimit).content).toHaveLength(RECEIPT_SIZE_MAX_BYTES)
    expect(() => parse(Buffer.concat([atLimit, Buffer.alloc(1)]))).toThrow('larger than 4 MB')
    expect(() => parseReceipt({ fileName: 'paid.pdf', content: '='.repeat(9_000_000) })).toThrow('larger than 4 MB')
  })
})
