import { readVolume, volumeText } from '@dealer-esim/contract'
import { expect, test } from 'vitest'
import { coverageOf } from '../coverage.ts'
import { mergePackage } from '../packages/merge-packages.ts'
import { isPackageDocument } from '../packages/package-document.ts'
import { demoPackages, sandboxPackages } from './demo-packages.ts'

const demo = demoPackages()
const all = [...demo, ...sandboxPackages()]

test('every demo package passes validation unchanged', () => {
  for (const item of all) {
    expect(isPackageDocument.Check(item), item.packageCode).toBe(true)
    expect(mergePackage(undefined, item)).toEqual({ document: item })
  }
})

test('the demo catalogue covers 100 countries, regions and the world, with every data type and two currencies', () => {
  expect(demo.length).toBeGreaterThanOrEqual(200)
  const single = demo.filter((item) => item.locationCodes.length === 1)
  expect(new Set(single.flatMap((item) => item.locationCodes)).size).toBeGreaterThanOrEqual(100)
  for (const wide of ['!RG', '!GL']) expect(demo.some((item) => item.locationCodes.includes(wide))).toBe(true)
  expect(new Set(demo.map((item) => item.dataType))).toEqual(new Set(['TOTAL', 'DAILY', 'UNLIMITED']))
  expect(demo.every((item) => item.prices.some((price) => price.currencyCode === 'USD'))).toBe(true)
  expect(demo.filter((item) => item.prices.some((price) => price.currencyCode === 'EUR')).length).toBeGreaterThan(100)
})

test('demo packages have unique codes and slugs, list operators for every country, and never sell below cost', () => {
  expect(new Set(all.map((item) => item.packageCode)).size).toBe(all.length)
  expect(new Set(all.map((item) => item.slug)).size).toBe(all.length)
  for (const item of demo) {
    expect(coverageOf(item.locationCodes, item.locationNetworkList).locations.size).toBeGreaterThan(0)
    for (const network of item.locationNetworkList) expect(network.operatorList.length).toBeGreaterThan(0)
    const usd = item.prices.find((price) => price.currencyCode === 'USD')!
    expect(item.suppliers[0]!.costPrice).toBeLessThan(usd.price)
    expect(usd.price).toBeLessThan(usd.retailPrice!)
  }
})

test('the demo package JP_1_7 matches the documentation', () => {
  expect(demo.find((item) => item.packageCode === 'JP_1_7')).toMatchObject({
    name: 'Japan, 1 GB, 7 days',
    slug: 'japan-1-gb-7-days',
    volume: 1_073_741_824,
    duration: 7,
    prices: [{ currencyCode: 'USD', price: 45_000, retailPrice: 74_900 }],
  })
})

test('the number in a package name matches the volume shown on pages', () => {
  const named = all.filter((item) => item.volume !== null && /\d [KMG]B/.test(item.name))
  expect(named.length).toBeGreaterThan(100)
  const differing = named.filter((item) => /[\d.]+ [KMG]B/.exec(item.name)![0] !== volumeText(readVolume(item.volume!)))
  expect(differing.map(({ name, volume }) => ({ name, volume }))).toEqual([])
})

test('every call returns the same demo packages', () => {
  expect(demoPackages()).toEqual(demo)
})

test('every base package has a top-up with the same coverage and data type', () => {
  const fits = (base: (typeof all)[number], topUp: (typeof all)[number]) =>
    topUp.packageType === 'TOPUP' &&
    topUp.dataType === base.dataType &&
    String(topUp.locationCodes) === String(base.locationCodes)
  for (const base of all.filter((item) => item.packageType === 'BASE')) {
    expect(
      all.some((topUp) => fits(base, topUp)),
      base.packageCode,
    ).toBe(true)
  }
})

test('every base package can be cancelled, except the one that demonstrates a refusal', () => {
  expect(demo.find((item) => item.packageCode === 'JP_DAY')).toMatchObject({
    ...{ dataType: 'DAILY', duration: 1, periodNumMin: 1, periodNumMax: 30 },
  })
  const bases = all.filter((item) => item.packageType === 'BASE')
  const fixed = bases.filter((item) => !item.cancelPolicy.cancellable).map((item) => item.packageCode)
  expect(fixed).toEqual(['SANDBOX_NOT_CANCELLABLE'])
  expect(all.filter((item) => item.packageType === 'TOPUP' && item.cancelPolicy.cancellable)).toEqual([])
})
