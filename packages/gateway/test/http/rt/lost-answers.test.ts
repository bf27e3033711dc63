import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import type { Db, Statement } from '@dealer-esim/lib/postgres/db.ts'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { recordReport } from '#orders/unanswered-topup.ts'
import { waitUntil } from '#test/harness/shop.ts'
import { type Esim, GB, PRICE } from '#test/orders/topups/topup-testbed.ts'
import { familyHeaders } from './family-program.ts'
import { createRtTestbed, type RtTestbed } from './rt-testbed.ts'

/*
 * Top-ups without a transactionId for which the database or the connection loses an answer. In every case the repeat is not
 * debited again, and a call after an answer that arrived is a new top-up.
 */

let bed: RtTestbed
let restore: () => void = () => {}
beforeAll(async () => {
  bed = await createRtTestbed()
})
afterEach(() => restore())
afterAll(async () => {
  expect(await bed.faults()).toEqual([])
  await bed.close()
})

const IN_PROGRESS = { errorCode: '900001', errorMsg: expect.stringContaining('The request is still in progress.') }
const body = ({ esimTranNo }: Esim) => ({ esimTranNo, packageCode: 'JP_1_7_TOPUP' })
const topUp = (esim: Esim) => bed.post('esim/topup', body(esim))

/** Passes statements with this name to `run` until the end of the test. */
function intercept(name: string, run: (statement: Statement, query: Db['query']) => Promise<unknown>): void {
  const { db } = bed.node.deps
  const { query } = db
  Object.assign(db, {
    query: (statement: Statement) => (statement.name === name ? run(statement, query) : query(statement)),
  })
  restore = () => void Object.assign(db, { query })
}

function connectionLost(): Error {
  return new Error('Connection terminated unexpectedly')
}

/** Sends the top-up without reading the answer. */
function send(esim: Esim): Socket {
  const text = JSON.stringify(body(esim))
  const { hostname, port } = new URL(bed.node.baseUrl)
  const headers = { ...familyHeaders(bed.dealer, text), Host: hostname, 'Content-Length': Buffer.byteLength(text) }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  const socket = connect(Number(port), hostname)
  socket.on('error', () => {})
  socket.write(`POST /api/v1/open/esim/topup HTTP/1.1\r\n${lines.join('')}\r\n${text}`)
  return socket
}

async function expectOneDebitAndThenAnother(esim: Esim, before: number): Promise<void> {
  const { errorCode, obj } = await topUp(esim)
  expect([errorCode, obj.totalVolume]).toEqual([null, 2 * GB])
  expect(await bed.balance()).toBe(before - PRICE)
  expect((await topUp(esim)).obj.totalVolume).toBe(3 * GB)
  expect(await bed.balance()).toBe(before - 2 * PRICE)
}

describe('a top-up without a transactionId', () => {
  test('is answered even if the confirmation of its recorded end is lost', async () => {
    const esim = await bed.delivered()
    const before = await bed.balance()
    let lost = 0
    intercept('orders-report', async (statement, query) => {
      await query(statement)
      if (lost++ === 0) throw connectionLost()
    })
    await expectOneDebitAndThenAnother(esim, before)
    expect(lost).toBe(3)
  })

  test('is answered even if the database is lost at its end, and a repeat is not debited', async () => {
    const esim = await bed.delivered()
    const before = await bed.balance()
    intercept('orders-report', () => Promise.reject(connectionLost()))
    expect((await topUp(esim)).errorCode).toBe(null)
    restore()
    await expectOneDebitAndThenAnother(esim, before)
  })

  test('is answered with 900001 if its end cannot be recorded because the dealer is being moved', async () => {
    const esim = await bed.delivered()
    const before = await bed.balance()
    const refuse = { text: `do $$ begin raise exception using errcode = 'lock_not_available'; end $$` }
    intercept('orders-report', (_, query) => query(refuse))
    expect(await topUp(esim)).toMatchObject(IN_PROGRESS)
    restore()
    await expectOneDebitAndThenAnother(esim, before)
  })

  test('is reported as in progress, not as unavailable, if the database is lost during the wait', async () => {
    const esim = await bed.delivered()
    const before = await bed.balance()
    intercept('orders-awaited', () => Promise.reject(connectionLost()))
    expect(await topUp(esim)).toMatchObject(IN_PROGRESS)
    restore()
    await expectOneDebitAndThenAnother(esim, before)
  }, 20_000)

  test('is not debited again when it is repeated after its caller disconnected during the answer', async () => {
    const esim = await bed.delivered()
    const before = await bed.balance()
    const accepted = nextServerSocket()
    let caller: Socket
    const answered = new Promise<void>((resolve) =>
      intercept('orders-report', async (statement, query) => {
        caller.destroy()
        await once(await accepted, 'close')
        await query(statement)
        resolve()
      }),
    )
    caller = send(esim)
    await answered
    restore()
    await waitUntil(async () => (await unansweredTopUps(esim)) === 1)
    await expectOneDebitAndThenAnother(esim, before)
  })
})

