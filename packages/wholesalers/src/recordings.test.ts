import { createHmac, createSign, generateKeyPairSync } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import type { OutboundRequest } from '@dealer-esim/lib/outbound/outbound.ts'
import { expect, it } from 'vitest'
import { airaloSupplier } from './airalo/airalo.ts'
import { esimAccessSupplier } from './esim-access/esim-access.ts'
import { esimGoSupplier } from './esim-go/esim-go.ts'
import { dateOf } from './members.ts'
import { mobimatterSupplier } from './mobimatter/mobimatter.ts'
import type { Supplier } from './supplier.ts'
import { HELD, UNSETTLED } from './unsettled.ts'
import { zenditSupplier } from './zendit/zendit.ts'

/*
 * Replays answers of wholesalers, each with what its adapter must make of it. A recording is a file of ../recordings. What it
 * must leave out is null in `expected`. Files of `supplier record` (with a supplierType) are replayed by
 * packages/gateway/test/wholesalers/recorder-files.test.ts, because adapters then need a database.
 */

const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
const ORIGIN = 'https://wholesaler.example'
const SECRET = 'secret'

/** How each adapter is created, with a minimal configuration. */
const KINDS = {
  airalo: { create: airaloSupplier, config: { clientId: 'client', clientSecret: SECRET } },
  'esim-access': { create: esimAccessSupplier, config: { accessCode: 'code', secretKey: SECRET } },
  'esim-go': { create: esimGoSupplier, config: { apiKey: 'key' } },
  mobimatter: {
    create: mobimatterSupplier,
    config: {
      ...{ apiKey: 'key', merchantId: 'merchant' },
      webhookPublicKey: publicKey.export({ type: 'spki', format: 'pem' }).toString(),
    },
  },
  zendit: { create: zenditSupplier, config: { apiKey: 'key' } },
}

interface Recording {
  source: string
  /** What it shows. */
  shows: string
  ask: Asked
  config?: object
  /** Rows of the adapter's own tables, by the name of the statement that reads them. */
  stored?: Record<string, unknown[]>
  exchanges: Exchange[]
  expected: unknown
}

interface Asked {
  call: 'order' | 'topUp' | 'query' | 'report' | 'catalogue' | 'balance' | 'test' | 'receive'
  /** The body of an event, its headers if it is not signed, and the text that is signed if it is not the documented one. */
  body?: unknown
  headers?: Record<string, string>
  signs?: string
  rsa?: boolean
}

interface Exchange {
  request: { method: string; path: string; query?: Record<string, string>; body?: object; headers?: object }
  answer: { status: number; headers?: Record<string, string>; body: unknown }
}

