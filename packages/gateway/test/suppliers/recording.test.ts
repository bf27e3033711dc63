import { createHmac } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import { makeIccid } from '@dealer-esim/contract'
import { createOutbound } from '@dealer-esim/lib/outbound/outbound.ts'
import { createSimulator, type Form, type Simulator, type SimulatorKind } from '@dealer-esim/wholesaler-simulators'
import { type Supplier, supplierOwner } from '@dealer-esim/wholesalers/supplier.ts'
import { readableProducts } from '@dealer-esim/wholesalers/unreadable-entry.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parseRecording, type ReplayedCall, replayRecording } from '#suppliers/recording/replay-recording.ts'
import { loadSuppliers } from '#suppliers/supplier-registry.ts'
import { type AdminTestbed, createAdminTestbed } from '../harness/admin-testbed.ts'
import { admin, adminFailure, adminUsageError } from '../harness/processes/admin-in-process.ts'
import { addSupplier, type Shop, waitUntil } from '../harness/shop.ts'
import { chooseProducts } from '../wholesalers/simulator-fixtures.ts'
import { createEs2plusFixtures, createGatewayFixtures, type FixtureFactory } from './supplier-fixtures.ts'

const KINDS = ['airalo', 'esim-access', 'esim-go', 'mobimatter', 'zendit'] as const
/** The formats in which a wholesaler sends telephone numbers and confirmation codes. */
const FORMS: Partial<Record<SimulatorKind, readonly Form[]>> = {
  airalo: ['stated-terms'],
  'esim-access': ['stated-terms'],
  mobimatter: ['stated-terms', 'confirmation-codes'],
}
let shop: AdminTestbed
const simulators: Simulator[] = []

beforeAll(async () => {
  shop = await createAdminTestbed()
})
afterAll(async () => {
  for (const simulator of simulators) await simulator.close()
  await shop.close()
})

async function addWholesaler(kind: SimulatorKind, name: string): Promise<Simulator> {
  const simulator = await createSimulator(kind, { catalogueSize: 3, forms: FORMS[kind] ?? [] })
  simulators.push(simulator)
  await addSupplier(shop, name, kind, {
    url: simulator.url,
    ...simulator.credentials,
    timeoutMs: 2_000,
    perSecond: 1_000,
  })
  return simulator
}

/** The supplier as a node uses it, once the node has noticed that it is being recorded. */
async function recordedSupplier(name: string, from = shop.suppliers): Promise<Supplier> {
  const plain = from.get(name)!.supplier
  return waitUntil(async () => {
    await from.refresh()
    const { supplier } = from.get(name)!
    return supplier !== plain && supplier
  })
}

let keys = 0
function requestOf(productCode: string) {
  keys += 1
  return { tenantId: 'T', orderId: shop.ids.uuid(), itemNo: 1, key: `01K8XJ6ZQ5N7M3V2T4R9B0C${keys}DE-1`, productCode }
}

/** Calls every method of a supplier, and ends with an answer that never arrives. */
async function use(supplier: Supplier, simulator: Simulator) {
  const products = []
  for await (const product of readableProducts(supplier)) products.push(product)
  const { base, topUp } = chooseProducts(products)
  const request = requestOf(base.productCode)
  const [bought] = await supplier.order([request])
  if (bought?.kind !== 'delivered') throw new Error(`it answered ${JSON.stringify(bought)}`)
  const { iccid, matchingId } = bought.esim
  const esim = { ...request, reference: bought.reference, iccid, matchingId, shown: true }
  const [found] = await supplier.query([{ ...request, reference: bought.reference }], 'CHECK')
  await supplier.topUp!([{ ...requestOf(topUp.productCode), topUp: esim }])
  simulator.changeEsim({ iccid, status: 'IN_USE', profile: 'ENABLED', usedBytes: 1_000_000 })
  await supplier.report?.([esim])
  const balance = await supplier.balance!()
  if (supplier.list) for await (const _ of supplier.list(new Date(Date.now() - 3_600_000)));
  await supplier.cancel(esim, 'ACTION-1')
  simulator.addFault({
    kind: 'out-of-stock',
    operation: simulator.kind === 'mobimatter' ? 'create' : 'order',
    times: 1,
  })
  const [refused] = await supplier.order([requestOf(base.productCode)])
  simulator.clearFaults()
  return { products: products.length, bought, found, balance, refused }
}

