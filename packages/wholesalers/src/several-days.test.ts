import { describe, expect, it } from 'vitest'
import { airaloSupplier } from './airalo/airalo.ts'
import type { AiraloDeps } from './airalo/client.ts'
import { esimGoSupplier } from './esim-go/esim-go.ts'
import { mobimatterSupplier } from './mobimatter/mobimatter.ts'
import type { Supplier, TopUpRequest } from './supplier.ts'
import { zenditSupplier } from './zendit/zendit.ts'

const used: string[] = []
const unexpected = (what: string) => (): never => {
  used.push(what)
  throw new Error(`${what} was used`)
}
const deps = {
  outbound: { request: unexpected('the network') },
  db: { query: unexpected('the database') },
} as unknown as AiraloDeps

const suppliers: Supplier[] = [
  airaloSupplier('airalo', { clientId: 'id', clientSecret: 'secret' }, deps),
  esimGoSupplier('esim-go', { apiKey: 'key' }, deps),
  mobimatterSupplier('mobimatter', { apiKey: 'key', merchantId: 'id' }, deps),
  zenditSupplier('zendit', { apiKey: 'key' }, deps),
]

const REQUEST: TopUpRequest = {
  ...{ tenantId: 'T', orderId: 'O', itemNo: 1, key: 'ORDER-1', productCode: 'ONE_DAY' },
  topUp: { key: 'ORDER-0', iccid: '8999900000000000017', matchingId: 'M' },
}

describe.each(suppliers.map((supplier) => [supplier.name, supplier] as const))('%s', (_, supplier) => {
  it('refuses several days of a day pass, because it would deliver only one day', async () => {
    const { topUp: __, ...order } = REQUEST
    used.length = 0
    const outcomes = [
      ...(await supplier.order([{ ...order, periodNum: 3 }])),
      ...(await supplier.topUp!([{ ...REQUEST, periodNum: 3 }])),
    ]
    expect(outcomes).toMatchObject(Array(2).fill({ kind: 'refused', message: expect.stringContaining('one day') }))
    expect(used).toEqual([])
  })

  it('sells a single day of a day pass', async () => {
    await supplier.order([{ ...REQUEST, periodNum: 1 }]).catch(() => {})
    expect(used.length).toBeGreaterThan(0)
  })
})
