import type { OutboundRequest } from '@dealer-esim/lib/outbound/outbound.ts'
import { describe, expect, it } from 'vitest'
import type { Outcome } from '#supplier.ts'
import { airaloSupplier } from './airalo.ts'
import type { AiraloDeps } from './client.ts'

const KEY = 'ORDER-1'

/** Queries an order with an unknown answer, at an Airalo that returns this page as its list. */
async function queryAt(page: unknown): Promise<Outcome> {
  const request = async ({ url }: OutboundRequest) => {
    const body = url.endsWith('/token') ? { data: { access_token: 'token' } } : page
    return { kind: 'answer', status: 200, headers: {}, body: Buffer.from(JSON.stringify(body)), truncated: false }
  }
  const deps = {
    outbound: { request },
    db: { query: async () => [{}] }, // no token is stored, and the right to fetch one is free
    cipher: { encrypt: () => Buffer.alloc(0) },
  } as unknown as AiraloDeps
  const supplier = airaloSupplier('airalo', { clientId: 'id', clientSecret: 'secret' }, deps)
  const [outcome] = await supplier.query(
    [{ tenantId: 'T', orderId: 'O', itemNo: 1, key: KEY, productCode: 'PRODUCT' }],
    'RESUME',
  )
  return outcome!
}

describe('a query by our key', () => {
  it('does not report the supplier as down because one order cannot be compared', async () => {
    const outcome = await queryAt({ data: [{ id: 7 }], meta: { last_page: 1 } })
    expect(outcome).toEqual({ kind: 'unknown', message: 'Airalo’s list has an unreadable order: entry 1 of page 1' })
  })

  it('reports the supplier as down if one of the pages is not a list', async () => {
    expect(await queryAt({ data: {} })).toMatchObject({ kind: 'unknown', down: true })
  })

  it('reports an order as not bought if a readable list does not contain it', async () => {
    expect(await queryAt({ data: [], meta: { last_page: 1 } })).toMatchObject({ kind: 'retry' })
  })
})
