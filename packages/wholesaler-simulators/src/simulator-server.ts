import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { type Fault, type Faults, isCatalogueFault, isRefusal, orderEffects } from './faults.ts'
import { type ParsedBody, parseBody } from './parse-body.ts'
import type { RequestLog, RequestRecord } from './requests.ts'
import type { Account } from './simulated-account.ts'
import { Refused } from './simulated-order.ts'
import type { Answer, Call, Operation, RawRequest, RequestProblem, ShownCatalogue, Wholesaler } from './wholesaler.ts'

export interface ServerDeps {
  wholesaler: Wholesaler
  account: Account
  faults: Faults
  requests: RequestLog
  /** Refuses more requests in a sliding second than this; null: counts only. */
  perSecond: number | null
  /** How long an order without a fault takes. */
  deliverAfterMs: number
  /** Converts the answer of an operation into the forms of the options. */
  show(operation: string, answer: Answer): Answer
  /** The answer of a failing server. Default: a proxy's page. */
  serverError?: Answer
  /** Answers the requests under `CONTROL_PATH`. */
  control(raw: RawRequest): Answer
}

/** Reserved for controlling a simulator in another process; no wholesaler has it. */
export const CONTROL_PATH = '/_control'

/** Serves one wholesaler's interface. The server does not listen yet. */
export function createSimulatorServer(deps: ServerDeps): Server {
  return createServer((request, response) => {
    serve(deps, request, response).catch((error: unknown) => {
      // The client has disconnected, or the simulator itself has a fault.
      if (!response.destroyed && !response.headersSent)
        send(response, { status: 500, body: { simulator: String(error) } })
    })
  })
}

async function serve(deps: ServerDeps, request: IncomingMessage, response: ServerResponse) {
  const [path = '', search = ''] = (request.url ?? '').split('?')
  const raw: RawRequest = { method: request.method ?? '', path, headers: request.headers, raw: await readAll(request) }
  if (path === CONTROL_PATH) return send(response, deps.control(raw))
  const record = deps.requests.add({ method: raw.method, path: request.url ?? '' })
  const route = findRoute(deps.wholesaler.operations, raw)
  if (!route) return refuse(deps, response, record, { path, kind: isKnown(deps, path) ? 'method' : 'unknown-path' })
  const { operation, params } = route
  const parsed = parseBody(operation, raw)
  record.operation = typeof operation.name === 'string' ? operation.name : nameOf(operation.name, parsed)
  const faults = deps.faults.take(record.operation, `${request.url} ${raw.raw}`)
  record.faults = faults.map(({ kind }) => kind)
  if (await applyBefore(deps, faults, response, record)) return
  const refusal = check(deps, operation, raw, parsed, search)
  const answer =
    refusal ??
    refusalOf(deps, faults) ??
    deps.show(record.operation, run(deps, operation, { params, search, parsed, faults }))
  record.reachedAccount = refusal === undefined && !faults.some(isRefusal)
  await answerUnder(deps, faults, response, record, answer)
}

/** @returns the answer to a request that never reaches the account */
function check(
  deps: ServerDeps,
  operation: Operation,
  raw: RawRequest,
  parsed: ParsedBody,
  search: string,
): Answer | undefined {
  const { wholesaler, perSecond, requests } = deps
  const unauthenticated = operation.isOpen ? undefined : wholesaler.authenticate(raw)
  if (unauthenticated) return unauthenticated
  if (perSecond !== null && requests.countOfLastSecond() > perSecond)
    return wholesaler.refuse('rate-limited', 'Too many requests.')
  const problem = parsed.problem ?? checkQuery(operation, search) ?? checkBody(operation, parsed)
  return problem && wholesaler.refuseShape(problem)
}

function checkQuery({ query }: Operation, search: string): RequestProblem | undefined {
  const parameters = new URLSearchParams(search)
  const repeated = [...parameters.keys()].find((name, index, names) => names.indexOf(name) !== index)
  if (repeated !== undefined) return { path: repeated, kind: 'extra' }
  const extra = query ? undefined : [...parameters.keys()][0]
  if (extra !== undefined) return { path: extra, kind: 'extra' }
  return query?.check(Object.fromEntries(parameters), '')
}

function checkBody({ body, isBodyOptional }: Operation, parsed: ParsedBody): RequestProblem | undefined {
  if (!body) return parsed.value === undefined ? undefined : { path: '', kind: 'extra' }
  if (parsed.value === undefined) return isBodyOptional ? undefined : { path: '', kind: 'missing' }
  return body.check(parsed.value, '')
}

interface RunInput {
  params: Record<string, string>
  search: string
  parsed: ParsedBody
  faults: Fault[]
}

function run(deps: ServerDeps, operation: Operation, { params, search, parsed, faults }: RunInput): Answer {
  const query = Object.fromEntries(new URLSearchParams(search))
  const effects = orderEffects(faults, deps.deliverAfterMs)
  const catalogue = () => catalogueUnder(faults, deps.account)
  const call: Call = { params, query, body: parsed.value, effects, catalogue }
  try {
    return operation.run(call)
  } catch (error) {
    if (error instanceof Refused) return deps.wholesaler.refuse(error.reason, error.message)
    throw error
  }
}

