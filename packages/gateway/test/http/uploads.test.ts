import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createAccessToken } from '#people/account/access-token.ts'
import { createPerson } from '#people/manage-people.ts'
import type { Role } from '#people/person.ts'
import { SYSTEM } from '#platform/audit/audit.ts'
import { changeSettings } from '#tenants/tenant-settings.ts'
import { addDealer, call, type Dealer, type Node, OPERATOR, startNode } from '#test/harness/api-node.ts'
import { createTestDatabase, type TestDatabase } from '#test/harness/databases/database.ts'
import { OPEN_REQUESTS_MAX } from '#wallet/requests/create-request.ts'
import { RECEIPT_SIZE_MAX_BYTES } from '#wallet/requests/receipt.ts'
import { ORIGIN, PASSWORD, signedInAs, startConsole } from './console/console-testbed.ts'
import { openConnection, type RawAnswer, type RawConnection } from './raw-connection.ts'

/*
 * Uploads by one dealer do not delay others: they are few, they are refused before their bodies arrive, and they are sent
 * as octets.
 */

let database: TestDatabase
let node: Node

beforeAll(async () => {
  database = await createTestDatabase()
  node = await startNode(database.url, { CONSOLE: 'on' })
})
afterAll(async () => {
  await node.stop()
  await database.drop()
})

/** A person's access token, which does not need a browser. */
async function tokenOf(role: Role, tenantId: string | null): Promise<string> {
  const { db, ids } = node.deps
  const email = `${ids.uuid()}@people.test`
  return db.tx(async (tx) => {
    const person = { email, name: 'A. Person', role, tenantId, oneTimePassword: PASSWORD }
    const { personId } = await createPerson(tx, ids, person, SYSTEM)
    tx.send({
      text: 'update people set password_change_required = false where person_id = $1',
      values: [personId],
    })
    return (await createAccessToken(tx, ids, personId, { name: 'Uploads', scope: 'WRITE', days: 1 })).token
  })
}

interface Sender {
  dealer: Dealer
  token: string
}

async function sender(): Promise<Sender> {
  const dealer = await addDealer(node.deps, 0)
  return { dealer, token: await tokenOf('DEALER_STAFF', dealer.tenantId) }
}

const PDF = Buffer.concat([Buffer.from('%PDF-1.7\n'), Buffer.alloc(RECEIPT_SIZE_MAX_BYTES - 9, 7)])
let references = 0

interface Upload {
  amount?: number
  reference?: string
  length?: number
  token?: string
}

/** The head of a receipt upload. */
function head({ dealer, token: own }: Sender, upload: Upload = {}): string {
  const { amount = 10_000, reference = `R-${references++}`, length = PDF.length, token = own } = upload
  const query = `amount=${amount}&reference=${reference}&fileName=receipt.pdf`
  return [
    `POST /console/api/tenants/${dealer.tenantId}/top-up-requests/with-receipt?${query} HTTP/1.1`,
    'Host: gateway',
    `Authorization: Bearer ${token}`,
    'Content-Type: application/pdf',
    `Content-Length: ${length}`,
    '\r\n',
  ].join('\r\n')
}

/** The answer to the head alone. */
async function answerToHead(from: Sender, upload?: Upload): Promise<RawAnswer> {
  const connection = openConnection(node.port)
  connection.write(head(from, upload))
  const [answer] = await connection.answers(1)
  connection.destroy()
  return answer!
}

/** An upload whose last byte never arrives. */
function hangingUpload(from: Sender): RawConnection {
  const connection = openConnection(node.port)
  connection.write(head(from))
  connection.write(PDF.subarray(0, -1))
  return connection
}

/** The first of these connections to be answered although its upload is not complete. */
function firstRefusal(hanging: readonly RawConnection[]): Promise<RawAnswer> {
  return Promise.any(hanging.map(async (connection) => (await connection.answers(1))[0]!))
}