const FOLDER = join(import.meta.dirname, '../recordings')
const FILES = readdirSync(FOLDER, { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.json') && !('supplierType' in contentOf(file)))
  .sort()
const MEMBERS = ['source', 'shows', 'ask', 'exchanges', 'expected']

function contentOf(file: string): object {
  return JSON.parse(readFileSync(join(FOLDER, file), 'utf8'))
}

it.each(FILES)('%s', async (file) => {
  const recording = contentOf(file) as Recording
  const form = `it is neither a file of supplier record, with a supplierType, nor a case with ${MEMBERS.join(', ')}`
  expect(Object.keys(recording), form).toEqual(expect.arrayContaining(MEMBERS))
  expect(recording.source).toMatch(/^(rebuilt from documentation|recorded)$/)
  const replay = replayOf(recording.exchanges)
  const { create, config } = KINDS[dirname(file) as keyof typeof KINDS]
  const supplier = create(
    basename(file, '.json').slice(0, 20),
    { url: ORIGIN, ...config, ...recording.config } as never,
    {
      ...{ outbound: replay.outbound, db: storeOf(recording.stored), cipher: { encrypt: () => Buffer.alloc(0) } },
      ids: { uuid: () => '01a0b1c2-0000-7000-8000-000000000000' },
    } as never,
  )
  expectMade(await ask(supplier, recording.ask), recording.expected)
  expect(replay.left()).toEqual([])
})

it('the documentation says what each adapter was checked against, and what only a purchase can settle', () => {
  for (const named of [HELD, UNSETTLED]) expect(Object.keys(named).sort()).toEqual(Object.keys(KINDS).sort())
  for (const kind of Object.keys(KINDS)) {
    const page = readFileSync(join(import.meta.dirname, `../../../docs/${kind}.md`), 'utf8')
    const [, held = ''] = page.split('\n## What was held against real answers\n')
    expect(
      held.split('\n').filter((line) => line.startsWith('- ')),
      kind,
    ).toEqual(HELD[kind]!.map((one) => `- ${one}`))
    const [, open = ''] = page.split('\n## What only a purchase can settle\n')
    const [, , ...rows] = open
      .split('\n## ')[0]!
      .split('\n')
      .filter((line) => line.startsWith('|'))
    expect(rows, kind).toHaveLength(UNSETTLED[kind]!.length)
  }
})

async function ask(supplier: Supplier, asked: Asked): Promise<unknown> {
  const request = { tenantId: 'T', orderId: '01a0b1c2-0000-7000-8000-000000000000', itemNo: 1, ...asked } as never
  switch (asked.call) {
    case 'order':
      return (await supplier.order([request]))[0]
    case 'topUp':
      return (await supplier.topUp!([request]))[0]
    case 'query':
      return (await supplier.query([request], 'RESUME'))[0]
    case 'report':
      return (await supplier.report!([request]))[0]
    case 'balance':
      return supplier.balance!()
    case 'test':
      return supplier.test()
    case 'receive':
      return supplier.receive!(eventOf(asked))
    case 'catalogue': {
      const entries: unknown[] = []
      for await (const entry of supplier.catalogue!()) entries.push(entry)
      return entries
    }
    default:
      return asked.call satisfies never
  }
}

/** An event, signed in the body by MobiMatter, and in a header by Airalo. */
function eventOf({ body, headers, signs, rsa }: Asked) {
  if (headers) return { headers, body: Buffer.from(String(body)) }
  if (!rsa) {
    const signature = createHmac('sha512', SECRET)
      .update(signs ?? String(body))
      .digest('hex')
    return { headers: { 'airalo-signature': signature }, body: Buffer.from(String(body)) }
  }
  const { eventData } = body as {
    eventData: { orderId: string; merchantId: string; orderLineItem: { providerName: string } }
  }
  const { orderId, merchantId, orderLineItem } = eventData
  const text = signs ?? `${orderId}.${merchantId}.${orderLineItem.providerName}`
  const signature = createSign('sha256').update(text).sign(privateKey, 'base64')
  return { headers: {}, body: Buffer.from(JSON.stringify({ ...(body as object), signature })) }
}

/** Answers each request with the next exchange. Airalo's token is issued unless the recording is about it. */
function replayOf(exchanges: Exchange[]) {
  const left = [...exchanges]
  async function request({ method, url, body, headers }: OutboundRequest) {
    const { pathname, searchParams } = new URL(url)
    if (pathname === '/token' && left[0]?.request.path !== '/token') {
      return answerOf({ status: 200, body: { data: { access_token: 'token', expires_in: 3_600 } } })
    }
    const exchange = left.shift()
    expect(`${method} ${pathname}`).toBe(exchange && `${exchange.request.method} ${exchange.request.path}`)
    const { request: wanted, answer } = exchange!
    const isForm = headers?.['content-type'] === 'application/x-www-form-urlencoded'
    const json = isForm ? JSON.stringify(Object.fromEntries(new URLSearchParams(String(body)))) : String(body)
    if (wanted.body) expect(JSON.parse(json)).toEqual(wanted.body)
    if (wanted.query) expect(Object.fromEntries(searchParams)).toMatchObject(wanted.query)
    if (wanted.headers) {
      const signature = createHmac('sha512', SECRET).update(json).digest('hex')
      expect(headers).toMatchObject({ 'airalo-signature': signature })
    }
    return answerOf(answer)
  }
  return { outbound: { request }, left: () => left.map((one) => one.request) }
}

function answerOf({ status, headers = {}, body }: Exchange['answer']) {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  return { kind: 'answer', status, headers, body: Buffer.from(text), truncated: false }
}

/** The adapter's tables: what is stored, a free turn of the rate limit, and the right to fetch a token. */
function storeOf(stored: Recording['stored'] = {}) {
  const rows: Record<string, unknown[]> = {
    'supplier-rate': [{ waitMs: 0, tookMs: 0 }],
    'supplier-token-claim': [{}],
    ...JSON.parse(JSON.stringify(stored), (_, value) => dateOf(value) ?? value),
  }
  return { query: async ({ name = '' }: { name?: string }) => rows[name] ?? [] }
}

function expectMade(made: unknown, expected: unknown): void {
  if (expected === null) {
    expect(made).toBeUndefined()
    return
  }
  if (Array.isArray(expected)) expect(made).toHaveLength(expected.length)
  const plain = JSON.parse(JSON.stringify(made, (_, value) => (typeof value === 'bigint' ? Number(value) : value)))
  expect(plain).toMatchObject(withoutAbsent(plain, expected) as object)
}

/** Checks what must be absent, or null, and leaves the rest to compare. */
function withoutAbsent(made: unknown, expected: unknown): unknown {
  if (Array.isArray(expected)) return expected.map((one, index) => withoutAbsent((made as unknown[])[index], one))
  if (typeof expected !== 'object' || expected === null) return expected
  const members = Object.entries(expected).flatMap(([name, value]) => {
    const given = (made as Record<string, unknown> | undefined)?.[name]
    if (value !== null) return [[name, withoutAbsent(given, value)]]
    expect(given ?? null, name).toBeNull()
    return []
  })
  return Object.fromEntries(members)
}