function refusalOf({ wholesaler }: ServerDeps, faults: Fault[]): Answer | undefined {
  const fault = faults.find(isRefusal)
  return fault && wholesaler.refuse(fault.kind, `Fault ${fault.kind}.`, fault.code)
}

function catalogueUnder(faults: Fault[], account: Account): ShownCatalogue {
  const listed = [...account.products.values()].filter(({ isListed }) => isListed)
  let catalogue = { products: listed, currencyCode: account.currencyCode }
  const priced = (factor: number) =>
    catalogue.products.map((product) => ({
      ...product,
      price: product.price * factor,
      retailPrice: product.retailPrice * factor,
    }))
  for (const { kind } of faults.filter(isCatalogueFault)) {
    if (kind === 'catalogue-empty') catalogue = { ...catalogue, products: [] }
    if (kind === 'catalogue-short') catalogue.products = listed.slice(0, Math.ceil(listed.length / 10))
    if (kind === 'catalogue-prices-x100') catalogue = { ...catalogue, products: priced(100) }
    if (kind === 'catalogue-other-currency') catalogue = { products: priced(YEN_PER_UNIT), currencyCode: 'JPY' }
  }
  return catalogue
}
const YEN_PER_UNIT = 150

/** @returns whether the request ends here, without an action */
async function applyBefore(
  { serverError = SERVER_ERROR }: ServerDeps,
  faults: Fault[],
  response: ServerResponse,
  record: RequestRecord,
): Promise<boolean> {
  for (const { kind, delayMs } of faults) {
    if (kind === 'request-lost') response.destroy()
    else if (kind === 'server-error-before') finish(response, record, serverError)
    else if (kind === 'hang') await wait(delayMs).then(() => response.destroy())
    else if (kind === 'slow-request') await wait(delayMs)
    if (kind === 'request-lost' || kind === 'server-error-before' || kind === 'hang') return true
  }
  return false
}

async function answerUnder(
  { serverError = SERVER_ERROR }: ServerDeps,
  faults: Fault[],
  response: ServerResponse,
  record: RequestRecord,
  answer: Answer,
) {
  for (const { kind, delayMs } of faults) {
    if (kind === 'slow-answer') await wait(delayMs)
    if (kind === 'answer-lost') return response.destroy()
    if (kind === 'server-error-after') return finish(response, record, serverError)
    if (kind === 'answer-garbled') return finish(response, record, { ...SERVER_ERROR, status: 200 })
    if (kind === 'answer-cut') return sendHalf(response, answer)
  }
  return finish(response, record, answer)
}

/** The answer of a proxy in front of the interface, which is why it lacks the interface's format. */
const SERVER_ERROR: Answer = {
  status: 500,
  headers: { 'Content-Type': 'text/html' },
  body: '<html><body><h1>500 Internal Server Error</h1></body></html>',
}

function refuse({ wholesaler }: ServerDeps, response: ServerResponse, record: RequestRecord, problem: RequestProblem) {
  finish(response, record, wholesaler.refuseShape(problem))
}

function finish(response: ServerResponse, record: RequestRecord, answer: Answer) {
  record.status = answer.status
  send(response, answer)
}

function send(response: ServerResponse, { status, headers, body }: Answer) {
  const isText = headers?.['Content-Type'] !== undefined
  response.writeHead(status, { 'Content-Type': 'application/json', ...headers })
  response.end(body === undefined ? undefined : isText ? String(body) : JSON.stringify(body))
}

function sendHalf(response: ServerResponse, { status, body }: Answer) {
  const content = Buffer.from(JSON.stringify(body ?? {}))
  response.writeHead(status, { 'Content-Type': 'application/json', 'Content-Length': content.length })
  response.write(content.subarray(0, Math.floor(content.length / 2)), () => response.destroy())
}

function findRoute(operations: Operation[], { method, path }: RawRequest) {
  for (const operation of operations) {
    const params = match(operation.at, `${method} ${path}`)
    if (params) return { operation, params }
  }
  return undefined
}

function isKnown({ wholesaler }: ServerDeps, path: string): boolean {
  return wholesaler.operations.some(({ at }) => match(at.slice(at.indexOf('/')), path))
}

function match(pattern: string, path: string): Record<string, string> | undefined {
  const [expected, given] = [pattern.split('/'), path.split('/')]
  if (expected.length !== given.length) return undefined
  const params: Record<string, string> = {}
  for (const [index, segment] of expected.entries()) {
    if (segment.startsWith('{') && given[index] !== '') params[segment.slice(1, -1)] = decodeURIComponent(given[index]!)
    else if (segment !== given[index]) return undefined
  }
  return params
}

function nameOf(name: (body: unknown) => string, { value }: ParsedBody): string {
  return name(typeof value === 'object' && value !== null ? value : {})
}

async function readAll(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of request) {
    bytes += chunk.length
    if (bytes > BODY_BYTES_MAX) throw new Error('The body is larger than 1 MB.')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}
const BODY_BYTES_MAX = 1_000_000

/** Resolves after the time, or never without one: the connection then closes with the simulator. */
function wait(ms: number | undefined): Promise<void> {
  return new Promise((resolve) => {
    if (ms !== undefined) setTimeout(resolve, ms).unref()
  })
}
