import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { createAuthority } from '#test/harness/servers/certificates.ts'
import { createEs2plusTestbed } from './es2plus-testbed.ts'

/* With TLS 1.3, a client certificate is refused only after the client has sent its request. */

const testbed = await createEs2plusTestbed()
const { request, server, supplier } = testbed
const NO_CERTIFICATE = { cert: undefined, key: undefined }
afterAll(() => testbed.close())
beforeEach(() => testbed.reset())

describe('a certificate that the SM-DP+ refuses by a TLS alert', () => {
  it('means that nothing was sent, so orders are tried again and never in doubt', async () => {
    const smdp = await supplier(NO_CERTIFICATE)
    const orders = Array.from({ length: 40 }, () => request())
    for (const outcome of await smdp.order(orders)) {
      expect(outcome).toMatchObject({ kind: 'retry', down: true, message: expect.stringMatching(/our certificate/) })
    }
    expect([server.requests.length, server.orders.size]).toEqual([0, 0])
    const resumed = await smdp.query(orders, 'RESUME')
    expect(new Set(resumed.map(({ kind }) => kind))).toEqual(new Set(['retry']))
  })

  it('is reported by the supplier test', async () => {
    expect(await (await supplier(NO_CERTIFICATE)).test()).toMatch(
      /^TLS: the server requires a client certificate; set cert and key/,
    )
    expect(await (await supplier()).test()).toBeUndefined()
  })
})

describe('a connection that breaks without an alert', () => {
  it('leaves the order in doubt, and the supplier test mentions the certificate as a possible cause', async () => {
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
  it('keeps its reason while the order is in doubt, although later answers do not repeat the reason', async () => {
    const smdp = await supplier()
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

  it('counts as a refusal if Failed is definite', async () => {
    const smdp = await supplier({ failedIsDefinite: true })
    server.fault.downloadOrder = { subjectCode: '8.2.1', reasonCode: '3.7' }
    expect(await smdp.order([request()])).toMatchObject([{ kind: 'refused' }])
  })
})

it('answers without a header are accepted if the supplier is configured so', async () => {
  const noHeader = { header: undefined }
  server.answers = { downloadOrder: noHeader, confirmOrder: noHeader, cancelOrder: noHeader }
  const [usual] = await (await supplier()).order([request()])
  expect(usual).toMatchObject({ kind: 'unknown' })
  const smdp = await supplier({ answersWithoutHeader: true })
  const wanted = request()
  const [outcome] = await smdp.order([wanted])
  if (outcome?.kind !== 'delivered') throw new Error(JSON.stringify(outcome))
  const { iccid, matchingId } = outcome.esim
  expect(await smdp.cancel({ ...wanted, iccid, matchingId, shown: true })).toEqual({ kind: 'cancelled' })
  expect(server.orders.get(iccid)?.state).toBe('UNAVAILABLE')
})
