import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { orderIdOf } from '@dealer-esim/contract'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { call, type Dealer } from '../harness/api-node.ts'
import { createTestDatabase, type TestDatabase } from '../harness/databases/database.ts'
import { type GatewayProcess, startGateway, stopGateways } from '../harness/processes/gateway-process.ts'
import { waitUntil } from '../harness/shop.ts'
import { familyCall } from '../http/rt/family-program.ts'
import { type Receiver, startReceiver } from '../webhooks/receiver.ts'

interface ReceivedSpan {
  traceId: string
  spanId: string
  parentSpanId?: string
  name: string
  kind: number
  startMs: number
  durationMs: number
  attributes: Record<string, string | number>
  status: { code?: number; message?: string }
  service: Record<string, string | number>
}

/** A minimal collector (OTLP over HTTP, JSON) that stores what it receives. */
const spans: ReceivedSpan[] = []
const seen: { url: string | undefined; apiKey: unknown }[] = []
/** Its first responses. */
const answers = [503]
let collector: Server
let gateway: GatewayProcess | undefined
let env: Record<string, string>
let database: TestDatabase
let receiver: Receiver
let dealer: Dealer
beforeAll(async () => {
  collector = createServer((request, response) => {
    let body = ''
    request.setEncoding('utf8').on('data', (text: string) => (body += text))
    request.on('end', () => {
      const status = answers.shift() ?? 200
      seen.push({ url: request.url, apiKey: request.headers['api-key'] })
      if (status === 200) spans.push(...decoded(JSON.parse(body)))
      response.writeHead(status).end('{}')
    })
  })
  await new Promise<void>((resolve) => collector.listen(0, '127.0.0.1', resolve))
  database = await createTestDatabase()
  const OTEL_EXPORTER_OTLP_ENDPOINT = `http://127.0.0.1:${(collector.address() as AddressInfo).port}/otel`
  env = { OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_EXPORTER_OTLP_HEADERS: 'api-key=a%20secret' }
  receiver = await startReceiver()
})
beforeEach(async () => {
  gateway ??= await startGateway({ databaseUrl: database.url, env })
  dealer = JSON.parse(readFileSync(join(gateway.dataDir, 'local.json'), 'utf8'))
})
afterAll(async () => {
  await stopGateways()
  await receiver.close()
  collector.close()
  await database.drop()
})

const ask = (operation: string, body: object, requestId = randomUUID()) =>
  call(gateway!, dealer, operation, { body: JSON.stringify(body), requestId })

