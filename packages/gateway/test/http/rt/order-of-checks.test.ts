import { afterAll, beforeAll, expect } from 'vitest'
import { call } from '#test/harness/api-node.ts'
import { describeOrderOfChecks } from '#test/harness/order-of-checks.ts'
import { type ApiFixture, createApiFixture } from '../dealer/api-fixture.ts'
import { familyCode } from './family-program.ts'

let stage: ApiFixture
beforeAll(async () => {
  stage = await createApiFixture()
})
afterAll(() => stage.close())

describeOrderOfChecks({
  path: '/api/v1/open/esim/order',
  node: () => stage.proxied,
  codeFor: (code) => String(familyCode(code)),
  async send({ dealer, parts }, body) {
    const sent = { ...parts, body, signatureHeader: 'RT-Signature' }
    const { status, text } = await call(stage.proxied, dealer, '', sent)
    expect(status).toBe(200)
    const { errorCode, errorMsg } = JSON.parse(text)
    return { code: String(errorCode), answer: `${errorCode} ${errorMsg}` }
  },
})
