import { createHmac, timingSafeEqual } from 'node:crypto'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type FamilyAccount, type FamilyAnswer, familyCall } from './family-program.ts'

/** A notification of the family. */
interface FamilyEvent {
  notifyType: string
  notifyId: string
  eventGenerateTime: string
  // biome-ignore lint/suspicious/noExplicitAny: tests check the members of any content
  content: any
}

interface FamilyReceived {
  event: FamilyEvent
  /** The body as it arrived. */
  text: string
  headers: IncomingHttpHeaders
  isSigned: boolean
}

export interface FamilyReceiver {
  url: string
  received: FamilyReceived[]
  /** The answers to `esim/query` that it fetched after ORDER_STATUS. */
  fetched: FamilyAnswer[]
  /** Answers this many of the next notifications with 500. */
  failures: number
  close(): Promise<void>
}

/**
 * Receives notifications as the family's shops do: it reads the body, and after ORDER_STATUS fetches the order's eSIMs. It
 * checks RT-Signature, as receivers that verify events do. It is written from the descriptions of their API and of our
 * signing, independently of our code.
 */
export async function startFamilyReceiver(baseUrl: string, account: FamilyAccount): Promise<FamilyReceiver> {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const text = Buffer.concat(chunks).toString()
      const event = JSON.parse(text) as FamilyEvent
      const { headers } = request
      receiver.received.push({ event, text, headers, isSigned: isSigned(account, headers, text) })
      const fails = event.notifyType !== 'CHECK_HEALTH' && receiver.failures > 0
      if (fails) receiver.failures--
      response.writeHead(fails ? 500 : 200).end()
      if (!fails && event.notifyType === 'ORDER_STATUS') void fetchEsims(event.content.orderNo)
    })
  })
  const fetchEsims = async (orderNo: string) => {
    receiver.fetched.push(await familyCall(baseUrl, account, 'esim/query', { orderNo, iccid: '' }))
  }
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const receiver: FamilyReceiver = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/family`,
    received: [],
    fetched: [],
    failures: 0,
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
  return receiver
}

function isSigned({ appKey, appSecret }: FamilyAccount, headers: IncomingHttpHeaders, text: string): boolean {
  const { 'rt-timestamp': timestamp, 'rt-requestid': requestId, 'rt-accesscode': accessCode } = headers
  if (accessCode !== appKey) return false
  const expected = createHmac('sha256', appSecret).update(`${timestamp}${requestId}${accessCode}${text}`).digest('hex')
  if (headers['x-signature'] !== headers['rt-signature']) return false
  const given = String(headers['rt-signature'] ?? '')
  return given.length === expected.length && timingSafeEqual(Buffer.from(given), Buffer.from(expected))
}
