import Type, { type TSchema } from 'typebox'
import { PASSWORD_LENGTH_MAX } from '#people/password.ts'

/** Refuses members that the schema does not define. */
export const CLOSED = { additionalProperties: false } as const

export const nullable = <T extends TSchema>(schema: T) => Type.Union([schema, Type.Null()])
export const uuid = () => Type.String({ pattern: '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' })
export const time = () => Type.String({ format: 'date-time', description: 'RFC 3339, UTC' })
export const toDate = (time: string | undefined) => (time === undefined ? undefined : new Date(time))
/** 1/10 000 of the currency, as in the dealer API. */
export const money = () =>
  Type.Integer({ minimum: -Number.MAX_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER, description: '1/10 000 units' })
/** One line of text, without control characters. */
export const line = (maxLength: number, minLength = 1) =>
  Type.String({ minLength, maxLength, pattern: '^[^\\u0000-\\u001f\\u007f]*$' })
/** A brand of a dealer, as in its requests. */
export const brandName = () => Type.String({ pattern: '^[a-z0-9-]{1,32}$' })

export const orderNo = () => Type.String({ maxLength: 26 })
/** An order's number for people, unique within its dealer. */
export const entryNo = () =>
  Type.Integer({
    description: 'The entryNo of the order’s debit: its number for people, as in #1042. Unique within its dealer',
  })
/** Where the first package of an order, or the package of an eSIM, works. */
export const location = () =>
  nullable(Type.String({ description: 'Of its package: a country, !RG or !GL. null: not in the catalogue any more' }))
export const tenantParams = Type.Object({ tenantId: uuid() }, CLOSED)
export const orderParams = Type.Object({ tenantId: uuid(), orderNo: orderNo() }, CLOSED)
export const profileParams = Type.Object({ tenantId: uuid(), profileId: uuid() }, CLOSED)

/** An authenticator code or a recovery code, as people type it: with spaces, or in groups. */
export function typedCode() {
  return Type.String({ minLength: 6, maxLength: 30 })
}

export function password() {
  return Type.String({ minLength: 1, maxLength: PASSWORD_LENGTH_MAX })
}

/**
 * Body members with which people confirm who they are, before secrets, accounts or people are shown or changed: the
 * password, with a code if a second factor is set, or a confirmation of the last five minutes.
 */
export const reauthentication = {
  password: Type.Optional(password()),
  code: Type.Optional(typedCode()),
  confirmation: Type.Optional(Type.String({ minLength: 20, maxLength: 200 })),
}

/**
 * How often people may query a supplier, whose rate limit they must not exhaust, or ask the operator, who gets an alert
 * each time.
 */
export const ASKS_PER_MINUTE = 10

/** Slows guessing from one address. `reauthenticate` counts failures and locks guessers out. */
export const REAUTHENTICATIONS_PER_MINUTE = 20
