import { createContext, runInContext } from 'node:vm'
import { build } from 'esbuild'
import { afterEach, expect, test } from 'vitest'
import { type FakeGateway, fakeGateway, ok } from '../test/fake-gateway.ts'
import { APP_SECRET, EVENT, signedEvent } from '../test/signed-event.ts'

let gateway: FakeGateway | undefined
afterEach(() => gateway?.close())

/** Bundles the core for browsers and workers: a `node:` import would fail the build. */
async function bundle(): Promise<string> {
  const built = await build({
    entryPoints: [new URL('./index.ts', import.meta.url).pathname],
    bundle: true,
    minify: true,
    platform: 'browser',
    format: 'iife',
    globalName: 'sdk',
    write: false,
  })
  return built.outputFiles[0]?.text ?? ''
}

/** The globals available in every edge runtime, without Node's: no process, no Buffer, no require. */
const runtime = () =>
  createContext({
    fetch,
    Headers,
    Request,
    Response,
    crypto,
    performance,
    URL,
    TextEncoder,
    TextDecoder,
    AbortController,
    setTimeout,
    clearTimeout,
    atob,
    btoa,
    console,
  })

test('the core signs, calls and verifies without Node', async () => {
  const context = runtime()
  runInContext(await bundle(), context)
  gateway = await fakeGateway(() => ok({ status: 'UP' }))
  const event = signedEvent()
  Object.assign(context, { gateway, event: { ...event, appSecret: APP_SECRET } })
  const result = await runInContext(
    `(async () => [
      typeof process + typeof require + typeof Buffer,
      await new sdk.DealerEsim(gateway).health(),
      await sdk.verifyEvent(event),
      (await sdk.fetchWebhook({ appSecret: event.appSecret, onEvent() {} })(
        new Request('https://dealer.example/', { method: 'POST', headers: event.headers, body: event.body }),
      )).status,
    ])()`,
    context,
  )
  expect(JSON.parse(JSON.stringify(result))).toEqual(['undefinedundefinedundefined', { status: 'UP' }, EVENT, 204])
})

test('the core contains neither the schema library nor the code table', async () => {
  expect((await bundle()).length).toBeLessThan(25_000)
})
