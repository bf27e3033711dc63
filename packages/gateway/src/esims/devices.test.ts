import type { DeviceListRequest } from '@dealer-esim/contract'
import { expect, it } from 'vitest'
import { getDevices, listDevices } from './devices.ts'

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
