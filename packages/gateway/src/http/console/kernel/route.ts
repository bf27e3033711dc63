import type { FastifyReply, FastifyRequest } from 'fastify'
import Type, { type Static, type TSchema } from 'typebox'
import type { Deps } from '#deps.ts'
import { type Person, ROLES, type Role } from '#people/person.ts'
import type { Provider } from '#people/provider/provider.ts'
import type { SignInMethod } from '#people/session.ts'
import type { By } from '#platform/audit/audit.ts'
import type { Config } from '#platform/config/config.ts'
import type { RouteLimit } from './rate-limit.ts'

/** The path of the console API. */
export const CONSOLE_API = '/console/api'

/**
 * Each route is there a second time below this path, in test mode: `/console/api/test/orders`. A path and not a parameter, because a
 * gateway of a release that knows no test mode must not answer with live data.
 */
export const TEST_MODE = '/test'

/** The person who is signed in, and the credential that proved it. */
export interface SignedIn {
  person: Person
  /** A session cookie or a personal access token. */
  credential:
    | { kind: 'session'; sessionId: string; signedInBy: SignInMethod }
    | { kind: 'token'; tokenId: string; scope: 'READ' | 'WRITE' }
  /** An operator's session sees what this dealer's administrator sees: `person` then has that role and tenant. */
  viewedTenantId: string | null
}

/** Passed to handlers with the parts of the request. Routes that do not require sign-in have no person. */
export interface PublicContext {
  deps: ConsoleDeps
  address: string
  cookieName: string
  request: FastifyRequest
  reply: FastifyReply
  /** Does work that nobody waits for, once the answer has been sent. A failure is logged; a stop waits for the work. */
  afterAnswer(work: () => Promise<unknown>): void
}

/** The gateway's dependencies that console routes use. */
export interface ConsoleDeps
  extends Pick<
    Deps,
    | 'db'
    | 'ids'
    | 'clock'
    | 'databaseClock'
    | 'cipher'
    | 'log'
    | 'wake'
    | 'linkKey'
    | 'catalogue'
    | 'outbound'
    | 'suppliers'
    | 'links'
    | 'localSignIn'
    | 'orderPlacer'
    | 'twins'
  > {
  config: Config
  /** The console's address for people, without a trailing slash. Links in messages start with it. */
  consoleUrl(): string
  /** undefined if the operator has configured none. */
  provider: Provider | undefined
}

export interface Context extends PublicContext {
  /** In test mode `deps`, and the tenant of `person`, are those of the dealer's test twin. */
  person: Person
  signedIn: SignedIn
  /** For the audit log: the person and the address. */
  by: Required<By>
  /** The only tenant that the person may see; null for the operator's people, who may see all. */
  onlyTenant: string | null
  /** Where people and their credentials are, also in test mode. */
  live: { deps: ConsoleDeps; tenantId: string | null }
}

/**
 * Access to a route.
 * - `anyone`: needs no sign-in
 * - `session`: every role, but only with a session: personal access tokens cannot reach accounts and secrets
 * - roles: these roles, with a session or a token
 */
export type Access = 'anyone' | 'session' | readonly Role[]

/**
 * What a route does in test mode. Routes that do not declare it are refused there.
 * - `TWIN`: answers with the rows of the dealer's test twin
 * - `TWIN_ONLY`: the same, and is refused outside of test mode
 * - `SAME`: answers as it does outside of test mode. For what belongs to the person, or to nobody, such as the clock
 */
export type InTestMode = 'TWIN' | 'TWIN_ONLY' | 'SAME'

export const EVERY_ROLE: readonly Role[] = ROLES
export const OPERATORS = ['OPERATOR_ADMIN', 'OPERATOR_STAFF', 'OPERATOR_READ_ONLY'] as const
/** Operators who may change things. */
export const OPERATORS_WRITE = ['OPERATOR_ADMIN', 'OPERATOR_STAFF'] as const
export const OPERATOR_ADMINS = ['OPERATOR_ADMIN'] as const
/** The roles that may spend a dealer's balance and request top-ups: the dealer's own people. */
export const BUYERS = ['DEALER_ADMIN', 'DEALER_STAFF'] as const
/** A tenant's own administrators, and operators who may change things. */
export const TENANT_ADMINS = ['OPERATOR_ADMIN', 'OPERATOR_STAFF', 'DEALER_ADMIN'] as const
/** For daily work on a tenant: everybody who may make changes. */
export const TENANT_STAFF = ['OPERATOR_ADMIN', 'OPERATOR_STAFF', 'DEALER_ADMIN', 'DEALER_STAFF'] as const

