import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { FamilyAccount } from './family-program.ts'

/*
 * Two programs that know nothing about this gateway, written from the description of the family's API in the way that shops
 * and plug-ins do: neither signs its requests. They trust the HTTP status, then `success`, and repeat requests answered as
 * busy or pending.
 */

export interface Shop {
  balance(): Promise<number>
  /** Buys one eSIM and waits for it. */
  buy(locationCode: string, reference: string): Promise<{ iccid: string; esimTranNo: string; ac: string }>
  /** Tops up the eSIM with the cheapest fitting package. @returns its total volume */
  topUp(iccid: string, reference: string): Promise<number>
  cancel(iccid: string): Promise<void>
}

interface Reply {
  success: boolean
  errorCode: string | null
  errorMsg: string | null
  // biome-ignore lint/suspicious/noExplicitAny: a program that checks no types
  obj: any
}

/** Sends the given members, also an empty object. */
type Send = (operation: string, members: Record<string, unknown>) => Promise<Reply>

/** Sends only an access code, and JSON without empty members. */
export function plainShop(baseUrl: string, accessCode: string): Shop {
  return shop(async (operation, members) => {
    const response = await fetch(`${baseUrl}/api/v1/open/${operation}`, {
      method: 'POST',
      headers: { 'RT-AccessCode': accessCode, 'Content-Type': 'application/json' },
      body: JSON.stringify(members),
    })
    return readReply(response)
  })
}

const MEMBERS = [
  'orderNo',
  'iccid',
  'esimTranNo',
  'startTime',
  'endTime',
  'slug',
  'locationCode',
  'type',
  'transactionId',
]

/**
 * Sends a record in which every unused member is null or an empty string, alternately, and no body or Content-Type if there
 * are no members.
 */
export function carelessShop(baseUrl: string, accessCode: string): Shop {
  let sent = 0
  return shop(async (operation, members) => {
    sent++
    const unused = MEMBERS.filter((name) => !(name in members))
    const filled = Object.fromEntries(unused.map((name, index) => [name, (sent + index) % 2 === 0 ? null : '']))
    const hasBody = Object.keys(members).length > 0
    const response = await fetch(`${baseUrl}/api/v1/open/${operation}`, {
      method: 'POST',
      headers: { 'RT-AccessCode': accessCode, ...(hasBody && { 'Content-Type': 'application/json;charset=UTF-8' }) },
      ...(hasBody && { body: JSON.stringify({ ...filled, ...members, channel: 'web', extra: { id: null } }) }),
    })
    return readReply(response)
  })
}

async function readReply(response: Response): Promise<Reply> {
  if (response.status !== 200) throw new Error(`HTTP ${response.status}`)
  return (await response.json()) as Reply
}

