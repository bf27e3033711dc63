import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Static, TSchema } from 'typebox'
import type { By } from '../../audit/audit.ts'
import type { Role } from '../../people/person.ts'
import { type Person, ROLES } from '../../people/person.ts'
import type { Config } from '../../config/config.ts'
import type { Deps } from '../../deps.ts'

/** Who is signed in, and by what. */
export interface SignedIn {
  person: Person
  /** By a session's cookie, or by a personal access token. */
  means: { kind: 'session'; sessionId: string } | { kind: 'token'; tokenId: string; scope: 'READ' | 'WRITE' }
}

/** What a handler gets besides the request's own parts. A route that needs no sign-in has no person. */
export interface PublicContext {
  deps: ConsoleDeps
  address: string
  cookieName: string
  request: FastifyRequest
  reply: FastifyReply
}

export interface Context extends PublicContext {
  person: Person
  signedIn: SignedIn
  /** For changes: who, and from where. */
  by: Required<By>
  /** The only tenant that the person may see; null: an operator, who may see all. */
  onlyTenant: string | null
}

/**
 * Who may call a route.
 * - `anyone`: also who is not signed in
 * - `session`: every role, but by a session only: accounts and secrets are out of reach of personal access tokens
 * - roles: these, by session or token
 */
export type Access = 'anyone' | 'session' | readonly Role[]

export const EVERY_ROLE: readonly Role[] = ROLES
export const OPERATORS = ['OPERATOR_ADMIN', 'OPERATOR_STAFF', 'OPERATOR_READ_ONLY'] as const
/** Operators who may change things. */
export const OPERATORS_WRITE = ['OPERATOR_ADMIN', 'OPERATOR_STAFF'] as const
export const OPERATOR_ADMINS = ['OPERATOR_ADMIN'] as const
/** What a tenant's own administrator may do for the tenant, and operators who may change things. */
export const TENANT_ADMINS = ['OPERATOR_ADMIN', 'OPERATOR_STAFF', 'DEALER_ADMIN'] as const
/** Day-to-day work on a tenant: everybody who may change anything. */
export const TENANT_STAFF = ['OPERATOR_ADMIN', 'OPERATOR_STAFF', 'DEALER_ADMIN', 'DEALER_STAFF'] as const

export interface Route {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Below /console/api. A `:tenantId` in it is checked: a dealer's person gets 404 for any tenant but their own. */
  path: string
  who: Access
  /** Also by `session` only where `who` lists roles: for secrets. */
  sessionOnly?: boolean
  summary: string
  params?: TSchema
  query?: TSchema
  body?: TSchema
  answer: TSchema
  /** Where it is not JSON. */
  bodyType?: 'text/csv'
  answerType?: 'text/csv' | 'application/x-ndjson'
  /** Calls a minute from one address; for sign-in and the like. */
  ratePerMinute?: number
  /** Bytes; where more than the usual limit is needed (CSV). */
  bodyLimit?: number
  handle(context: Context | PublicContext, parts: { params: unknown; query: unknown; body: unknown }): Promise<unknown>
}

type Part<S> = S extends TSchema ? Static<S> : undefined

interface Declared<P, Q, B, A extends TSchema, C> {
  method: Route['method']
  path: string
  sessionOnly?: boolean
  summary: string
  params?: P
  query?: Q
  body?: B
  answer: A
  bodyType?: Route['bodyType']
  answerType?: Route['answerType']
  ratePerMinute?: number
  bodyLimit?: number
  handle(context: C, parts: { params: Part<P>; query: Part<Q>; body: Part<B> }): Promise<Answer<Static<A>>>
}

/** What becomes the answer's JSON: amounts may still be bigint and moments Date (server.ts writes them). */
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
  A extends TSchema,
  P extends TSchema | undefined = undefined,
  Q extends TSchema | undefined = undefined,
  B extends TSchema | undefined = undefined,
>(declared: Declared<P, Q, B, A, Context> & { who: Exclude<Access, 'anyone'> }): Route {
  return declared as unknown as Route
}

/** Declares a route that needs no sign-in. */
export function openRoute<
  A extends TSchema,
  P extends TSchema | undefined = undefined,
  Q extends TSchema | undefined = undefined,
  B extends TSchema | undefined = undefined,
>(declared: Declared<P, Q, B, A, PublicContext>): Route {
  return { ...declared, who: 'anyone' } as unknown as Route
}

/** What the console's door needs of the gateway. */
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
  > {
  config: Pick<Config, 'deployment' | 'smtpUrl'>
  /** Where people reach the console, without a slash at its end: links for them start from it. */
  consoleUrl(): string
}