async function upload(from: Sender): Promise<RawAnswer> {
  const connection = openConnection(node.port)
  connection.write(head(from))
  connection.write(PDF)
  const [answer] = await connection.answers(1)
  connection.destroy()
  return answer!
}

describe('a receipt', () => {
  it('is uploaded as bytes and stored unchanged', async () => {
    const from = await sender()
    const answer = await upload(from)
    expect(answer.status).toBe(200)
    const rows = await node.deps.db.query<{ fileName: string; mediaType: string; content: Buffer }>({
      text: 'select file_name, media_type, content from top_up_receipts where tenant_id = $1',
      values: [from.dealer.tenantId],
    })
    expect(rows).toMatchObject([{ fileName: 'receipt.pdf', mediaType: 'application/pdf' }])
    expect(rows[0]!.content.equals(PDF)).toBe(true)
  })

  it('in Base64 may be as large as any other request', async () => {
    const { dealer, token } = await sender()
    const send = (content: Buffer, reference: string) =>
      fetch(`${node.baseUrl}/console/api/tenants/${dealer.tenantId}/top-up-requests`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify({
          ...{ amount: 10_000, reference },
          receipt: { fileName: 'small.pdf', content: content.toString('base64') },
        }),
      })
    expect((await send(PDF.subarray(0, 150_000), 'small')).status).toBe(200)
    const refused = await send(PDF.subarray(0, 250_000), 'large')
    expect([refused.status, (await refused.json()).message]).toEqual([413, expect.stringContaining('with-receipt')])
  })
})

describe('an upload is refused before its body arrives', () => {
  it('without permission, for another dealer, with a malformed query or if it is too large', async () => {
    const [from, other] = [await sender(), await sender()]
    const operator = await tokenOf('OPERATOR_STAFF', null)
    expect((await answerToHead(from, { token: 'dep_nobody' })).status).toBe(401)
    expect((await answerToHead(from, { token: operator })).status).toBe(403)
    expect((await answerToHead(from, { token: other.token })).status).toBe(404)
    expect((await answerToHead(from, { amount: Number.NaN })).status).toBe(400)
    expect((await answerToHead(from, { amount: -1 })).status).toBe(422)
    expect((await answerToHead(from, { length: PDF.length + 1 })).status).toBe(413)
  })

  it('if its reference has a different amount, or if too many requests are open', async () => {
    const from = await sender()
    const { dealer, token } = from
    const ask = (reference: string) =>
      fetch(`${node.baseUrl}/console/api/tenants/${dealer.tenantId}/top-up-requests`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify({ amount: 10_000, reference }),
      })
    for (let asked = 0; asked < OPEN_REQUESTS_MAX; asked++) expect((await ask(`open-${asked}`)).status).toBe(200)
    const used = await answerToHead(from, { reference: 'open-1', amount: 20_000 })
    expect([used.status, used.code]).toEqual([409, 'REFERENCE_USED'])
    const open = await answerToHead(from)
    expect([open.status, open.code]).toEqual([409, 'TOO_MANY_REQUESTS_OPEN'])
  })
})

