import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type Server } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { PassThrough } from 'node:stream'
import { createLog } from '@dealer-esim/lib/telemetry/json-log.ts'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { addDealer, call, type Dealer, type Node, startNode } from '../harness/api-node.ts'
import { createTestDatabase, type TestDatabase } from '../harness/databases/database.ts'
import { waitUntil } from '../harness/shop.ts'
import { openConnection, requestText } from '../http/raw-connection.ts'
import { CLOSED_PORT } from '../platform/deployment/proxies.ts'

/* Requests for a dealer that this cell may not serve are forwarded to the other cell, here an HTTP server. */

interface Got {
  url: string
  headers: IncomingHttpHeaders
  body: string
}

const got: Got[] = []
let drops = false
/** The other cell's answer in place of the default. */
let answered: string | undefined
/** Accepts the next request, which then gets no answer. */
let hold: ((request: IncomingMessage) => void) | undefined
/** The codes that this cell has logged. */
const logged: string[] = []
let other: Server
let otherPort: number
let database: TestDatabase
let node: Node
let dealer: Dealer

beforeAll(async () => {
  other = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    got.push({ url: request.url!, headers: request.headers, body })
    if (hold) hold(request)
    else if (drops) request.socket.destroy()
    else if (answered !== undefined) response.writeHead(200).end(answered)
    else
      response.writeHead(409, { 'x-answer': 'kept', 'retry-after': '7' }).end('{"code":"200012","of":"the other cell"}')
  })
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve))
  otherPort = (other.address() as AddressInfo).port
  database = await createTestDatabase()
  node = await startNode(database.url, { CELL_NAME: 'main' }, { logRequest: ({ code }) => void logged.push(code) })
  dealer = await addDealer(node.deps)
})
beforeEach(async () => {
  got.length = 0
  logged.length = 0
  drops = false
  answered = undefined
  hold = undefined
  await moveTo(otherPort)
})
afterAll(async () => {
  other.close()
  other.closeAllConnections()
  await node.stop()
  await database.drop()
})

/** Pretends that the dealer was moved to a cell with these nodes. */
async function moveTo(...ports: number[]): Promise<void> {
  const nodes = ports.map((port) => ({ host: '127.0.0.1', port, metricsPort: port }))
  await node.deps.db.tx(async (tx) => {
    tx.send({
      text: `insert into tenant_moves (tenant_id, move_id, direction, other_cell, other_nodes, state, fenced_until, actor)
             values ($1, $1, 'OUT', 'eu1', $2, 'SWITCHED', 'infinity', 'cli:tester')
             on conflict (tenant_id) do update set other_nodes = excluded.other_nodes, fenced_until = excluded.fenced_until`,
      values: [dealer.tenantId, JSON.stringify(nodes)],
    })
    tx.send({ text: 'update tenants set version = version + 1' })
  })
}

const body = JSON.stringify({ transactionId: 'T-1', packageInfoList: [{ packageCode: 'JP_1_7', count: 1 }] })
const order = (parts = {}) => call(node, dealer, 'esim/order', { body, ...parts })
const RT_PARTS = { path: '/api/v1/open/esim/order', signatureHeader: 'RT-Signature' }
const rtOrder = (parts = {}) => order({ ...RT_PARTS, ...parts })

it('a request reaches the other cell unchanged, and the answer reaches the caller', async () => {
  const answer = await order({ headers: { 'X-Forwarded-For': '192.0.2.1' } })
  expect(answer).toMatchObject({ status: 409, text: '{"code":"200012","of":"the other cell"}' })
  expect(answer.headers).toMatchObject({ 'x-answer': 'kept', 'retry-after': '7' })
  expect(got).toMatchObject([{ url: '/open-api/v1/esim/order', body }])
  expect(got[0]!.headers).toMatchObject({
    'rt-accesscode': dealer.appKey,
    'x-forwarded-for': '127.0.0.1',
    via: '1.1 cell-main',
  })
  expect(await node.deps.db.query({ text: 'select from request_ids' })).toEqual([])
})

it('an absolute-form request is forwarded by its path', async () => {
  const connection = openConnection(node.port)
  connection.write(requestText(dealer, 'esim/order', { body }).replace(' /', ' http://gateway.example/'))
  const [answer] = await connection.answers(1)
  connection.destroy()
  expect(answer).toMatchObject({ status: 409, text: expect.stringContaining('the other cell') })
  expect(got).toMatchObject([{ url: '/open-api/v1/esim/order', body }])
})

it('the other cell checks the signature, because the secret may have changed there', async () => {
  expect((await order({ secret: 'changed in the other cell' })).status).toBe(409)
  expect(got).toHaveLength(1)
})

