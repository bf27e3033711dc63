import { describe, expect, it } from 'vitest'
import { mergePackage } from './merge-packages.ts'

const DAILY = {
  packageCode: 'JP_DAILY',
  name: 'Japan, daily',
  dataType: 'DAILY',
  duration: 10,
  locationCodes: ['JP'],
  suppliers: [{ supplier: 'sandbox', productCode: 'x' }],
}

describe('a DAILY package', () => {
  it('cannot have a total volume that is too large for an eSIM to report', () => {
    const volumeMax = Math.floor(Number.MAX_SAFE_INTEGER / DAILY.duration)
    expect(mergePackage(undefined, { ...DAILY, volume: volumeMax })).toHaveProperty('document')
    expect(mergePackage(undefined, { ...DAILY, volume: volumeMax + 1 })).toMatchObject({
      faults: [{ field: 'volume' }],
    })
  })
})

describe('a day pass', () => {
  const PASS = { ...DAILY, duration: 1, volume: 1_024, periodNumMin: 1, periodNumMax: 30 }
  const fieldsOf = (members: object) => {
    const merged = mergePackage(undefined, { ...PASS, ...members })
    return 'faults' in merged ? merged.faults.map(({ field }) => field) : []
  }

  it('must have both limits in ascending order, be DAILY, and last one day', () => {
    expect(fieldsOf({})).toEqual([])
    expect(fieldsOf({ periodNumMax: undefined })).toEqual(['periodNumMax'])
    expect(fieldsOf({ periodNumMin: null })).toEqual(['periodNumMin'])
    expect(fieldsOf({ periodNumMin: 31 })).toEqual(['periodNumMax'])
    expect(fieldsOf({ periodNumMax: 366 })).toEqual(['periodNumMax'])
    expect(fieldsOf({ dataType: 'TOTAL' })).toEqual(['dataType'])
    expect(fieldsOf({ duration: 2 })).toEqual(['duration'])
  })

  it('cannot have a maximum total volume that is too large for an eSIM to report', () => {
    const volumeMax = Math.floor(Number.MAX_SAFE_INTEGER / 30)
    expect(fieldsOf({ volume: volumeMax })).toEqual([])
    expect(fieldsOf({ volume: volumeMax + 1 })).toEqual(['volume'])
  })
})

describe('a cancel policy', () => {
  const given = (cancelPolicy: unknown, packageType = 'BASE') =>
    mergePackage(undefined, { ...DAILY, volume: 1, packageType, cancelPolicy })

  it('keeps members that a change leaves out, and clears those set to null', () => {
    const merged = given({ cancellable: true, withinDays: 14 })
    expect(merged).toMatchObject({ document: { cancelPolicy: { cancellable: true, withinDays: 14, feePercent: 0 } } })
    const { document } = merged as Extract<typeof merged, { document: unknown }>
    expect(mergePackage(document, { cancelPolicy: { withinDays: null, feePercent: 10 } })).toMatchObject({
      document: { cancelPolicy: { cancellable: true, withinDays: null, feePercent: 10 } },
    })
  })

  it.each([{ feePercent: 101 }, { withinDays: 0 }, { feePercent: 1.5 }, { cancellable: 'yes' }])(
    'is refused if a value is out of range (%j)',
    (policy) => expect(given(policy)).toHaveProperty('faults'),
  )

  it('does not apply to a top-up', () => {
    expect(given({ cancellable: true }, 'TOPUP')).toMatchObject({ faults: [{ field: 'cancelPolicy.cancellable' }] })
  })
})

it('the type of a package cannot be changed', () => {
  const made = mergePackage(undefined, { ...DAILY, volume: 1 })
  const { document } = made as Extract<typeof made, { document: unknown }>
  expect(mergePackage(document, { packageType: 'TOPUP' })).toMatchObject({ faults: [{ field: 'packageType' }] })
})
