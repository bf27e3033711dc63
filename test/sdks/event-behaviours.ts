import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { APP_SECRET, EVENT, signedEvent } from '@dealer-esim/sdk/test/signed-event.ts'
import { expect, test, vi } from 'vitest'
import { root } from '../local-gateway.ts'
import { type CommandName, InvalidArgument, Thrown } from './drivers.ts'

const vectors = JSON.parse(readFileSync(join(root, 'test/vectors/signing.json'), 'utf8'))
const LINES = [{ packageCode: 'JP_1_7', count: 1 }]

interface Tools {
  // biome-ignore lint/suspicious/noExplicitAny: results are JSON of all operations
  run(name: CommandName, parameters: object): Promise<any>
  caught(name: CommandName, parameters: object): Promise<Thrown>
  live(method: string, request: object): object
  id(name: string): string
  credentials(): { appSecret: string }
  /** What a live gateway has posted. */
  received: readonly { headers: Record<string, string>; body: string }[]
}

/** For what follows an answer; the tests run simultaneously, so `expect.poll` does not know its test. */
export const WITHIN = { timeout: 20_000, interval: 50 }

/** The behaviours of every SDK that concern events, and money, which they carry. */
export function describeEvents({ run, caught, live, id, credentials, received }: Tools): void {
  test.sequential('verifies the events of a live gateway, and refuses a changed, a foreign and an old one', async () => {
    const { orderNo } = await run('call', live('order', { transactionId: id('EVENT'), packageInfoList: LINES }))
    const ofOrder = () => received.filter(({ body }) => body.includes(orderNo))
    await vi.waitFor(
      () =>
        expect(
          ofOrder()
            .map(({ body }) => body)
            .join(),
        ).toContain('DELIVERED'),
      WITHIN,
    )
    const secrets = [credentials().appSecret]
    const nowMs = Date.now()
    for (const event of ofOrder()) {
      expect(await run('verify', { secrets, ...event, nowMs })).toEqual(JSON.parse(event.body))
      expect(await run('verify', { secrets: ['the-new-secret', ...secrets], ...event, nowMs })).toBeTypeOf('object')
      for (const wrong of [
        { secrets: ['another-secret'] },
        { body: `${event.body}\n` },
        { nowMs: nowMs + 400_000 },
        { nowMs: nowMs - 400_000 },
        { headers: {} },
      ]) {
        const error = await caught('verify', { secrets, ...event, nowMs, ...wrong })
        expect(error, JSON.stringify(wrong)).toMatchObject({ members: { code: 'EVENT_REFUSED' } })
      }
    }
  })

  test.sequential('verifies either signature of an event, and every vector', async () => {
    const nowMs = Date.now()
    const verify = (event: { headers: object; body: string }) =>
      run('verify', { secrets: [APP_SECRET], ...event, nowMs })
    expect(await verify(signedEvent({ standard: null }))).toEqual(EVENT)
    expect(await verify(signedEvent({ request: null }))).toEqual(EVENT)
    expect(await verify(signedEvent({ standard: ['new', APP_SECRET], request: null }))).toEqual(EVENT)
    await expect(verify(signedEvent({ standard: ['new'], request: 'new' }))).rejects.toThrow(Thrown)
    await expect(verify(signedEvent({ event: { notifyId: 'x' } }))).rejects.toThrow('not an event')
    for (const { id: notifyId, timestampS, appSecrets, body, signature } of vectors.events) {
      const headers = {
        'webhook-id': notifyId,
        'webhook-timestamp': String(timestampS),
        'webhook-signature': signature,
      }
      const command = { headers, body, nowMs: timestampS * 1000 }
      for (const secret of appSecrets) {
        const outcome = await run('verify', { secrets: [secret], ...command }).catch((error) => error)
        // One of the vectors is signed, but is not an event.
        if (body.includes('notifyId')) expect(outcome).toEqual(JSON.parse(body))
        else expect(outcome.message).toContain('It is signed, but it is not an event.')
      }
    }
  })

  test.sequential('answers the calls of a webhook', async () => {
    const receive = (event: { headers: object; body: string }, more: object = {}) =>
      run('receive', { secret: APP_SECRET, method: 'POST', failing: false, ...event, ...more })
    expect(await receive(signedEvent())).toEqual({ status: 204, events: [EVENT] })
    expect(await receive(signedEvent(), { failing: true })).toEqual({ status: 500, events: [EVENT] })
    expect(await receive(signedEvent({ event: { ...EVENT, notifyType: 'CHECK_HEALTH', content: {} } }))).toEqual({
      status: 204,
      events: [],
    })
    const unknown = { ...EVENT, notifyType: 'SOMETHING_NEW' }
    expect(await receive(signedEvent({ event: unknown }))).toEqual({ status: 204, events: [unknown] })
    expect(await receive(signedEvent(), { secret: 'another' })).toEqual({ status: 401, events: [] })
    expect(await receive(signedEvent(), { method: 'GET', body: '' })).toEqual({ status: 405, events: [] })
    expect(await receive({ headers: {}, body: 'x'.repeat(1024 * 1024 + 1) })).toEqual({ status: 413, events: [] })
  })

  test.sequential('formats and reads money without loss', async () => {
    for (const [units, text] of [
      [45_000, '4.50'],
      [-12_345, '-1.2345'],
      [0, '0.00'],
      [12_500_000, '1250.00'],
      [9_007_199_254_740_991, '900719925474.0991'],
    ] as const) {
      expect(await run('format', { units })).toBe(text)
      expect(await run('parse', { text })).toBe(units)
    }
    for (const text of ['4,50', '1.23456', '1e3', '', '4.', '٤', '900719925474.0992', '1\n'])
      await expect(run('parse', { text }), text).rejects.toThrow(InvalidArgument)
  })
}