it('a request to the RT API is forwarded, whether signed or not', async () => {
  expect((await rtOrder()).text).toContain('the other cell')
  const unsigned = { 'RT-Signature': undefined, 'RT-RequestID': undefined, 'RT-Timestamp': undefined }
  expect((await rtOrder({ headers: unsigned })).text).toContain('the other cell')
  expect(got.map((one) => [one.url, one.body])).toEqual(Array(2).fill(['/api/v1/open/esim/order', body]))
})

it('a request that contains the secret is forwarded without asking for a compressed answer', async () => {
  const headers = { 'RT-SecretKey': dealer.appSecret, 'RT-Signature': undefined, 'Accept-Encoding': 'gzip' }
  expect((await rtOrder({ headers })).text).toContain('the other cell')
  expect(got[0]!.headers).toMatchObject({ 'rt-secretkey': dealer.appSecret })
  expect(got[0]!.headers['accept-encoding']).toBeUndefined()
})

it('a request that contains the secret is forwarded only to private addresses', async () => {
  const lines = new PassThrough().setEncoding('utf8')
  let logs = ''
  lines.on('data', (text: string) => (logs += text))
  const logging = await startNode(database.url, { CELL_NAME: 'main' }, { log: createLog('warn', lines) })
  const headers = { 'RT-SecretKey': dealer.appSecret, 'RT-Signature': undefined }
  await node.deps.db.query({
    text: `update tenant_moves set other_nodes = jsonb_set(other_nodes, '{0,host}', '"203.0.113.7"')`,
  })
  await node.deps.db.query({ text: 'update tenants set version = version + 1' })
  const answer = await call(logging, dealer, 'esim/order', { body, ...RT_PARTS, headers })
  expect(JSON.parse(answer.text).errorCode).toBe('900001')
  await waitUntil(async () => logs.includes('could not be forwarded'))
  expect(logs).toContain('203.0.113.7, which is not allowed: it is not in a private network')
  expect(got).toEqual([])
  await logging.stop()
})

it('a request skips an unreachable node, and is refused if no node can be reached', async () => {
  await moveTo(CLOSED_PORT, otherPort)
  expect((await order()).status).toBe(409)
  await moveTo(CLOSED_PORT)
  expect((await order()).code).toBe('000002')
  expect((await rtOrder()).data).toBeUndefined()
  expect(got).toHaveLength(1)
})

it('a cell that refuses this node for lack of HTTPS looks unavailable to callers of both APIs', async () => {
  const refusing = await startNode(database.url, { TRUSTED_PROXIES: '127.0.0.1' })
  answered = (await call(refusing, dealer, 'esim/order', { body })).text
  expect((await order()).code).toBe('000002')
  answered = (await call(refusing, dealer, '', { body, ...RT_PARTS })).text
  expect(JSON.parse((await rtOrder()).text).errorCode).toBe('900001')
  await refusing.stop()
})

it('a request with an unknown outcome is not sent again', async () => {
  await moveTo(otherPort, otherPort)
  drops = true
  expect((await order()).code).toBe('000001')
  expect(got).toHaveLength(1)
})

it('the other cell notices that a caller has disconnected, and does not count its answer as received', async () => {
  const path = '/api/v1/open/esim/topup'
  const caller = connect(node.port, '127.0.0.1')
  const held = new Promise<IncomingMessage>((resolve) => {
    hold = resolve
  })
  const head = [`POST ${path} HTTP/1.1`, 'Host: gateway', `RT-AccessCode: ${dealer.appKey}`, 'Content-Length: 2']
  caller.write(`${head.join('\r\n')}\r\n\r\n{}`)
  const { socket } = await held
  caller.destroy()
  await once(socket, 'close')
  await waitUntil(async () => logged.length > 0)
  expect(logged).toEqual(['forwarded'])
}, 20_000)

it('a request that has already passed through this cell is not forwarded again', async () => {
  expect((await order({ headers: { Via: '1.1 cell-main, 1.1 cell-eu1' } })).code).toBe('000002')
  expect((await order({ headers: { Via: '1.1 cell-us1' } })).status).toBe(409)
  expect(got.map(({ headers }) => headers.via)).toEqual(['1.1 cell-us1, 1.1 cell-main'])
})

it('a dealer that has moved back is served by this cell', async () => {
  expect((await order()).status).toBe(409)
  await node.deps.db.query({ text: `update tenant_moves set fenced_until = '-infinity'` })
  expect((await call(node, dealer, 'health')).code).toBe('000000')
})
