import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readPartOf, readVolume, volumeText } from './volume.ts'

describe('a volume', () => {
  it.each([
    [5_000_000_000, '5 GB'],
    [5 * 2 ** 30, '5 GB'],
    [100_000_000, '100 MB'],
    [512 * 2 ** 20, '512 MB'],
    [1536 * 2 ** 20, '1.5 GB'],
    [1280 * 2 ** 20, '1280 MB'],
    [300_000, '300 KB'],
    [999, '999 B'],
    [0, '0 B'],
    [2 ** 53 - 1, '9007.2 TB'],
  ])('of %d bytes is shown as %s', (bytes, text) => {
    expect(volumeText(readVolume(bytes))).toBe(text)
    expect(volumeText(readVolume(BigInt(bytes)))).toBe(text)
  })

  it.each([
    [4_660_000_000, 5_000_000_000, '4.7 GB'],
    [4.5 * 2 ** 30, 5 * 2 ** 30, '4.5 GB'],
    [700_123_456, 1_000_000_000, '700.1 MB'],
    [0, 5_000_000_000, '0 GB'],
    [1_234_567, null, '1.2 MB'],
  ])('with %d of %d bytes used shows the usage in the total’s kind of units: %s', (used, total, text) => {
    expect(volumeText(readPartOf(total, used))).toBe(text)
  })

  it('that is a whole number of decimal or binary units is shown as that number', () => {
    const units = [10 ** 6, 10 ** 9, 2 ** 20, 2 ** 30]
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 999 }), fc.constantFrom(...units), (count, size) => {
        const { value, unit } = readVolume(count * size)
        expect({ value, unit }).toEqual({ value: count, unit: size >= 10 ** 9 ? 'GB' : 'MB' })
      }),
    )
  })
})
