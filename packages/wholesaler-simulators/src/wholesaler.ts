import type { IncomingHttpHeaders } from 'node:http'
import type { RefusalFault } from './faults.ts'
import type { Form } from './forms/answer-forms.ts'
import type { Problem, Shape } from './shape.ts'
import type { Account, OrderEffects } from './simulated-account.ts'
import type { CatalogueOptions, Product } from './simulated-catalogue.ts'
import type { Clock } from './simulated-clock.ts'
import type { Change, RefusalReason } from './simulated-order.ts'

/** One wholesaler's interface: its requests, its answers and its events, in its own form. */
export interface Wholesaler {
  /** The path after the origin in the base URL that an operator enters. */
  basePath: string
  credentials: Record<string, string>
  operations: Operation[]
  /** The answer to a request that is not authenticated; undefined if it is. */
  authenticate(request: RawRequest): Answer | undefined
  /** The answer to a request that the account refuses, or that a fault refuses. */
  refuse(reason: Refusal, message: string, code?: string): Answer
  /** The answer to a request that does not fit the table of shapes. */
  refuseShape(problem: RequestProblem): Answer
  /** The events that a change causes. */
  eventsOf(change: Change): EventMessage[]
}

export type Refusal = Exclude<RefusalFault, 'refused'> | RefusalReason | 'refused'

/** `unknown-path`, `method`, `content-type` and `json` concern the whole request. */
export type RequestProblem = Problem | { path: string; kind: 'unknown-path' | 'method' | 'content-type' | 'json' }

export interface Operation {
  /** The name that faults and counters use for it: a text, or a function of the body. */
  name: string | ((body: unknown) => string)
  /** The method and the path, with `{name}` for a parameter, which is one path segment. */
  at: `${'GET' | 'POST' | 'PUT' | 'DELETE'} /${string}`
  /** Shapes of the query parameters. Default: none. */
  query?: Shape<unknown>
  /** The shape of the body. Default: no body is accepted. */
  body?: Shape<unknown>
  /** A request without a body is accepted. */
  isBodyOptional?: true
  /** The body is a form, or may be one. Default: JSON. */
  form?: 'only' | 'accepted'
  /** Needs no authentication. */
  isOpen?: true
  run(call: Call): Answer
}

/** A request that fits the table of shapes. */
export interface Call {
  params: Record<string, string>
  query: Record<string, string>
  /** Fits the shape of the operation. */
  body: unknown
  /** Applied to an order that the call places. */
  effects: OrderEffects
  /** The catalogue that the call returns: faults may change it. */
  catalogue(): ShownCatalogue
}

export interface ShownCatalogue {
  products: Product[]
  currencyCode: string
}

export interface RawRequest {
  method: string
  path: string
  headers: IncomingHttpHeaders
  raw: Buffer
}

export interface Answer {
  status: number
  headers?: Record<string, string>
  /** Sent as JSON; undefined: no body. */
  body?: unknown
}

export interface EventMessage {
  headers?: Record<string, string>
  body: unknown
  /** The body as it is sent, if not as compact JSON. */
  text?: string
}

/** The parts that make up a wholesaler. */
export interface World {
  account: Account
  clock: Clock
  /** Where the simulator listens, such as `http://127.0.0.1:4711`. */
  origin(): string
  /** The address to which events are sent. */
  events: { url: string | null; send(messages: EventMessage[]): void }
  options: {
    /** Credentials to use instead of random ones. */
    credentials?: Record<string, string> | undefined
    /** A repeated key is answered with the first order, refused, or bought again. */
    repeatedKey: 'same' | 'refused' | 'bought-again'
    /** How long MobiMatter holds money. */
    holdMs: number
    /** How many tokens Airalo issues per minute. */
    tokensPerMinute: number
    /** How a list of a time span is answered while it contains an order that is not delivered (RT family). */
    pendingInWindow: 'refused' | 'omitted'
    forms: ReadonlySet<Form>
  }
}

/** The description of a kind: what the account must know before the interface exists. */
export interface Description {
  codeOf: CatalogueOptions['codeOf']
  hasTopUps?: boolean
  hasDaily?: boolean
  smdpAddress: string
  createReference(kind: 'order' | 'eSIM', serial: number): string
  repeatedKey: World['options']['repeatedKey']
  reusesIccids?: boolean
  needsHead?: boolean
  createWholesaler(world: World): Wholesaler
}
