import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import {
  type MistakenRequest,
  mistakeIds,
  mistakenRequests,
  rightRequests,
  unexplainedRequests,
} from '../../../contract/test/mistaken-requests.ts'
import en from '../strings/en.json'

let findMistakes: typeof import('./explain-mismatch.ts').findMistakes
let diagnose: typeof import('./diagnose.ts').diagnose
beforeAll(async () => {
  // The strings module reads the browser's languages when it is loaded.
  vi.stubGlobal('navigator', { languages: ['en'] })
  ;({ findMistakes } = await import('./explain-mismatch.ts'))
  ;({ diagnose } = await import('./diagnose.ts'))
})
afterAll(() => vi.unstubAllGlobals())

describe('every common mistake is found and explained', () => {
  it.each(mistakenRequests)('$name', async (request) => {
    expect(await findMistakes(request)).toEqual(request.mistakes)
    const message = await firstFailure(request)
    for (const { id, separator = '' } of request.mistakes)
      expect(message).toContain(en.debugger.mistakes[id].replace('{separator}', separator.replace('\n', '\\n')))
  })
})

it.each(rightRequests)('no mistake is found in a right signature: $name', async (request) => {
  expect(await findMistakes(request)).toEqual([])
  expect(await firstFailure(request)).toBeUndefined()
})

it.each(unexplainedRequests)('no common mistake explains $name', async (request) => {
  expect(await findMistakes(request)).toBeUndefined()
  const message = (await firstFailure(request)) ?? ''
  expect(
    message === en.debugger.messages.signatureUnknown || message.endsWith('as 64 hex digits, and only once.'),
  ).toBe(true)
})

it('exactly the known mistakes have explanations', () => {
  expect(Object.keys(en.debugger.mistakes).sort()).toEqual(mistakeIds.toSorted())
})

it('an empty secret, which Web Crypto rejects, is accepted', async () => {
  expect(await findMistakes({ ...mistakenRequests[0]!, secret: '' })).toBeUndefined()
})

async function firstFailure(request: MistakenRequest): Promise<string | undefined> {
  const headers = [
    `RT-AccessCode: ${request.appKey}`,
    `RT-RequestID: ${request.requestId}`,
    `RT-Timestamp: ${request.timestamp}`,
    `X-Signature: ${request.signature}`,
  ]
  const results = await diagnose({
    headersText: headers.join('\n'),
    body: request.body,
    operation: 'esim/order',
    appKey: request.appKey,
    secret: request.secret,
    serverTimeMs: Number(request.timestamp),
    isRequestIdUsed: async () => false,
  })
  return results.find(({ ok }) => ok === false)?.message
}
