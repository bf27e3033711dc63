import { afterAll, beforeAll } from 'vitest'
import { call } from '#test/harness/api-node.ts'
import { describeOrderOfChecks } from '#test/harness/order-of-checks.ts'
import { type ApiFixture, createApiFixture } from './api-fixture.ts'

let stage: ApiFixture
beforeAll(async () => {
  stage = await createApiFixture()
})
afterAll(() => stage.close())

describeOrderOfChecks({
  path: '/open-api/v1/esim/order',
  node: () => stage.proxied,
  codeFor: (code) => code,
  async send({ dealer, parts }, body) {
    const { code } = await call(stage.proxied, dealer, '', { ...parts, body })
    return { code, answer: code }
  },
})
