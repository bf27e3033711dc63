import type { DeviceListRequest } from '@dealer-esim/contract'
import { expect, it } from 'vitest'
import { findDevice, getDevices, listDevices } from './devices.ts'

const list = (request: DeviceListRequest, tenantId = 'a') => listDevices(Buffer.alloc(32, 1), tenantId, request)

it('the table has a date and sources, and names each device once, by brand and newest first', () => {
  const { asOf, sources, devices } = getDevices()
  expect(asOf).toMatch(/^\d{4}-\d{2}-\d{2}$/)
  expect(sources.length).toBeGreaterThan(0)
  const names = devices.map(({ brand, model }) => `${brand} ${model}`)
  expect(new Set(names).size).toBe(names.length)
  const order = devices.map(({ brand, since = 0 }) => `${brand} ${9999 - since}`)
  expect(order).toEqual([...order].sort())
})

it('a list is filtered by maker and by words, in any case', () => {
  expect(list({ brand: 'google', keyword: 'PRO 8' }).deviceList).toEqual([
    { brand: 'Google', model: 'Pixel 8 Pro', since: 2023, note: null },
  ])
  expect(list({ brand: 'Nokia' })).toEqual({ deviceList: [], nextCursor: null, asOf: getDevices().asOf })
})

it('pages follow one another, and a cursor belongs to its tenant and filters', () => {
  const first = list({ brand: 'Apple', pageSize: 10 })
  const second = list({ brand: 'Apple', pageSize: 500, cursor: first.nextCursor! })
  expect([...first.deviceList, ...second.deviceList]).toEqual(list({ brand: 'Apple' }).deviceList)
  expect(second.nextCursor).toBeNull()
  expect(() => list({ pageSize: 10, cursor: first.nextCursor! })).toThrow()
  expect(() => list({ brand: 'Apple', cursor: first.nextCursor! }, 'b')).toThrow()
})

it('a phone is found by the name or code that its browser sends, but not if it was sold in China', () => {
  const nameOf = (named: string) => findDevice(named)?.model
  expect(nameOf('pixel 8')).toBe('Pixel 8')
  expect(['SM-S931B', 'SM-S931U1', 'sm-s931n'].map(nameOf)).toEqual(Array(3).fill('Galaxy S25'))
  expect(['SM-S937B', 'SM-S731B', 'SM-F966B', 'SM-F766B'].map(nameOf)).toEqual([
    'Galaxy S25 Edge',
    'Galaxy S25 FE',
    'Galaxy Z Fold7',
    'Galaxy Z Flip7',
  ])
  expect(['SM-G981B', 'SM-G981U', 'SM-S9310', 'SM-S93', 'SM-A546B', 'K', ''].map(nameOf)).toEqual([
    'Galaxy S20',
    ...Array(6).fill(undefined),
  ])
})

it('no code is that of two devices, or the beginning of another', () => {
  const codes = getDevices().devices.flatMap((device) => device.codes ?? [])
  for (const code of codes) expect(codes.filter((other) => other.startsWith(code))).toEqual([code])
  expect(list({ keyword: 's25 ultra' }).deviceList).toEqual([
    { brand: 'Samsung', model: 'Galaxy S25 Ultra', since: 2025, note: 'not in every country' },
  ])
})
