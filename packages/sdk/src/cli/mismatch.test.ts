import { BODY_SIZE_MAX_BYTES } from '@dealer-esim/contract'
import { describe, expect, test } from 'vitest'
import {
  type MistakenRequest,
  mistakenRequests,
  rightRequests,
  unexplainedRequests,
} from '../../../contract/test/mistaken-requests.ts'
import { diagnose } from './diagnose.ts'
import { explain, findMistakes } from './mismatch.ts'

describe('every usual mistake is found and named', () => {
  test.each(mistakenRequests)('$name', async (request) => {
    expect(findMistakes(request)).toEqual(request.mistakes)
    const { done, cure } = explain(request.mistakes)
    expect(await firstFault(request)).toContain(`${done}. ${cure}`)
  })
})

test.each(rightRequests)('a right signature has no mistakes, in $name', async (request) => {
  expect(findMistakes(request)).toEqual([])
  expect(await firstFault(request)).toBeUndefined()
})

test.each(unexplainedRequests)('$name is explained by none', async (request) => {
  expect(findMistakes(request)).toBeUndefined()
  expect(await firstFault(request)).toMatch(
    /no usual mistake explains it|send the HMAC-SHA256 as 64 hex digits, and only once\.$/,
  )
})

test('the body counts by its bytes, and one that no gateway takes is not tried', () => {
  const right = rightRequests[0]!
  expect(findMistakes({ ...right, body: Buffer.from(right.body) })).toEqual([])
  expect(findMistakes({ ...right, body: Buffer.alloc(BODY_SIZE_MAX_BYTES + 1) })).toBeUndefined()
})

async function firstFault(request: MistakenRequest): Promise<string | undefined> {
  const headers = {
    'content-type': 'application/json',
    'rt-accesscode': request.appKey,
    'rt-requestid': request.requestId,
    'rt-timestamp': request.timestamp,
    'x-signature': request.signature,
  }
  const given = { method: 'POST', path: request.path, headers, body: Buffer.from(request.body) }
  const known = { appSecret: request.secret, appKey: request.appKey, now_ms: Number(request.timestamp) }
  const findings = await diagnose(given, known)
  return findings.find(({ passed }) => passed === false)?.words
}