export interface Route {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Below /console/api. A `:tenantId` is checked: a dealer's people get 404 for any other tenant. */
  path: string
  access: Access
  /** The roles in `access` also need a session. For secrets. */
  sessionOnly?: boolean
  /** The route also works before the person has chosen a password and set up the second factor that the role requires. */
  duringSetUp?: boolean
  /** The route also works while an operator views the console as a dealer, when other routes can only read. */
  duringView?: boolean
  testMode?: InTestMode
  summary: string
  params?: TSchema
  query?: TSchema
  body?: TSchema
  answer: TSchema
  /** The type of the body, if it is not JSON: then its schema is `file`. */
  bodyType?: BodyType
  answerType?: 'text/csv' | 'text/html' | 'application/octet-stream' | 'application/x-ndjson'
  /** The number of calls per address. For sign-in and other input that can be guessed. */
  ratePerMinute?: number
  /** How often one caller may use this route and the routes that share its limit (rate-limit.ts). */
  limit?: RouteLimit
  /** The limit in bytes, for files larger than the default. */
  bodyLimit?: number
  /** What to do instead of sending a larger body. */
  largeBodyAdvice?: string
  /** Refuses everything that can be refused without the body, before it is read. */
  beforeBody?(context: Context, parts: { params: unknown; query: unknown }): Promise<void>
  handle(context: Context | PublicContext, parts: { params: unknown; query: unknown; body: unknown }): Promise<unknown>
}

/** Bodies that stay bytes. `application/octet-stream` also covers the types of receipts. */
export type BodyType = 'text/csv' | 'application/octet-stream'

/** The type that the schema of a request part accepts. */
export type Part<S> = S extends TSchema ? Static<S> : undefined

/** The method, and the path below /console/api: `GET /orders`. */
export type Address = `${Route['method']} ${string}`

type Located = 'method' | 'path'
type Typed = 'params' | 'query' | 'body' | 'answer' | 'beforeBody' | 'handle'

export interface Declaration<P, Q, B, A, C> extends Omit<Route, Located | Typed | 'access'> {
  params?: P
  query?: Q
  body?: B
  /** Absent if the route only makes a change: it then answers with an empty object. */
  answer?: A
  beforeBody?(context: Context, parts: { params: Part<P>; query: Part<Q> }): Promise<void>
  handle(
    context: C,
    parts: { params: Part<P>; query: Part<Q>; body: Part<B> },
  ): Promise<A extends TSchema ? Answer<Static<A>> : unknown>
}

/** A handler's result. Amounts may be bigint and times Date; server.ts serialises them. */
type Answer<T> = T extends number
  ? T | bigint
  : T extends string
    ? string extends T
      ? T | Date
      : T
    : T extends (infer Item)[]
      ? Answer<Item>[]
      : T extends object
        ? { [Key in keyof T]: Answer<T[Key]> }
        : T

/** Declares a route for people who are signed in. */
export function route<
  A extends TSchema | undefined = undefined,
  P extends TSchema | undefined = undefined,
  Q extends TSchema | undefined = undefined,
  B extends TSchema | undefined = undefined,
>(at: Address, declaration: Declaration<P, Q, B, A, Context> & { access: Exclude<Access, 'anyone'> }): Route {
  return toRoute(at, declaration as unknown as Declared)
}

/** Declares a route that does not require sign-in. */
export function publicRoute<
  A extends TSchema | undefined = undefined,
  P extends TSchema | undefined = undefined,
  Q extends TSchema | undefined = undefined,
  B extends TSchema | undefined = undefined,
>(at: Address, declaration: Declaration<P, Q, B, A, PublicContext>): Route {
  return toRoute(at, { ...declaration, access: 'anyone' } as unknown as Declared)
}

type Declared = Omit<Route, Located | 'answer'> & { answer?: TSchema }

function toRoute(at: Address, { answer, ...declared }: Declared): Route {
  const [method, path] = at.split(' ') as [Route['method'], string]
  const located = { method, path, ...declared }
  if (answer !== undefined) return { ...located, answer }
  return {
    ...located,
    answer: Type.Object({}, { description: 'The change was made.' }),
    async handle(context, parts) {
      await declared.handle(context, parts)
      return {}
    },
  }
}
