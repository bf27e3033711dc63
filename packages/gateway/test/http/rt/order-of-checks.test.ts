import { afterAll, beforeAll, expect } from 'vitest'
import { call } from '#test/harness/api-node.ts'
import { describeOrderOfChecks } from '#test/harness/order-of-checks.ts'
import { type ApiFixture, createApiFixture } from '../dealer/api-fixture.ts'

let stage: ApiFixture
beforeAll(async () => {
  stage = await createApiFixture()
})
afterAll(() => stage.close())

/** The family's codes, as listed in its description. */
const CODES: Record<string, string> = {
  '000000': 'null',
  '000108': '200008',
  '000109': '000102',
  '000110': '000102',
  '000111': '000102',
  '101004': '101003',
  '101005': '401001',
  '101006': '900001',
  '101007': '900001',
  '101008': '401001',
}

describeOrderOfChecks({
  path: '/api/v1/open/esim/order',
  node: () => stage.proxied,
  codeFor: (code) => CODES[code] ?? code,
  async send({ dealer, parts }, body) {
    const sent = { ...parts, body, signatureHeader: 'RT-Signature' }
    const { status, text } = await call(stage.proxied, dealer, '', sent)
    expect(status).toBe(200)
    const { errorCode, errorMsg } = JSON.parse(text)
    return { code: String(errorCode), answer: `${errorCode} ${errorMsg}` }
  },
})
