import { createHmac, randomBytes, randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { addDealer, call, type Dealer, type Node, startNode } from '#test/harness/api-node.ts'
import { createTestDatabase, type TestDatabase } from '#test/harness/databases/database.ts'
import { familyCall } from './family-program.ts'

let database: TestDatabase
let nodes: Node[]
let dealer: Dealer

beforeAll(async () => {
  database = await createTestDatabase()
  nodes = [await startNode(database.url), await startNode(database.url)]
  dealer = await addDealer(nodes[0]!.deps)
})
afterAll(async () => {
  for (const node of nodes) await node.stop()
  await database.drop()
})

const codeOf = async (requestId: string, at = 0, of = dealer) =>
  (await familyCall(nodes[at]!.baseUrl, of, 'balance/query', {}, { requestId })).errorCode
const withoutHyphens = (id: string) => id.replaceAll('-', '')

/** The same signed bytes sent to both APIs. */
function captured(requestId: string, of = dealer) {
  const timestamp = String(Date.now())
  const signature = createHmac('sha256', of.appSecret).update(`${timestamp}${requestId}${of.appKey}{}`).digest('hex')
  const parts = { requestId, timestamp, signature, body: '{}' }
  return {
    family: async (at = 0) => {
      const sent = { ...parts, path: '/api/v1/open/balance/query', signatureHeader: 'RT-Signature' }
      return JSON.parse((await call(nodes[at]!, of, '', sent)).text).errorCode as string | null
    },
    dealerApi: async (at = 0) => (await call(nodes[at]!, of, 'health', parts)).code,
  }
}

describe('an RT-RequestID', () => {
  test.each([
    ['32 hexadecimal digits', () => randomBytes(16).toString('hex')],
    ['a short text', () => `r-${randomBytes(3).toString('hex')}`],
    ['64 characters', () => randomBytes(32).toString('hex')],
    ['36 characters that are no UUID', () => `order-${randomBytes(15).toString('hex')}`],
  ])('that consists of %s is accepted only once across all nodes', async (_, make) => {
    const requestId = make()
    const answer = await familyCall(nodes[0]!.baseUrl, dealer, 'balance/query', {}, { requestId })
    expect(answer.errorCode).toBeNull()
    expect(answer.headers.get('rt-requestid')).toBe(requestId)
    expect([await codeOf(requestId), await codeOf(requestId, 1)]).toEqual(['900001', '900001'])
  })

  test('is accepted only once, even across a gateway restart', async () => {
    const requestId = `restart-${randomBytes(4).toString('hex')}`
    expect(await codeOf(requestId, 1)).toBeNull()
    await nodes[1]!.stop()
    nodes[1] = await startNode(database.url)
    expect(await codeOf(requestId, 1)).toBe('900001')
  })

  test('is accepted only once when many requests use it simultaneously', async () => {
    const requestId = `burst-${randomBytes(4).toString('hex')}`
    const codes = await Promise.all(Array.from({ length: 20 }, (__, index) => codeOf(requestId, index % 2)))
    expect(codes.filter((code) => code === null)).toHaveLength(1)
    expect(codes.filter((code) => code === '900001')).toHaveLength(19)
  })

  test('that is a UUID is the same with and without hyphens, in upper and lower case', async () => {
    const forms = [(id: string) => id, withoutHyphens, (id: string) => withoutHyphens(id).toUpperCase()]
    for (const first of forms) {
      const id = randomUUID()
      expect(await codeOf(first(id))).toBeNull()
      for (const form of forms)
        expect([first(id), form(id), await codeOf(form(id))]).toEqual([first(id), form(id), '900001'])
    }
  })

  test('in another form is compared by its exact text', async () => {
    const id = `Text-${randomBytes(4).toString('hex')}`
    for (const text of [id, id.toLowerCase(), `${id}-`, id.replace('-', '')]) {
      expect([text, await codeOf(text)]).toEqual([text, null])
    }
  })

  test('used by one dealer may also be used by another', async () => {
    const requestId = `shared-${randomBytes(4).toString('hex')}`
    const other = await addDealer(nodes[0]!.deps)
    expect([await codeOf(requestId), await codeOf(requestId, 0, other)]).toEqual([null, null])
  })

  test('in a disallowed form is refused with 000102, and is not used up', async () => {
    for (const requestId of [
      '17',
      'seven-7',
      'x'.repeat(65),
      'under_score_1',
      '{7f9c24e8-3b1a-4e5d-9f10-2b6c8d0e4a11}',
    ]) {
      const answer = await familyCall(nodes[0]!.baseUrl, dealer, 'balance/query', {}, { requestId })
      expect([requestId, answer.errorCode]).toEqual([requestId, '000102'])
      expect(answer.errorMsg).toContain('RT-RequestID: Malformed: send')
      expect(answer.errorMsg).toContain('8 to 64')
    }
  })
})

describe('a captured request', () => {
  test('that one API has accepted is not accepted by the other', async () => {
    const [first, second] = [captured(randomUUID()), captured(randomUUID())]
    expect([await first.dealerApi(), await first.family(), await first.family(1)]).toEqual([
      '000000',
      '900001',
      '900001',
    ])
    expect([await second.family(), await second.dealerApi(), await second.dealerApi(1)]).toEqual([
      ...[null, '101006', '101006'],
    ])
  })

  test('with a RequestID in the RT API’s own form is refused by the dealer API', async () => {
    for (const requestId of [withoutHyphens(randomUUID()), `own-${randomBytes(4).toString('hex')}`]) {
      const request = captured(requestId)
      expect([await request.dealerApi(), await request.family(), await request.family(1)]).toEqual([
        ...['000102', null, '900001'],
      ])
    }
  })

  test('to the dealer API cannot be resent under the same UUID without hyphens', async () => {
    const id = randomUUID()
    const { signature, timestamp } = sign(id)
    const headers = { 'RT-RequestID': withoutHyphens(id), 'RT-Timestamp': timestamp, 'RT-Signature': signature }
    expect((await familyCall(nodes[0]!.baseUrl, dealer, 'balance/query', {}, { headers })).errorCode).toBe('101003')
  })

  test('is refused if characters are moved between its RequestID, AppKey and body', async () => {
    const { signature, timestamp } = sign('abcdefgh-ak')
    const shifted = { 'RT-RequestID': 'abcdefgh-a', 'RT-AccessCode': `k${dealer.appKey}`, 'RT-Timestamp': timestamp }
    const headers = { ...shifted, 'RT-Signature': signature }
    expect((await familyCall(nodes[0]!.baseUrl, dealer, 'balance/query', {}, { headers })).errorCode).toBe('101003')
    // The first underscore in the signed text is the AppKey's, so no other RequestID results in the same text.
    expect(dealer.appKey).toMatch(/^ak_/)
  })
})

function sign(requestId: string): { signature: string; timestamp: string } {
  const timestamp = String(Date.now())
  const text = `${timestamp}${requestId}${dealer.appKey}{}`
  return { timestamp, signature: createHmac('sha256', dealer.appSecret).update(text).digest('hex') }
}