describe('the record that the end of a top-up was reported', () => {
  test('is undone if writing the answer fails', async () => {
    const esim = await bed.delivered()
    const before = await bed.balance()
    const accepted = nextServerSocket()
    intercept('orders-report', async (statement, query) => {
      failWrites(await accepted)
      await query(statement)
    })
    const caller = send(esim)
    await once(caller, 'close')
    restore()
    await waitUntil(async () => (await unansweredTopUps(esim)) === 1)
    await expectOneDebitAndThenAnother(esim, before)
  })

  test('is undone immediately if the caller disconnects before the database confirms the report', async () => {
    const esim = await bed.delivered()
    const before = await bed.balance()
    let caller: Socket
    let tries = 0
    const confirmed = new Promise<void>((resolve) =>
      intercept('orders-report', async (statement, query) => {
        tries++
        await query(statement)
        caller.destroy()
        await waitUntil(async () => (await unansweredTopUps(esim)) === 1)
        resolve()
        throw connectionLost()
      }),
    )
    caller = send(esim)
    await confirmed
    restore()
    await expectOneDebitAndThenAnother(esim, before)
    expect(tries).toBe(1)
  })

  test('is kept if only one of the two reporting calls lost its answer', async () => {
    const esim = await bed.delivered()
    expect((await topUp(esim)).errorCode).toBe(null)
    const { db } = bed.node.deps
    const [order] = await db.query<{ tenantId: string; orderId: string; answeredBy: string[] }>({
      text: `select tenant_id, order_id, sent -> 'answeredBy' as answered_by from orders where topped_up_profile_id = $1`,
      values: [esim.esimTranNo],
    })
    const { answeredBy, ...report } = order!
    const undo: (() => Promise<void>)[] = []
    await recordReport(db, { ...report, callId: 'other' }, (one) => undo.push(one))
    await undo[0]!()
    expect(await unansweredTopUps(esim)).toBe(0)
    await recordReport(db, { ...report, callId: answeredBy[0]! }, (one) => undo.push(one))
    await undo[1]!()
    expect(await unansweredTopUps(esim)).toBe(1)
  })
})

/** Makes every write to a connection fail, as after a reset that has not been read yet. */
function failWrites(socket: Socket): void {
  const fail = (_writev: boolean, _data: unknown, _encoding: string, done: (error: Error) => void) =>
    done(Object.assign(new Error('write EPIPE'), { code: 'EPIPE' }))
  Object.assign(socket, { _writeGeneric: fail })
}

/** The gateway's side of the connection on which the next request arrives. */
function nextServerSocket(): Promise<Socket> {
  return new Promise((resolve) => {
    const take = (message: unknown) => {
      unsubscribe(CHANNEL, take)
      resolve((message as { socket: Socket }).socket)
    }
    subscribe(CHANNEL, take)
  })
}

const CHANNEL = 'http.server.request.start'

const unansweredTopUps = ({ esimTranNo }: Esim) =>
  bed.count(`orders where topped_up_profile_id = $1 and sent ->> 'isUnanswered' is not null`, esimTranNo)