describe('traces', () => {
  test('follow an order from its request to suppliers and events', async () => {
    const [ordered, refused] = [randomUUID(), randomUUID()]
    await ask('webhook/set', { callbackUrl: receiver.url })
    await ask('health', { unknown: 1 }, refused)
    const order = { transactionId: randomUUID(), packageInfoList: [{ packageCode: 'JP_1_7', count: 2 }] }
    const { data } = await ask('esim/order', order, ordered)
    const again = randomUUID()
    await ask('esim/order', order, again)
    const traceId = orderIdOf(data.orderNo)!.replaceAll('-', '')
    const ofOrder = () => spans.filter((span) => span.traceId === traceId)
    const ofRequest = (requestId: string) => spans.find((span) => span.traceId === requestId.replaceAll('-', ''))
    const NAMES = ['esim/order', 'order sandbox', 'deliver ORDER_PAID', 'deliver DELIVERY_UPDATED']
    const isReported = (name: string) => ofOrder().some((span) => span.name === name)
    // Each arrives with other spans that ended at about the same time, in any order.
    await waitUntil(async () => NAMES.every(isReported) && ofRequest(again) && ofRequest(refused))

    const [root, ...more] = ofOrder().filter((span) => span.parentSpanId === undefined)
    expect(more).toEqual([])
    expect(root).toMatchObject({ name: 'esim/order', kind: 2, status: {} })
    expect(root!.attributes).toMatchObject({
      'dealer_esim.request_id': ordered,
      'dealer_esim.order_no': data.orderNo,
      'http.response.status_code': 200,
    })
    expect(root!.service).toMatchObject({ 'service.name': 'dealer-esim', 'deployment.environment.name': 'local' })
    expect(Math.abs(root!.startMs - Date.now())).toBeLessThan(60_000)
    const children = ofOrder().filter((span) => span.parentSpanId === root!.spanId)
    expect(children).toHaveLength(ofOrder().length - 1)
    const names = children.map((span) => span.name)
    expect(names.filter((name) => name === 'order sandbox')).toHaveLength(2)
    expect(new Set(ofOrder().map((span) => span.spanId)).size).toBe(ofOrder().length)

    // A request that placed no order has its own trace, found by its RequestID.
    expect(ofRequest(again)).toMatchObject({ name: 'esim/order', attributes: { 'dealer_esim.order_no': data.orderNo } })
    expect(ofRequest(refused)).toMatchObject({ name: 'health', attributes: { 'dealer_esim.code': '000108' } })
  })

  test('follow a top-up from its own request, and an action from the order that delivered the eSIM', async () => {
    const order = { transactionId: randomUUID(), packageInfoList: [{ packageCode: 'JP_1_7', count: 2 }] }
    const { orderNo } = (await ask('esim/order', order)).data
    const [first, second] = await waitUntil(async () => {
      const { profileList } = (await ask('esim/profile/list', { orderNo })).data
      return profileList.length === 2 && profileList
    })
    const topUp = { transactionId: randomUUID(), esimTranNo: first.esimTranNo, packageCode: 'JP_1_7_TOPUP' }
    const toppedUp = (await ask('esim/topup', topUp)).data
    const cancel = { transactionId: randomUUID(), action: 'CANCEL', esimTranNo: second.esimTranNo }
    const [begun, again] = [randomUUID(), randomUUID()]
    await ask('webhook/set', { eventTypes: ['ORDER_PAID', 'DELIVERY_UPDATED', 'ESIM_ACTION_UPDATED'] })
    const { actionNo } = (await ask('esim/cancel', cancel, begun)).data
    await ask('esim/cancel', cancel, again)
    const traceOf = (no: string) => {
      const traceId = orderIdOf(no)!.replaceAll('-', '')
      return spans.filter((span) => span.traceId === traceId)
    }
    const named = (no: string, name: string) => traceOf(no).find((span) => span.name === name)
    await waitUntil(
      async () =>
        named(orderNo, 'deliver ESIM_ACTION_UPDATED') &&
        ['esim/topup', 'topup sandbox', 'deliver DELIVERY_UPDATED'].every((name) => named(toppedUp.orderNo, name)) &&
        spans.find((span) => span.traceId === again.replaceAll('-', '')),
    )
    const root = named(toppedUp.orderNo, 'esim/topup')!
    expect(root).not.toHaveProperty('parentSpanId')
    for (const span of traceOf(toppedUp.orderNo)) if (span !== root) expect(span.parentSpanId).toBe(root.spanId)

    const { spanId } = named(orderNo, 'esim/order')!
    const action = { 'dealer_esim.action_no': actionNo }
    expect(named(orderNo, 'esim/cancel')).toMatchObject({
      parentSpanId: spanId,
      attributes: { ...action, 'dealer_esim.request_id': begun },
    })
    const call = { parentSpanId: spanId, attributes: { ...action, 'dealer_esim.outcome': 'done' } }
    expect(named(orderNo, 'cancel sandbox')).toMatchObject(call)
    expect(named(orderNo, 'deliver ESIM_ACTION_UPDATED')).toMatchObject({ parentSpanId: spanId, status: {} })
  })

  test('include the root spans of an order and of an eSIM action that were requested through the RT API', async () => {
    const call = (operation: string, body: object) =>
      familyCall(gateway!.baseUrl, dealer, operation, body).then(({ success, obj }) => {
        expect(success).toBe(true)
        // biome-ignore lint/suspicious/noExplicitAny: read as a program does
        return obj as any
      })
    const packageInfoList = [{ packageCode: 'JP_1_7', count: 1 }]
    const { orderNo } = await call('esim/order', { transactionId: randomUUID(), packageInfoList })
    const esim = await waitUntil(async () => (await ask('esim/profile/list', { orderNo })).data.profileList[0])
    await call('esim/cancel', { esimTranNo: esim.esimTranNo })
    await call('esim/cancel', { esimTranNo: esim.esimTranNo }) // it is cancelled: nothing starts
    const traceId = orderIdOf(orderNo)!.replaceAll('-', '')
    const named = (name: string) => spans.filter((span) => span.traceId === traceId && span.name === name)
    await waitUntil(
      async () =>
        ['rt/esim/order', 'order sandbox', 'rt/esim/cancel', 'cancel sandbox'].every(
          (name) => named(name).length > 0,
        ) && spans.filter(({ name }) => name === 'rt/esim/cancel').length === 2,
    )
    const [root] = named('rt/esim/order')
    expect(root).toMatchObject({
      kind: 2,
      attributes: { 'dealer_esim.order_no': orderNo, 'dealer_esim.code': '000000' },
    })
    expect(root).not.toHaveProperty('parentSpanId')
    const cancels = named('rt/esim/cancel')
    expect(cancels).toHaveLength(1)
    for (const span of [...cancels, ...named('order sandbox'), ...named('cancel sandbox')]) {
      expect(span.parentSpanId).toBe(root!.spanId)
    }
    const [action] = named('cancel sandbox')
    expect(cancels[0]!.attributes['dealer_esim.action_no']).toBe(action!.attributes['dealer_esim.action_no'])
  })

  test('mark a failed delivery', async () => {
    receiver.script = 500
    await ask('esim/order', { transactionId: randomUUID(), packageInfoList: [{ packageCode: 'JP_1_7', count: 1 }] })
    await waitUntil(async () =>
      spans.some(({ name, status }) => name === 'deliver ORDER_PAID' && status.message?.includes('500')),
    )
  })

  test('are kept while the collector is unavailable, and contain no secret', () => {
    expect(seen.length).toBeGreaterThan(1)
    for (const each of seen) expect(each).toEqual({ url: '/otel/v1/traces', apiKey: 'a secret' })
    const text = JSON.stringify(spans)
    for (const secret of [dealer.appSecret, 'LPA:', 'matchingId']) expect(text).not.toContain(secret)
  })

  test('are sent before the gateway stops', async () => {
    const last = randomUUID()
    await ask('health', {}, last)
    await gateway!.kill()
    gateway = undefined
    expect(spans.map((span) => span.traceId)).toContain(last.replaceAll('-', ''))
  })
})

