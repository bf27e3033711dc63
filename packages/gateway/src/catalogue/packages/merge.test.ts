import { describe, expect, it } from 'vitest'
import { mergePackage } from './merge.ts'

const DAILY = {
  packageCode: 'JP_DAILY',
  name: 'Japan, daily',
  dataType: 'DAILY',
  duration: 10,
  locationCodes: ['JP'],
  suppliers: [{ supplier: 'sandbox', productCode: 'x' }],
}

describe('a DAILY package', () => {
  it('has at most as many bytes over its duration as an eSIM can report', () => {
    const volumeMax = Math.floor(Number.MAX_SAFE_INTEGER / DAILY.duration)
    expect(mergePackage(undefined, { ...DAILY, volume: volumeMax })).toHaveProperty('document')
    expect(mergePackage(undefined, { ...DAILY, volume: volumeMax + 1 })).toMatchObject({
      faults: [{ field: 'volume' }],
    })
  })
})
