import type { IncomingHttpHeaders } from 'node:http'
import { createServer, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import { makeIccid } from '@dealer-esim/contract'
import { createAuthority, type TestCertificate } from './certificates.ts'

/** The fault of a function, until it is changed. */
type Es2plusFault =
  | 'none'
  /** Executed, but the connection breaks before the answer is sent. */
  | 'lost'
  /** The connection breaks, alternately before and after execution. A repeat succeeds. */
  | 'dies'
  /** Executed immediately, but answered only after `lateMs`. */
  | 'late'
  /** Refuses with 8.2.5/3.7: always, or (`half`) every second time. */
  | 'refuse'
  | 'half'
  | 'http-500'
  | 'nonsense'
  | { subjectCode: string; reasonCode: string }

interface SmdpOrder {
  profileType: string
  matchingId?: string
  state: 'ALLOCATED' | 'CONFIRMED' | 'RELEASED' | 'INSTALLED' | 'UNAVAILABLE'
}

/** A small, strict SM-DP+ that speaks ES2+ over mutual TLS and refuses to do anything twice. `orders` is the truth. */
export interface Es2plusServer {
  url: string
  /** The client certificate to use in the supplier's configuration. */
  identity: TestCertificate & { ca: string }
  fault: Partial<Record<string, Es2plusFault>>
  /** Members that override those of a function's answer. */
  answers: Partial<Record<string, object>>
  /** True if the fault also applies to a repeated DownloadOrder. */
  faultsRepeats: boolean
  lateMs: number
  /** True if its answers pad ICCIDs with F. */
  padsIccids: boolean
  requests: { path: string; headers: IncomingHttpHeaders; body: Record<string, unknown> }[]
  orders: Map<string, SmdpOrder>
  /** ICCIDs sold and not cancelled. */
  soldIccids(): string[]
  close(): Promise<void>
}

export async function startEs2plusServer(): Promise<Es2plusServer> {
  const authority = createAuthority('Test SM-DP+ authority')
  const own = authority.issue('localhost')
  const client = authority.issue('gateway')
  const counters = { orders: 0, serial: 0 }
  const chosen = new Set<string>()
  const refused = new Set<string>()
  const state: Omit<Es2plusServer, 'url' | 'close'> = {
    identity: { ...client, ca: authority.cert },
    fault: {},
    answers: {},
    faultsRepeats: false,
    lateMs: 1_500,
    padsIccids: true,
    requests: [],
    orders: new Map(),
    soldIccids: () => [...state.orders].filter(([, order]) => order.state !== 'UNAVAILABLE').map(([iccid]) => iccid),
  }

  const server: Server = createServer(
    { ...own, ca: authority.cert, requestCert: true, rejectUnauthorized: true },
    async (request, response) => {
      const chunks: Buffer[] = []
      for await (const chunk of request) chunks.push(chunk as Buffer)
      const body = JSON.parse(Buffer.concat(chunks).toString()) as Record<string, unknown>
      const path = request.url ?? ''
      state.requests.push({ path, headers: request.headers, body })
      const name = path.slice(path.lastIndexOf('/') + 1)
      // By default a repeat succeeds, so that tests see the first call's outcome.
      const isRepeat = name === 'downloadOrder' && body.iccid !== undefined && chosen.has(String(body.iccid))
      if (name === 'downloadOrder') chosen.add(String(body.iccid))
      const fault = isRepeat && !state.faultsRepeats ? 'none' : (state.fault[name] ?? 'none')
      const turn = name === 'downloadOrder' ? counters.orders++ : counters.orders
      const answer = (status: number, content: unknown) =>
        response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(content))
      if (typeof fault === 'object') return answer(200, failed(fault.subjectCode, fault.reasonCode))
      if (fault === 'refuse' || (fault === 'half' && turn % 2 === 0) || refused.has(String(body.iccid))) {
        if (body.iccid !== undefined) refused.add(String(body.iccid)) // permanently, also for repeats
        return answer(200, failed('8.2.5', '3.7'))
      }
      if (fault === 'dies' && turn % 2 === 0) return request.socket.destroy()
      if (fault === 'http-500') return answer(500, {}) // not executed, which the client cannot know
      const result = execute(state, () => ++counters.serial, name, body)
      if (fault === 'lost' || fault === 'dies') return request.socket.destroy()
      if (fault === 'nonsense') return answer(200, 'nonsense')
      if (fault === 'late') await new Promise((resolve) => setTimeout(resolve, state.lateMs))
      return answer(200, { ...result, ...state.answers[name] })
    },
  )
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `https://localhost:${(server.address() as AddressInfo).port}`
  return Object.assign(state, {
    url,
    close: () =>
      new Promise<void>((resolve) => {
        server.closeAllConnections()
        server.close(() => resolve())
      }),
  })
}

/** Executes a function on the orders. @returns its answer */
function execute(
  state: Pick<Es2plusServer, 'orders' | 'padsIccids'>,
  nextSerial: () => number,
  name: string,
  body: Record<string, unknown>,
): object {
  const iccid = String(body.iccid ?? '').replace(/F+$/i, '')
  const order = state.orders.get(iccid)
  switch (name) {
    case 'downloadOrder': {
      if (order) return failed('8.2.1', '3.3')
      if (String(body.profileType).startsWith('NONE_LEFT')) return failed('8.2.5', '3.7')
      const own = iccid || makeIccid('8985777', nextSerial())
      state.orders.set(own, { profileType: String(body.profileType), state: 'ALLOCATED' })
      return done({ iccid: state.padsIccids ? `${own}F` : own })
    }
    case 'confirmOrder':
      if (!order) return failed('8.2.1', '3.9')
      if (order.matchingId === body.matchingId) return failed('8.2.6', '3.3') // ours, from a call that was not answered
      if (order.state !== 'ALLOCATED') return failed('8.2.1', '3.5')
      Object.assign(order, { state: body.releaseFlag ? 'RELEASED' : 'CONFIRMED', matchingId: body.matchingId })
      return done({ matchingId: body.matchingId, smdpAddress: 'smdp.test.example' })
    case 'releaseProfile':
      if (order?.state !== 'CONFIRMED') return failed('8.2.1', order ? '3.5' : '3.9')
      order.state = 'RELEASED'
      return done({})
    case 'cancelOrder':
      if (!order || order.state === 'UNAVAILABLE') return failed('8.2.1', '3.9')
      if (order.state === 'INSTALLED') return failed('8.2.1', '3.3')
      order.state = 'UNAVAILABLE'
      return done({})
    default:
      return failed('8.2.1', '3.9')
  }
}

function done(members: object): object {
  return { header: { functionExecutionStatus: { status: 'Executed-Success' } }, ...members }
}

function failed(subjectCode: string, reasonCode: string): object {
  const statusCodeData = { subjectCode, reasonCode, message: 'by the test server' }
  return { header: { functionExecutionStatus: { status: 'Failed', statusCodeData } } }
}