// biome-ignore lint/suspicious/noExplicitAny: JSON in the form of the OTLP specification
function decoded(body: any): ReceivedSpan[] {
  // biome-ignore lint/suspicious/noExplicitAny: as above
  const attributes = (list: any[]) =>
    Object.fromEntries(list.map(({ key, value }) => [key, value.stringValue ?? Number(value.intValue)]))
  // biome-ignore lint/suspicious/noExplicitAny: as above
  return body.resourceSpans.flatMap(({ resource, scopeSpans }: any) =>
    // biome-ignore lint/suspicious/noExplicitAny: as above
    scopeSpans.flatMap((scope: any) =>
      // biome-ignore lint/suspicious/noExplicitAny: as above
      scope.spans.map((span: any) => {
        expect(span).toMatchObject({
          traceId: expect.stringMatching(/^[0-9a-f]{32}$/),
          spanId: expect.stringMatching(/^[0-9a-f]{16}$/),
        })
        const startMs = Number(BigInt(span.startTimeUnixNano) / 1_000_000n)
        const durationMs = Number(BigInt(span.endTimeUnixNano) - BigInt(span.startTimeUnixNano)) / 1e6
        return {
          ...span,
          startMs,
          durationMs,
          attributes: attributes(span.attributes),
          service: attributes(resource.attributes),
        }
      }),
    ),
  )
}
