import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { systemClock } from '@dealer-esim/lib/clock.ts'
import { silentLog } from '@dealer-esim/lib/telemetry/log.ts'
import { expect, test } from 'vitest'
import { createLoadShedder } from '#http/load-shedding/load-shedder.ts'
import { createListWriter, ListStream } from '#http/rt/list-stream.ts'

/** A page of hardly compressible bytes: the compressor's window holds a sixth of it. */
const PAGE = Array.from({ length: 100 }, () => ({ text: randomBytes(750).toString('base64') }))
const GZIP = 'Accept-Encoding: gzip\r\n'

/** Serves an endless list to one caller. @returns the results of `write`, and the number of pages accepted */
async function serve(
  limits: { stalledMs?: number; lastsMaxMs?: number },
  { reads, encoding = '' }: { reads: boolean; encoding?: string },
): Promise<[boolean, number]> {
  let pages = 0
  async function* endless(): AsyncGenerator<object[], void> {
    for (;;) {
      pages++
      yield PAGE
    }
  }
  const writer = createListWriter(createLoadShedder({ clock: systemClock, log: silentLog }), limits)
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const caller = connect((server.address() as AddressInfo).port, '127.0.0.1')
  if (reads) caller.resume()
  caller.on('error', () => {})
  caller.write(`GET / HTTP/1.1\r\nHost: x\r\n${encoding}\r\n`)
  const [, response] = (await once(server, 'request')) as [IncomingMessage, ServerResponse]
  writer.begin('T')
  const isComplete = await writer.write(
    response,
    'T',
    new ListStream('list', endless(), undefined),
    ['', ''],
    encoding !== '',
  )
  caller.destroy()
  server.close()
  return [isComplete, pages]
}

test.each(['', GZIP])('a caller that does not read its list is disconnected after a while (%j)', async (encoding) => {
  const [isComplete, pages] = await serve({ stalledMs: 50 }, { reads: false, encoding })
  expect(isComplete).toBe(false)
  // The connection's buffers hold at most a few hundred pages of a hundred kilobytes.
  expect(pages).toBeLessThan(500)
})

test.each(['', GZIP])('an answer is cut off after its maximum time, however fast it is read (%j)', async (encoding) => {
  expect(await serve({ lastsMaxMs: 50 }, { reads: true, encoding })).toEqual([false, expect.any(Number)])
})

test('a tenant can read eight lists at the same time without blocking other tenants', () => {
  const writer = createListWriter(createLoadShedder({ clock: systemClock, log: silentLog }))
  for (let lists = 0; lists < 8; lists++) writer.begin('T')
  expect(() => writer.begin('T')).toThrow(expect.objectContaining({ code: '000002' }))
  expect(() => writer.begin('U')).not.toThrow()
})