function shop(send: Send): Shop {
  const request = async (operation: string, members: Record<string, unknown> = {}) => {
    for (let repeats = 0; ; repeats++) {
      const { success, errorCode, errorMsg, obj } = await send(operation, members)
      if (success) return obj
      if ((errorCode !== '900001' && errorCode !== '200010') || repeats === 200)
        throw new Error(`${errorCode} ${errorMsg}`)
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  }
  return {
    balance: async () => (await request('balance/query')).balance,
    async buy(locationCode, reference) {
      const { packageList } = await request('package/list', { locationCode, type: 'BASE' })
      const [cheapest] = cheapestFirst(packageList)
      const { orderNo } = await request('esim/order', {
        transactionId: reference,
        amount: cheapest.price,
        packageInfoList: [{ packageCode: cheapest.slug, count: 1, price: cheapest.price }],
      })
      const { esimList } = await request('esim/query', { orderNo, pager: { pageNum: 1, pageSize: 20 } })
      return esimList[0]
    },
    async topUp(iccid, reference) {
      const { packageList } = await request('package/list', { type: 'TOPUP', iccid })
      const [{ packageCode, price }] = cheapestFirst(packageList)
      const body = { iccid, packageCode, transactionId: reference, amount: price }
      return (await request('esim/topup', body)).totalVolume
    },
    async cancel(iccid) {
      await request('esim/cancel', { iccid })
    },
  }
}

interface Package {
  packageCode: string
  slug: string
  dataType: number
  price: number
  volume: number
}

/** Packages with a total volume, the only ones that this shop sells. */
function cheapestFirst(packages: Package[]): [Package] {
  const total = packages.filter(({ dataType }) => dataType === 1)
  return total.toSorted((left, right) => left.price - right.price || left.volume - right.volume) as [Package]
}

/*
 * A program that knows nothing about this gateway, written from the description of the family's API. It recognises a
 * pending order only by the text of errorMsg, and considers any other failure the end of the order. It signs with 32
 * hexadecimal digits, sends every body as curl does, identifies packages by slug, offers only top-ups with supportTopUpType
 * 2, and answers an event without a valid RT-Signature with 401.
 */

interface Esim {
  esimTranNo: string
  iccid: string
  ac: string
}

export interface TextShop {
  /** Saves its receiver's address. */
  saveAddress(): Promise<void>
  balance(): Promise<number>
  /** Buys one eSIM and fetches it. Calls `onPending` for each answer that says that the order is pending. */
  buy(slug: string, reference: string, onPending: () => void): Promise<Esim>
  /** Tops up the eSIM with the package as which it was bought. @returns its total volume */
  topUp(esim: Esim, slug: string): Promise<number>
  cancel(esim: Esim): Promise<void>
  /** The orders that events have reported as delivered. */
  delivered: { orderNo: string; transactionId: string }[]
  unsigned: number
  close(): Promise<void>
}

export async function startTextShop(baseUrl: string, account: FamilyAccount): Promise<TextShop> {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const text = Buffer.concat(chunks).toString()
      const isSigned = isSignedBy(account, request.headers, text)
      if (!isSigned) shop.unsigned++
      else if (JSON.parse(text).notifyType === 'ORDER_STATUS') shop.delivered.push(JSON.parse(text).content)
      response.writeHead(isSigned ? 200 : 401).end()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))

  async function post(operation: string, body: object): Promise<Reply> {
    const text = JSON.stringify(body)
    const requestId = randomBytes(16).toString('hex')
    const timestamp = String(Date.now())
    const response = await fetch(`${baseUrl}/api/v1/open/${operation}`, {
      method: 'POST',
      headers: {
        'RT-AccessCode': account.appKey,
        'RT-RequestID': requestId,
        'RT-Timestamp': timestamp,
        'RT-Signature': signatureOf(account, timestamp, requestId, text),
        'Content-Type': 'application/x-www-form-urlencoded',
      },
      body: Buffer.from(text),
    })
    if (response.status !== 200) throw new Error(`HTTP ${response.status}`)
    return (await response.json()) as Reply
  }
  async function must(operation: string, body: object) {
    const { success, errorMsg, obj } = await post(operation, body)
    if (!success) throw new Error(`${operation}: ${errorMsg}`)
    return obj
  }

  const shop: TextShop = {
    ...{ delivered: [], unsigned: 0 },
    async saveAddress() {
      await must('webhook/save', { webhook: `http://127.0.0.1:${(server.address() as AddressInfo).port}/esim` })
    },
    balance: async () => (await must('balance/query', {})).balance,
    async buy(slug, reference, onPending) {
      const { packageList } = await must('package/list', { type: 'BASE', slug, packageCode: '', iccid: '' })
      const { price } = packageList[0]
      const line = { packageCode: slug, count: '1', price: String(price) }
      await must('esim/order', { transactionId: reference, amount: String(price), packageInfoList: [line] })
      const filter = { orderNo: '', transactionId: reference, iccid: '', pager: { pageNum: 1, pageSize: 50 } }
      for (;;) {
        const { success, errorMsg, obj } = await post('esim/query', filter)
        if (success) return obj.esimList[0]
        if (!errorMsg?.includes('getting resource')) throw new Error(`refunded the customer: ${errorMsg}`)
        onPending()
        await new Promise((resolve) => setTimeout(resolve, 50))
      }
    },
    async topUp({ esimTranNo }, slug) {
      const { packageList } = await must('package/list', { type: 'TOPUP', slug })
      const offered = packageList.filter((one: { supportTopUpType: number }) => one.supportTopUpType === 2)
      if (offered.length === 0) throw new Error('nothing to top up with')
      const answer = await must('esim/topup', { esimTranNo, packageCode: slug, transactionId: `top-${esimTranNo}` })
      if (answer.topUpEsimTranNo !== esimTranNo) throw new Error('another eSIM was topped up')
      return answer.totalVolume
    },
    async cancel({ iccid }) {
      await must('esim/cancel', { iccid })
    },
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
  return shop
}

function signatureOf({ appKey, appSecret }: FamilyAccount, timestamp: string, requestId: string, text: string): string {
  return createHmac('sha256', appSecret)
    .update(timestamp + requestId + appKey + text)
    .digest('hex')
}

function isSignedBy(account: FamilyAccount, headers: IncomingHttpHeaders, text: string): boolean {
  const expected = signatureOf(account, String(headers['rt-timestamp']), String(headers['rt-requestid']), text)
  const given = String(headers['rt-signature'] ?? '')
  return given.length === expected.length && timingSafeEqual(Buffer.from(given), Buffer.from(expected))
}
