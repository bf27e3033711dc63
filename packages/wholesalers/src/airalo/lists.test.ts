import { describe, expect, it } from 'vitest'
import type { JsonObject } from '#members.ts'
import { readable } from '#unreadable-entry.ts'
import type { AiraloClient } from './client.ts'
import { findOrders, listSold } from './lists.ts'
import { listProducts } from './products.ts'

/** Answers with one page of these orders. */
function clientWith(...data: JsonObject[]): Pick<AiraloClient, 'get'> {
  const body = { data, meta: { last_page: 1 } }
  return { get: async () => ({ kind: 'reply', status: 200, body, retryAfterMs: undefined, time: undefined }) }
}

describe('the catalogue', () => {
  const country = (country_code: string) => {
    const packages = [
      { id: `${country_code}-1`, type: 'sim', net_price: 3.5, amount: 1024, day: 7, is_unlimited: false },
    ]
    return { slug: country_code, country_code, operators: [{ title: 'Op', packages }] }
  }

  it('is read to its end even if the rows on its second page are keyed by number', async () => {
    const pages = [[country('JP')], { 100: country('KE'), 102: country('LA') }]
    const get: AiraloClient['get'] = async (_, query) => {
      const body = { data: pages[Number(query?.page) - 1], meta: { last_page: 2 } }
      return { kind: 'reply', status: 200, body, retryAfterMs: undefined, time: undefined }
    }
    const codes: string[] = []
    for await (const { productCode } of listProducts({ get } as AiraloClient, 'USD')) codes.push(productCode ?? '')
    expect(codes).toEqual(['JP-1', 'KE-1', 'LA-1'])
  })
})

describe('a search by our key', () => {
  it('finds the orders whose description is exactly the key, oldest first', async () => {
    const [newer, older] = [
      { id: 9, description: 'KEY-1' },
      { id: 7, description: 'KEY-1' },
    ]
    const client = clientWith(newer, { id: 8, description: 'KEY-11' }, { id: 6, description: null }, older)
    expect(await findOrders(client, 'KEY-1')).toEqual({ orders: [older, newer], unreadable: undefined })
  })

  it.each([undefined, 7, ['KEY-1']])(
    'cannot rule out a purchase if an order has no readable description (%j)',
    async (description) => {
      const client = clientWith({ id: 7, ...(description !== undefined && { description }) })
      expect(await findOrders(client, 'KEY-1')).toEqual({ orders: [], unreadable: 'entry 1 of page 1' })
    },
  )
})

describe('the list of sold eSIMs', () => {
  const SINCE = new Date('2026-11-25T00:00:00Z')
  const NEW = '2026-11-25 12:00:00'
  const OLD = '2026-11-01 12:00:00'
  const OLDER = '2026-11-01 11:00:00'
  const order = (created_at: string, serial: number) => {
    const iccid = `899990000000000001${serial}`
    const sims = [{ iccid, qrcode: `LPA:1$smdp.example.com$M-${serial}` }]
    return { id: serial, description: `KEY-${serial}`, created_at, sims }
  }
  const keysOf = async (...orders: JsonObject[]) => {
    const keys: string[] = []
    for await (const { key } of readable(listSold(clientWith(...orders), SINCE))) keys.push(key)
    return keys
  }

  it('contains the new eSIMs, however Airalo sorts the list', async () => {
    expect(await keysOf(order(NEW, 1), order(OLD, 2))).toEqual(['KEY-1'])
    expect(await keysOf(order(OLD, 1), order(NEW, 2))).toEqual(['KEY-2'])
    expect(await keysOf(order(OLD, 1), order(OLD, 2), order(NEW, 3))).toEqual(['KEY-3'])
  })

  it('is not read beyond an old eSIM once the list has proved to begin with the newest', async () => {
    expect(await keysOf(order(OLD, 1), order(OLDER, 2), order(NEW, 3))).toEqual([])
  })
})
