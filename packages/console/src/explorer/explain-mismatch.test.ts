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
  // The catalogue of texts asks the browser for its languages as soon as it is loaded.
  vi.stubGlobal('navigator', { languages: ['en'] })
  ;({ findMistakes } = await import('./explain-mismatch.ts'))
  ;({ diagnose } = await import('./diagnose.ts'))
})
afterAll(() => vi.unstubAllGlobals())

describe('finds and names every usual mistake', () => {
  it.each(mistakenRequests)('$name', async (request) => {
    expect(await findMistakes(request)).toEqual(request.mistakes)
    const words = await firstFault(request)
    for (const { id, separator = '' } of request.mistakes)
      expect(words).toContain(en.debugger.mistakes[id].replace('{separator}', separator.replace('\n', '\\n')))
  })
})

it.each(rightRequests)('finds none in a right signature, in $name', async (request) => {
  expect(await findMistakes(request)).toEqual([])
  expect(await firstFault(request)).toBeUndefined()
})

it.each(unexplainedRequests)('says of $name that none explains it', async (request) => {
  expect(await findMistakes(request)).toBeUndefined()
  const words = (await firstFault(request)) ?? ''
  expect(words === en.debugger.messages.signatureUnknown || words.endsWith('as 64 hex digits, and only once.')).toBe(
    true,
  )
})

it('has no words for what is no mistake', () => {
  expect(Object.keys(en.debugger.mistakes).sort()).toEqual(mistakeIds.toSorted())
})

it('takes an empty secret, which Web Crypto refuses', async () => {
  expect(await findMistakes({ ...mistakenRequests[0]!, secret: '' })).toBeUndefined()
})

async function firstFault(request: MistakenRequest): Promise<string | undefined> {
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
