import { expect, it } from 'vitest'
import { describeEsimGo } from './esim-go/esim-go.ts'
import { createCatalogue, type Product } from './simulated-catalogue.ts'

it('a catalogue of 5 000 packages covers 200 countries, with distinct codes and slugs and prices above zero', () => {
  // eSIM Go names a package by coverage, volume and days alone.
  const products = createCatalogue({ size: 5_000, ...describeEsimGo() })
  const different = (property: (product: Product) => unknown) => new Set(products.map(property)).size
  expect([different(({ code }) => code), different(({ slug }) => slug)]).toEqual([5_000, 5_000])
  expect(different(({ coverage }) => coverage.code)).toBeGreaterThan(200)
  expect(products.every(({ price }) => price > 0 && price % 100 === 0)).toBe(true)
})

it('more volume costs more for the same place and duration', () => {
  const products = createCatalogue({ size: 5_000, ...describeEsimGo() })
  const find = (volume: number) =>
    products.filter(({ coverage, days, volume: bytes }) => coverage.code === 'FR' && days === 7 && bytes === volume)
  const prices = [1, 20].map((gigabytes) => find(gigabytes * 1_000_000_000)[0]?.price ?? 0)
  expect(prices[0]).toBeGreaterThan(0)
  expect(prices[1]).toBeGreaterThan(prices[0]!)
})

it('each package is followed by its top-up if top-ups are separate packages', () => {
  const products = createCatalogue({ size: 3, codeOf: ({ serial, kind }) => `${kind}${serial}` })
  expect(products.map(({ code }) => code)).toEqual(['eSIM0', 'topUp0', 'eSIM1', 'topUp1', 'eSIM2', 'topUp2'])
})
