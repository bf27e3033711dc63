import { codes } from '@dealer-esim/contract'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { call } from '#test/harness/api-node.ts'
import { type ApiFixture, createApiFixture } from './api-fixture.ts'
import { REQUESTS as OTHER_REQUESTS } from './code-requests.ts'
import { SEND_REQUESTS } from './send-requests.ts'

const REQUESTS = { ...OTHER_REQUESTS, ...SEND_REQUESTS }

let stage: ApiFixture
beforeAll(async () => {
  stage = await createApiFixture()
})
afterAll(() => stage.close())

/** The table of codes, written by hand: HTTP status, members of `data` other than requestId and details, headers. */
const TABLE: Record<string, [http: number, data?: string[], headers?: string[]]> = {
  '000000': [200],
  '000001': [500],
  '000002': [503, [], ['retry-after']],
  '000101': [400],
  '000102': [400],
  '000103': [405, [], ['allow']],
  '000104': [400],
  '000105': [400],
  '000106': [400],
  '000107': [400],
  '000108': [400],
  '000109': [404],
  '000110': [415],
  '000111': [413],
  '101001': [401, ['serverTime']],
  '101002': [403, ['address']],
  '101003': [401, ['stringToSign']],
  '101004': [401],
  '101005': [403],
  '101006': [409],
  '101007': [429, [], ['retry-after', 'ratelimit-limit', 'ratelimit-remaining', 'ratelimit-reset']],
  '101008': [403],
  '101009': [403, ['operation']],
  '200002': [409, ['esimStatus', 'smdpStatus', 'suspended', 'actionNo', 'orderNo']],
  '200005': [422, ['current']],
  '200006': [422, ['current']],
  '200007': [402, ['currentBalance', 'requiredAmount', 'shortfall', 'currencyCode']],
  '200011': [422],
  '200012': [409],
  '200013': [404],
  '200014': [422, ['scope', 'limit', 'spent', 'resetTime']],
  '200015': [422, ['action']],
  '200017': [422, ['cancellableUntil']],
  '200018': [422, ['brand']],
  '200019': [422, []],
  '310241': [422],
  '310244': [422],
  '310245': [422],
  '310403': [404],
  '400101': [422],
  '400102': [422],
}

describe('the code table', () => {
  it('matches the table in this file, and every code can be caused by a request', () => {
    expect(Object.keys(codes).sort()).toEqual(Object.keys(TABLE).sort())
    expect(Object.keys(REQUESTS).sort()).toEqual(Object.keys(TABLE).sort())
  })

  const all = Object.entries(REQUESTS).flatMap(([code, requests]) =>
    requests.map(([title, get, also]) => ({ code, title, get, also })),
  )
  it.each(all)('$code: $title', async ({ code, get, also }) => {
    const [http, members = [], headers = []] = TABLE[code]!
    const answer = await get(stage)
    expect({ code: answer.code, status: answer.status }).toEqual({ code, status: http })
    expect(Object.keys(JSON.parse(answer.text))).toEqual(['code', 'message', 'data'])
    expect(answer.headers['content-type']).toBe('application/json; charset=utf-8')
    expect(Object.keys(answer.headers)).toEqual(expect.arrayContaining(headers))
    if (code === '000000') expect(answer.message).toBe('success')
    else {
      expect(Object.keys(answer.data).sort()).toEqual(['details', 'requestId', ...members].sort())
      expect(answer.message.length).toBeGreaterThan(20)
      expect(answer.text).not.toMatch(/select |update |insert |\bat .*\.ts|node_modules|stack/)
    }
    also?.(answer, stage)
  })
})

describe('every answer', () => {
  it('returns the caller’s RT-RequestID unchanged if that is a UUID', async () => {
    const requestId = 'AbCdEf01-3b1a-4e5d-9f10-2b6c8d0e4a11'
    for (const parts of [{}, { method: 'GET' }, { path: '/nowhere' }, { appKey: 'nobody_at_all' }, { body: '[]' }]) {
      const answer = await call(stage.node, stage.dealer, 'health', { ...parts, requestId })
      expect(answer.headers['rt-requestid']).toBe(requestId)
      if (answer.code !== '000000') expect(answer.data.requestId).toBe(requestId)
    }
    const malformed = await call(stage.node, stage.dealer, 'health', { requestId: 'x' })
    expect(malformed.headers['rt-requestid']).toBeUndefined()
    expect(malformed.data.requestId).toMatch(/^[0-9a-f-]{36}$/)
  })
})