describe('uploads in progress', () => {
  it('are limited to two per dealer, and another dealer’s upload is still accepted', async () => {
    const [from, other] = [await sender(), await sender()]
    const hanging = [hangingUpload(from), hangingUpload(from), hangingUpload(from)]
    expect(await firstRefusal(hanging)).toMatchObject({ status: 429, code: 'TOO_MANY_CALLS' })
    const refused = await answerToHead(from)
    expect(refused.status).toBe(429)
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0)
    expect((await upload(other)).status).toBe(200)
    for (const connection of hanging) connection.write(PDF.subarray(-1))
    const statuses = await Promise.all(hanging.map(async (each) => (await each.answers(1))[0]!.status))
    expect(statuses.toSorted()).toEqual([200, 200, 429])
    expect((await upload(from)).status).toBe(200)
    for (const connection of hanging) connection.destroy()
  })

  it('are limited to eight per node; another is accepted once one ends or its sender disconnects', async () => {
    const others = await Promise.all(Array.from({ length: 4 }, sender))
    const from = await sender()
    const hanging = [...others.flatMap((other) => [hangingUpload(other), hangingUpload(other)]), hangingUpload(from)]
    const refused = await firstRefusal(hanging)
    expect([refused.status, refused.code]).toEqual([503, 'BUSY'])
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0)
    for (const connection of hanging) connection.destroy()
    await expect.poll(async () => (await upload(from)).status).toBe(200)
  })

  it('are limited to ten per dealer, plus one every six seconds', async () => {
    const from = await sender()
    for (let sent = 0; sent < 10; sent++) expect((await upload(from)).status).toBe(sent < OPEN_REQUESTS_MAX ? 200 : 409)
    let refused = await answerToHead(from)
    // The rate allows one more if the ten have taken longer than six seconds.
    for (let more = 0; refused.status === 409 && more < 10; more++) refused = await answerToHead(from)
    expect(refused.status).toBe(429)
    expect(Number(refused.headers['retry-after'])).toBeLessThanOrEqual(6)
  })

  it('neither delay another dealer’s calls nor exhaust memory when there are sixty', async () => {
    const from = await sender()
    const other = await addDealer(node.deps, 0)
    await changeSettings(node.deps, other.tenantId, { qpsLimit: 10_000 }, OPERATOR)
    await call(node, other, 'health')
    const aloneStartedAt = performance.now()
    expect((await upload(await sender())).status).toBe(200)
    const oneUploadMs = performance.now() - aloneStartedAt
    const before = process.memoryUsage().rss
    let isOver = false
    const uploads = Promise.all(Array.from({ length: 60 }, () => upload(from))).finally(() => {
      isOver = true
    })
    let slowestMs = 0
    while (!isOver) {
      const startedAt = performance.now()
      expect((await call(node, other, 'health')).code).toBe('000000')
      slowestMs = Math.max(slowestMs, performance.now() - startedAt)
    }
    const statuses = (await uploads).map(({ status }) => status)
    const taken = statuses.filter((status) => status === 200).length
    expect(taken).toBeGreaterThan(0)
    expect(taken).toBeLessThanOrEqual(OPEN_REQUESTS_MAX)
    // 409: the rate allows one more after six seconds, and by then the maximum number of requests are open.
    expect(statuses.filter((status) => ![200, 409, 429].includes(status))).toEqual([])
    // The senders run in this process too: without limits this took seconds, and 350 MB in the gateway alone. The eight in
    // progress may all be parsed before the call; sixty may not.
    expect(slowestMs).toBeLessThan(Math.max(20 * oneUploadMs, 2_000))
    expect(process.memoryUsage().rss - before).toBeLessThan(300 * 1024 * 1024)
  })
})

it('unfinished console bodies share a budget, and are refused beyond it', async () => {
  const bed = await startConsole({ bodiesMaxBytes: 500_000 })
  await bed.app.listen({ port: 0, host: '127.0.0.1' })
  const { port } = bed.app.server.address() as AddressInfo
  const crowd = await Promise.all(Array.from({ length: 3 }, () => signedInAs(bed, 'OPERATOR_ADMIN')))
  const hanging = crowd.map(({ cookie }) => {
    const connection = openConnection(port)
    const lines = ['Host: gateway', `Origin: ${ORIGIN}`, `Cookie: ${cookie}`, 'Content-Type: application/json']
    connection.write(`POST /console/api/tenants HTTP/1.1\r\n${lines.join('\r\n')}\r\nContent-Length: 240000\r\n\r\n`)
    connection.write(Buffer.alloc(230_000, ' '))
    return connection
  })
  const refused = await firstRefusal(hanging)
  expect([refused.status, refused.headers['retry-after']]).toEqual([503, '1'])
  expect((await crowd[0]!.call('POST', '/tenants', { clientName: 'A dealer', currencyCode: 'USD' })).status).toBe(200)
  for (const connection of hanging) connection.destroy()
  await bed.stop()
})