describe.each(KINDS)('a recording of %s', (kind) => {
  let simulator: Simulator
  let used: Awaited<ReturnType<typeof use>>
  let text: string

  it('is written by the command to a file that only its owner can read', async () => {
    simulator = await addWholesaler(kind, kind)
    const file = shop.path(`${kind}.json`)
    const command = admin('supplier', 'record', kind, '--count', '200', '--minutes', '1', '--to', file)
    used = await use(await recordedSupplier(kind), simulator)
    await endRecording(kind)
    expect(await command).toMatchObject({ code: 0, stdout: expect.stringContaining(`requests to ${file}`) })
    expect(statSync(file).mode & 0o777).toBe(0o600)
    text = readFileSync(file, 'utf8')
    const { supplierType, exchanges } = JSON.parse(text)
    expect(supplierType).toBe(kind)
    expect(exchanges.length).toBeGreaterThan(6)
    for (const { request } of exchanges) expect(request).toMatchObject({ method: expect.any(String), path: /^\// })
    expect(await shop.audited('supplier.record')).toContainEqual({ subject: kind, after: { count: 200, minutes: 1 } })
    expect((await shop.audited('supplier.fetch_recording')).at(-1)).toMatchObject({ subject: kind })
    expect(await countKept(kind)).toEqual({ recordings: 0, exchanges: 0 })
  })

  it('contains no transmitted secret, code, number or address', async () => {
    const { msisdn, confirmationCode } = used.bought.esim
    expect(msisdn !== undefined).toBe(FORMS[kind]?.includes('stated-terms') ?? false)
    expect(confirmationCode !== undefined).toBe(FORMS[kind]?.includes('confirmation-codes') ?? false)
    const esims = simulator.esims()
    const eids = esims.flatMap(({ eid }) => eid ?? [])
    expect(eids).not.toEqual([])
    const secret = [
      ...Object.values(simulator.credentials).filter((value) => value.length > 3),
      ...(await tokensOf(kind)),
      ...eids,
      ...esims.flatMap(({ iccid, imsi, matchingId, smdpAddress }) => [iccid, imsi, matchingId, smdpAddress]),
      ...(msisdn === undefined ? [] : [msisdn.replace('+', '')]),
      ...[new URL(simulator.url).host, '127.0.0.1'],
    ]
    expect(secret.length).toBeGreaterThan(7)
    expect(secret.filter((value) => text.toLowerCase().includes(value.toLowerCase()))).toEqual([])
    // A code this short also occurs in other numbers.
    const codes = [...text.matchAll(/"name": "CONF_CODE",\s+"value": "(.*)"/g)].map(([, code]) => code)
    expect([codes.length > 0, codes.includes(confirmationCode)]).toEqual([confirmationCode !== undefined, false])
    expect(text).not.toMatch(/authorization|rt-signature/i)
  })

  it('is decoded by the adapter like its original answers', async () => {
    const replayed: ReplayedCall[] = []
    for await (const call of replayRecording(shop, parseRecording(text))) replayed.push(call)
    expect(replayed.filter(({ error, unsent }) => error !== undefined || unsent > 0)).toEqual([])
    const resultsOf = (name: string) =>
      replayed.filter(({ operation }) => operation === name).map(({ result }) => result)
    expect(resultsOf('catalogue')).toEqual([expect.objectContaining({ length: used.products })])
    expect(resultsOf('balance')).toEqual([used.balance])
    const [[bought], [refused]] = resultsOf('order') as [[typeof used.bought], [typeof used.refused]]
    expect(bought).toMatchObject({ kind: 'delivered', esim: { charged: used.bought.esim.charged } })
    expect(bought.esim.iccid).toMatch(/^8999\d{14,16}$/)
    expect(Object.keys(bought.esim).sort()).toEqual(Object.keys(used.bought.esim).sort())
    expect(bought.esim.iccid).not.toBe(used.bought.esim.iccid)
    expect(refused).toMatchObject({ kind: used.refused!.kind })
    expect(resultsOf('query')).toMatchObject([[{ kind: used.found!.kind, esim: { iccid: bought.esim.iccid } }]])
    await shop.db.query({ text: `delete from suppliers where supplier = 'recorded'` }).catch(() => {})
  })
})

describe.each<[string, (shop: Shop) => Promise<FixtureFactory>]>([
  ['es2plus', (from) => createEs2plusFixtures(from, true)],
  ['gateway', createGatewayFixtures],
])('a recording of %s', (type, create) => {
  it('contains no transmitted secret, code, number or address', async () => {
    const name = `recorded-${type}`
    const factory = await create(shop)
    const fixture = await factory.create(name, 10_000)
    await shop.suppliers.refresh()
    const file = shop.path(`${name}.json`)
    const command = admin('supplier', 'record', name, '--count', '200', '--minutes', '1', '--to', file)
    const supplier = await recordedSupplier(name)
    const request = requestOf(fixture.product)
    const [bought] = await supplier.order([request])
    if (bought?.kind !== 'delivered') throw new Error(`it answered ${JSON.stringify(bought)}`)
    const esim = { ...request, reference: bought.reference, ...bought.esim, shown: true }
    await supplier.query([{ ...request, reference: bought.reference }], 'CHECK')
    await supplier.report?.([esim])
    if (supplier.list) for await (const _ of supplier.list(new Date(Date.now() - 3_600_000)));
    await supplier.cancel(esim, 'ACTION-1')
    await endRecording(name)
    expect(await command).toMatchObject({ code: 0 })
    const text = readFileSync(file, 'utf8')
    const { exchanges } = JSON.parse(text)
    expect(exchanges.length).toBeGreaterThan(2)
    const [row] = await shop.db.query<{ config: Buffer }>({
      text: 'select config from suppliers where supplier = $1',
      values: [name],
    })
    const config = JSON.parse(shop.cipher.decrypt(row!.config, supplierOwner(name)).toString())
    const { iccid, matchingId, smdpAddress, ...more } = bought.esim
    const codes = [more.ac, more.pin, more.puk, more.imsi, more.msisdn, more.confirmationCode]
    const account = [config.appKey, config.appSecret, config.cert, config.key, config.ca]
    const secret = [iccid, matchingId, smdpAddress, new URL(config.url).host, ...codes, ...account].filter(
      (value) => value !== undefined && value.length > 3,
    )
    expect(secret.length).toBeGreaterThan(5)
    expect(secret.filter((value) => text.toLowerCase().includes(value.toLowerCase()))).toEqual([])
    await fixture.close()
    await factory.close()
  })
})

/** The parts of the access token that Airalo issued during the recording. */
async function tokensOf(name: string): Promise<string[]> {
  const rows = await shop.db.query<{ token: Buffer }>({
    text: 'select token from supplier_tokens where supplier = $1',
    values: [name],
  })
  expect(rows).toHaveLength(name === 'airalo' ? 1 : 0)
  const tokens = rows.map(({ token }) => shop.cipher.decrypt(token, supplierOwner(name)).toString())
  return tokens.flatMap((token) => token.split(/[-_]/)).filter(({ length }) => length >= 6)
}

/** As if its period of validity were over. */
const endRecording = (name: string) =>
  shop.db.query({ text: 'update supplier_recordings set ends_at = now() where supplier = $1', values: [name] })

async function countKept(name: string) {
  const [row] = await shop.db.query<{ recordings: number; exchanges: number }>({
    text: `select (select count(*)::int from supplier_recordings where supplier = $1) as recordings,
             (select count(*)::int from supplier_exchanges where supplier = $1) as exchanges`,
    values: [name],
  })
  return row
}

describe('a recording', () => {
  it('collects encrypted requests from all nodes until it has enough', async () => {
    await addWholesaler('zendit', 'counted')
    const outbound = createOutbound()
    const other = await loadSuppliers({ ...shop, outbound })
    const file = shop.path('counted.json')
    const command = admin('supplier', 'record', 'counted', '--count', '4', '--to', file)
    const nodes = [await recordedSupplier('counted'), await recordedSupplier('counted', other as never)]
    for (const node of nodes) await node.balance!()
    const [kept] = await shop.db.query<{ content: Buffer }>({ text: 'select content from supplier_exchanges limit 1' })
    expect(kept!.content.toString()).not.toContain('balance')
    const again = admin('supplier', 'record', 'counted', '--count', '9', '--to', shop.path('again.json'))
    for (const node of [...nodes, ...nodes]) await node.balance!()
    const results = await Promise.all([command, again])
    expect(results.map(({ code }) => code).sort()).toEqual([0, 1])
    expect(results.map(({ stderr }) => stderr).join()).toContain('Continuing the recording')
    const written = results[0].code === 0 ? file : shop.path('again.json')
    expect(JSON.parse(readFileSync(written, 'utf8')).exchanges).toHaveLength(4)
    await shop.suppliers.refresh()
    expect(shop.suppliers.get('counted')!.supplier).not.toBe(nodes[0])
    await outbound.close()
  })

  it('contains only authentic supplier events, without account and codes', async () => {
    const simulator = await addWholesaler('airalo', 'eventful')
    const { clientId, clientSecret } = simulator.credentials
    const iccid = makeIccid('8985200', 77)
    const file = shop.path('eventful.json')
    const command = admin('supplier', 'record', 'eventful', '--count', '2', '--to', file)
    const supplier = await recordedSupplier('eventful')
    const body = Buffer.from(JSON.stringify({ level: '90%', remaining_percentage: 10, iccid, account: clientId }))
    const send = (secret: string) =>
      supplier.receive!({
        headers: { 'airalo-signature': createHmac('sha512', secret).update(body).digest('hex') },
        body,
      })
    expect(await send('a guess')).toMatchObject({ kind: 'refused' })
    expect(await send(clientSecret!)).toMatchObject({ kind: 'changed' })
    expect(await send(clientSecret!)).toMatchObject({ kind: 'changed' })
    expect(await command).toMatchObject({ code: 0 })
    const text = readFileSync(file, 'utf8')
    const { exchanges } = JSON.parse(text)
    expect(exchanges).toHaveLength(2)
    expect(exchanges[0]).toMatchObject({
      call: { operation: 'receive', arguments: [] },
      request: {
        path: '/events',
        body: { level: '90%', remaining_percentage: 10, iccid: expect.stringMatching(/^8999/) },
      },
    })
    for (const secret of [iccid, clientId!, clientSecret!, 'airalo-signature']) expect(text).not.toContain(secret)
    for await (const { operation, error } of replayRecording(shop, parseRecording(text)))
      expect([operation, error]).toEqual(['receive', undefined])
    await shop.db.query({ text: `delete from suppliers where supplier = 'recorded'` }).catch(() => {})
  })

  it('keeps no requests when it is not running', async () => {
    await shop.suppliers.get('counted')!.supplier.balance!()
    expect(await countKept('counted')).toEqual({ recordings: 0, exchanges: 0 })
  })

  it('ends automatically, and reports if nothing was sent', async () => {
    await addWholesaler('zendit', 'silent')
    const command = adminFailureOf('supplier', 'record', 'silent', '--to', shop.path('silent.json'))
    await recordedSupplier('silent')
    await endRecording('silent')
    expect(await command).toMatch(/No requests were sent to silent/)
    const defaults = { count: 50, minutes: 15 }
    expect(await shop.audited('supplier.record')).toContainEqual({ subject: 'silent', after: defaults })
    expect(await countKept('silent')).toEqual({ recordings: 0, exchanges: 0 })
  })

  it('shortens the lists in long answers', async () => {
    const simulator = await createSimulator('esim-access', { catalogueSize: 2_000 })
    simulators.push(simulator)
    await addSupplier(shop, 'long', 'esim-access', { url: simulator.url, ...simulator.credentials, timeoutMs: 20_000 })
    const file = shop.path('long.json')
    const command = admin('supplier', 'record', 'long', '--count', '1', '--to', file)
    const supplier = await recordedSupplier('long')
    for await (const _ of supplier.catalogue!());
    expect(await command).toMatchObject({ code: 0 })
    expect(statSync(file).size).toBeLessThan(1024 * 1024)
  })

  it('is refused for an existing file, a missing folder, an unknown supplier or numbers out of range', async () => {
    const file = shop.file('taken.json', '')
    const record = (...args: string[]) => adminUsageError('supplier', 'record', 'zendit', ...args)
    expect(await record('--to', file)).toMatch(/already exists/)
    expect(await record('--to', shop.path('none/file.json'))).toMatch(/does not exist/)
    expect(await record('--to', shop.path('n.json'), '--count', '1001')).toMatch(
      /--count takes a whole number from 1 to 1000/,
    )
    expect(await record('--to', shop.path('n.json'), '--minutes', '0')).toMatch(/--minutes/)
    expect(await adminFailure('supplier', 'record', 'nobody', '--to', shop.path('n.json'))).toMatch(/nobody/)
  })
})

async function adminFailureOf(...args: string[]): Promise<string> {
  const { code, stderr } = await admin(...args)
  expect(code).toBe(1)
  return stderr
}
