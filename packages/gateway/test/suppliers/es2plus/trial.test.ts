import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Es2plusConfig } from '../../../src/suppliers/es2plus/config.ts'
import type { Supplier } from '../../../src/suppliers/supplier.ts'
import { createTestDatabase, type TestDatabase } from '../../harness/databases/database.ts'
import { createAuthority } from '../../harness/servers/certificates.ts'
import { type Es2plusServer, startEs2plusServer } from '../../harness/servers/es2plus-server.ts'
import { addSupplier, createShop, type Shop } from '../../harness/shop.ts'

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
  Object.assign(server, { fault: {}, faultsRepeats: false, pads: true })
  server.requests.length = 0
})

let suppliers = 0
async function supplier(config: Partial<Es2plusConfig> = {}): Promise<Supplier> {
  const name = `smdp-${++suppliers}`
  const { url, identity } = server
  const functionRequesterIdentifier = '1.3.6.1.4.1.31746'
  const all = { url, functionRequesterIdentifier, ...identity, timeoutMs: 5_000, ...config }
  await addSupplier(shop, name, 'es2plus', all)
  return shop.suppliers.get(name)!.supplier
}

describe('supplier test', () => {
  const said = async (config: Partial<Es2plusConfig> = {}) => (await supplier(config)).test()

  it('reports nothing if the supplier works, and buys nothing', async () => {
    const before = server.soldIccids().length
    expect(await said()).toBeUndefined()
    expect(server.soldIccids()).toHaveLength(before)
  })

  it('reports faults of the name, the connection and the TLS handshake', async () => {
    const other = createAuthority('Another authority')
    expect(await said({ url: 'https://smdp.invalid' })).toMatch(/^DNS: the name does not resolve: /)
    expect(await said({ url: 'https://localhost:1' })).toMatch(/^Connection: the server does not answer: /)
    expect(await said({ ca: other.cert })).toMatch(/^TLS: the handshake failed; check ca, cert and key: /)
    expect(await said(other.issue('stranger'))).toMatch(/^(TLS|Protocol): /)
  })

  it('reports faults of the credentials and the protocol', async () => {
    server.fault.releaseProfile = { subjectCode: '1.1', reasonCode: '1.1' }
    expect(await said()).toMatch(/^Credentials: functionRequesterIdentifier is not accepted/)
    server.fault.releaseProfile = 'nonsense'
    expect(await said()).toBe('Protocol: HTTP 200, but not an ES2+ answer.')
    server.fault.releaseProfile = 'http-500'
    expect(await said()).toBe('Protocol: HTTP 500, but not an ES2+ answer.')
  })
})
