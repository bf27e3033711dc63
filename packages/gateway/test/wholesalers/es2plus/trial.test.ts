import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { createAuthority } from '#test/harness/servers/certificates.ts'
import { createEs2plusTestbed } from './es2plus-testbed.ts'

const testbed = await createEs2plusTestbed()
const { server, supplier } = testbed
afterAll(() => testbed.close())
beforeEach(() => testbed.reset())

describe('supplier test', () => {
  const said = async (...changes: Parameters<typeof supplier>) => (await supplier(...changes)).test()

  it('reports no fault if the supplier works, and buys nothing', async () => {
    const before = server.soldIccids().length
    expect(await said()).toBeUndefined()
    expect(server.soldIccids()).toHaveLength(before)
  })

  it('reports faults in the name, the connection and the TLS handshake', async () => {
    const other = createAuthority('Another authority')
    expect(await said({ url: 'https://smdp.invalid' })).toMatch(/^DNS: the name does not resolve: /)
    expect(await said({ url: 'https://localhost:1' })).toMatch(/^Connection: the server does not answer: /)
    expect(await said({ ca: other.cert })).toMatch(/^TLS: the handshake failed; check ca, cert and key: /)
    expect(await said(other.issue('stranger'))).toMatch(/^(TLS|Protocol): /)
  })

  it('reports faults in the credentials and the protocol', async () => {
    server.fault.releaseProfile = { subjectCode: '1.1', reasonCode: '1.1' }
    expect(await said()).toMatch(/^Credentials: functionRequesterIdentifier is not accepted/)
    server.fault.releaseProfile = 'nonsense'
    expect(await said()).toBe('Protocol: HTTP 200, but not an ES2+ answer: “"nonsense"”.')
    server.fault.releaseProfile = 'http-500'
    expect(await said()).toBe('Protocol: HTTP 500, but not an ES2+ answer.')
  })
})
