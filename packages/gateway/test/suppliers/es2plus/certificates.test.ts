import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Es2plusConfig } from '../../../src/suppliers/es2plus/config.ts'
import type { Supplier, SupplierRequest } from '../../../src/suppliers/supplier.ts'
import { createTestDatabase, type TestDatabase } from '../../harness/databases/database.ts'
import { createAuthority } from '../../harness/servers/certificates.ts'
import { type Es2plusServer, startEs2plusServer } from '../../harness/servers/es2plus-server.ts'
import { addSupplier, createShop, type Shop } from '../../harness/shop.ts'

/* A real TLS server, TLS 1.3: it refuses a client certificate after the client has sent its request. */

let database: TestDatabase
let shop: Shop
let server: Es2plusServer

beforeAll(async () => {
  database = await createTestDatabase()
  shop = await createShop(database.url)
  server = await startEs2plusServer()
})
afterAll(async () => {
  await server.close()
  await shop.close()
  await database.drop()
})
beforeEach(() => {
  Object.assign(server, { fault: {}, answers: {} })
  server.requests.length = 0
})

let suppliers = 0
async function supplier(config: Partial<Es2plusConfig> = {}): Promise<Supplier> {
  const name = `smdp-${++suppliers}`
  const all = { url: server.url, functionRequesterIdentifier: '1.2.3', ca: server.identity.ca, timeoutMs: 5_000 }
  await addSupplier(shop, name, 'es2plus', { ...all, ...config })
  return shop.suppliers.get(name)!.supplier
}
const ours = () => ({ cert: server.identity.cert, key: server.identity.key })

let items = 0
function request(): SupplierRequest {
  items += 1
  return { tenantId: shop.ids.uuid(), orderId: shop.ids.uuid(), itemNo: 1, key: `KEY-${items}`, productCode: 'TYPE' }
}

describe('a certificate that the SM-DP+ refuses by a TLS alert', () => {
  it('means that nothing was sent: each order is tried again, none is in doubt', async () => {
    const smdp = await supplier()
    const orders = Array.from({ length: 40 }, request)
    for (const outcome of await smdp.order(orders)) {
      expect(outcome).toMatchObject({ kind: 'retry', down: true, message: expect.stringMatching(/our certificate/) })
    }
    expect([server.requests.length, server.orders.size]).toEqual([0, 0])
    const resumed = await smdp.query(orders, 'RESUME')
    expect(new Set(resumed.map(({ kind }) => kind))).toEqual(new Set(['retry']))
  })

  it('is named by the test of the supplier', async () => {
    expect(await (await supplier()).test()).toMatch(/^TLS: the server requires a client certificate; set cert and key/)
    expect(await (await supplier(ours())).test()).toBeUndefined()
  })
})

describe('a connection that breaks without an alert', () => {
  it('leaves the order in doubt, and the test names the certificate as a possible cause', async () => {
    const stranger = createAuthority('Another authority').issue('stranger')
    const smdp = await supplier(stranger)
    const [outcome] = await smdp.order([request()])
    expect(outcome).toMatchObject({ kind: 'unknown' })
    expect(await smdp.test()).toMatch(
      /does not accept our client certificate \(CN=stranger, issued by CN=Another authority, valid until \d{4}-\d\d-\d\d, SHA-256 [0-9a-f]{64}\)/,
    )
  })
})

describe('a code that is not in the table', () => {
  it('keeps its reason while the order is in doubt, although it is never stated again', async () => {
    const smdp = await supplier(ours())
    const wanted = request()
    server.fault.downloadOrder = { subjectCode: '8.2.1', reasonCode: '3.7' }
    const reason = /DownloadOrder: Failed 8\.2\.1\/3\.7: by the test server/
    expect(await smdp.order([wanted])).toMatchObject([{ kind: 'unknown', message: expect.stringMatching(reason) }])
    for (const purpose of ['RESUME', 'CHECK'] as const) {
      expect(await smdp.query([wanted], purpose)).toMatchObject([
        { kind: 'unknown', message: expect.stringMatching(reason) },
      ])
    }
  })

  it('is a refusal where Failed is definite', async () => {
    const smdp = await supplier({ ...ours(), failedIsDefinite: true })
    server.fault.downloadOrder = { subjectCode: '8.2.1', reasonCode: '3.7' }
    expect(await smdp.order([request()])).toMatchObject([{ kind: 'refused' }])
  })
})

it('answers without a header are read where the supplier has that setting', async () => {
  const noHeader = { header: undefined }
  server.answers = { downloadOrder: noHeader, confirmOrder: noHeader, cancelOrder: noHeader }
  const [usual] = await (await supplier(ours())).order([request()])
  expect(usual).toMatchObject({ kind: 'unknown' })
  const smdp = await supplier({ ...ours(), answersWithoutHeader: true })
  const wanted = request()
  const [outcome] = await smdp.order([wanted])
  if (outcome?.kind !== 'delivered') throw new Error(JSON.stringify(outcome))
  const { iccid, matchingId } = outcome.esim
  expect(await smdp.cancel({ ...wanted, iccid, matchingId, shown: true })).toEqual({ kind: 'cancelled' })
  expect(server.orders.get(iccid)?.state).toBe('UNAVAILABLE')
})
