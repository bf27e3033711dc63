import { createHmac, randomUUID } from 'node:crypto'
import { Agent as HttpAgent, request as httpRequest, type IncomingHttpHeaders } from 'node:http'
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https'
import type { Log } from '@dealer-esim/lib/telemetry/log.ts'
import { startApi } from '#api.ts'
import { createDeps, type Deps } from '#deps.ts'
import type { RequestLog } from '#http/request-log.ts'
import { createTwin } from '#operations/twins/manage-twins.ts'
import { readConfig } from '#platform/config/config.ts'
import { createTenant } from '#tenants/create-tenant.ts'
import { topUp } from '#wallet/ledger/top-up-wallet.ts'
import { testLog } from './debugging.ts'

/** Shared by all nodes of a test, in this process or in separate ones. */
export const NODE_ENV = {
  MASTER_KEY: Buffer.alloc(32, 7).toString('base64'),
  PORT: '0',
  METRICS_PORT: '0',
  CONSOLE: 'off',
}
/** Tests of twins send faster than a program that is being tried. */
const TWIN_LIMITS = { TWIN_QPS_LIMIT: '10000', TWINS_QPS_LIMIT: '10000' }
export const OPERATOR = { actor: 'cli:tester' } as const

/** A gateway's HTTP server in this process, on a test database. */
export interface Node {
  deps: Deps
  baseUrl: string
  port: number
  stop(deadlineMs?: number): Promise<void>
}

export async function startNode(
  databaseUrl: string,
  env: Record<string, string> = {},
  logs: { log?: Log; logRequest?: RequestLog } = {},
): Promise<Node> {
  const config = readConfig({ ...NODE_ENV, ...TWIN_LIMITS, DATABASE_URL: databaseUrl, ...env }, ['--role', 'api'])
  const deps = await createDeps(config, logs.log ?? testLog, databaseUrl, logs.logRequest)
  const api = await startApi(deps)
  let stopped: Promise<void> | undefined
  return {
    deps,
    port: api.port,
    baseUrl: `${config.tlsCertFile ? 'https' : 'http'}://127.0.0.1:${api.port}`,
    stop(deadlineMs = 5_000) {
      stopped ??= api.stop(deadlineMs).then(() => deps.stop(deadlineMs))
      return stopped
    },
  }
}

export interface Dealer {
  tenantId: string
  appKey: string
  appSecret: string
}

/** Creates a tenant with this balance, given in whole units. */
export async function addDealer(deps: Deps, units = 1_000_000): Promise<Dealer> {
  const dealer = await createTenant(deps, { clientName: 'Test dealer', currencyCode: 'USD' }, OPERATOR)
  if (units > 0) {
    const opening = { tenantId: dealer.tenantId, amount: BigInt(units) * 10_000n, reference: 'opening' }
    await topUp(deps, opening, OPERATOR)
  }
  return dealer
}

/** Creates the test twin of a dealer. */
export function addTwin(deps: Deps, { tenantId }: Pick<Dealer, 'tenantId'>): Promise<Dealer> {
  return createTwin(deps, () => deps.twins.create(), tenantId, OPERATOR)
}

export interface Answer {
  status: number
  headers: IncomingHttpHeaders
  text: string
  code: string
  message: string
  // biome-ignore lint/suspicious/noExplicitAny: tests check the members of any answer
  data: any
}

export interface RequestParts {
  method?: string
  path?: string
  body?: string | Buffer
  timestamp?: number | string
  requestId?: string
  /** Signs the request in place of the dealer's AppSecret. Ignored if `signature` is given. */
  secret?: string
  appKey?: string
  signature?: string
  /** Default: X-Signature. */
  signatureHeader?: string
  /** Added last; undefined removes a header. */
  headers?: Record<string, string | string[] | undefined>
  localAddress?: string
}

/** The signature scheme, implemented from its description and independently of our code. */
export function sign(
  secret: string,
  timestamp: string,
  requestId: string,
  appKey: string,
  body: string | Buffer,
): string {
  return createHmac('sha256', secret).update(`${timestamp}${requestId}${appKey}`).update(body).digest('hex')
}

export function signedHeaders(dealer: Dealer, parts: RequestParts = {}): Record<string, string | string[]> {
  const timestamp = String(parts.timestamp ?? Date.now())
  const requestId = parts.requestId ?? randomUUID()
  const appKey = parts.appKey ?? dealer.appKey
  const signature =
    parts.signature ?? sign(parts.secret ?? dealer.appSecret, timestamp, requestId, appKey, parts.body ?? '{}')
  const headers: Record<string, string | string[] | undefined> = {
    'Content-Type': 'application/json',
    'RT-AccessCode': appKey,
    'RT-RequestID': requestId,
    'RT-Timestamp': timestamp,
    [parts.signatureHeader ?? 'X-Signature']: signature,
    ...parts.headers,
  }
  return Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== undefined)) as Record<
    string,
    string
  >
}

const agents = {
  http: new HttpAgent({ keepAlive: true }),
  https: new HttpsAgent({ keepAlive: true, rejectUnauthorized: false }),
}

/** Sends a signed request to an operation, with parts changed by the test. */
export function call(
  at: Pick<Node, 'baseUrl'>,
  dealer: Dealer,
  operation: string,
  parts: RequestParts = {},
): Promise<Answer> {
  const body = parts.body ?? '{}'
  return send(at, {
    ...parts,
    body,
    path: parts.path ?? `/open-api/v1/${operation}`,
    headers: signedHeaders(dealer, parts),
  })
}

function send(at: Pick<Node, 'baseUrl'>, parts: RequestParts): Promise<Answer> {
  const isTls = at.baseUrl.startsWith('https:')
  return new Promise((resolve, reject) => {
    const request = (isTls ? httpsRequest : httpRequest)(
      at.baseUrl + (parts.path ?? '/'),
      {
        method: parts.method ?? 'POST',
        agent: isTls ? agents.https : agents.http,
        headers: parts.headers as Record<string, string>,
        ...(parts.localAddress ? { localAddress: parts.localAddress } : {}),
      },
      (response) => {
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => chunks.push(chunk))
        response.on('error', reject)
        response.on('end', () => {
          const text = Buffer.concat(chunks).toString()
          resolve({ status: response.statusCode!, headers: response.headers, text, ...parsed(text) })
        })
      },
    )
    request.on('error', reject)
    request.end(parts.body)
  })
}

function parsed(text: string): Pick<Answer, 'code' | 'message' | 'data'> {
  try {
    return JSON.parse(text)
  } catch {
    return { code: 'no JSON', message: '', data: undefined }
  }
}
