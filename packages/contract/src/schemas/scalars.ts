import Type, { type TSchema, type TSchemaOptions } from 'typebox'
import {
  CURSOR_LENGTH_MAX,
  MONEY_MAX,
  NAME_LENGTH_MAX,
  PAGE_SIZE_DEFAULT,
  PAGE_SIZE_MAX,
  TRANSACTION_ID_LENGTH_MAX,
} from '../limits.ts'
import { TEXT_PATTERNS } from './text-patterns.ts'

/** A member that is always present and may be null. */
export const nullable = <T extends TSchema>(schema: T) => Type.Union([schema, Type.Null()])

/** An object of a request: a mistyped member is refused, not ignored. */
export const CLOSED = { additionalProperties: false } as const

/** Whatever names one thing: a code, a slug, an order number. */
export const name = (options: TSchemaOptions = {}) =>
  Type.String({ minLength: 1, maxLength: NAME_LENGTH_MAX, pattern: TEXT_PATTERNS.line.pattern, ...options })

export const money = (options: TSchemaOptions = {}) =>
  Type.Integer({ minimum: -MONEY_MAX, maximum: MONEY_MAX, ...describe(options, 'in 1/10 000 of `currencyCode`') })

/** A guard or a price: money that is never negative. */
export const price = (options: TSchemaOptions = {}) => money({ minimum: 0, ...options })

/** Bytes, counts, days: never negative, and exact in a double. */
export const quantity = (options: TSchemaOptions = {}) =>
  Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, ...options })

export const time = (options: TSchemaOptions = {}) =>
  Type.String({
    format: 'date-time',
    pattern: TEXT_PATTERNS.time.pattern,
    examples: ['2026-11-20T13:28:09.000Z'],
    ...describe(options, 'RFC 3339; answers are UTC with milliseconds'),
  })

export const currencyCode = () => Type.String({ pattern: '^[A-Z]{3}$', description: 'ISO 4217', examples: ['USD'] })

export const pageSize = () =>
  Type.Integer({
    minimum: 1,
    maximum: PAGE_SIZE_MAX,
    default: PAGE_SIZE_DEFAULT,
    description: 'Rows on a page. The next page is asked for with `cursor`.',
  })

export const cursor = () =>
  Type.String({
    minLength: 1,
    maxLength: CURSOR_LENGTH_MAX,
    pattern: TEXT_PATTERNS.line.pattern,
    description: '`nextCursor` of the page before, unchanged, with the same filters.',
  })

export const nextCursor = () =>
  nullable(Type.String({ description: 'Send it as `cursor` to get the next page; null on the last page.' }))

function describe(options: TSchemaOptions, unit: string): TSchemaOptions {
  const said = options.description
  return { ...options, description: typeof said === 'string' ? `${said} (${unit})` : unit }
}

const KEY = "The dealer's own key of the order"
/** To be said wherever a transactionId or an RT-RequestID is documented (contract §3). */
const RETRY_RULE = 'A retry takes a new RT-RequestID and the same `transactionId`'

/** As a request says it. */
export const transactionId = () =>
  Type.String({
    minLength: 1,
    maxLength: TRANSACTION_ID_LENGTH_MAX,
    pattern: TEXT_PATTERNS.transactionId.pattern,
    description: `${KEY}, case-sensitive. ${RETRY_RULE}: it makes the order idempotent.`,
    examples: ['T-1'],
  })

/** As an answer tells it. */
export const transactionIdOfOrder = () => Type.String({ description: `${KEY}, as it was ordered with.` })

/** As an event tells it, perhaps to whoever never had an answer. */
export const transactionIdOfEvent = () => Type.String({ description: `${KEY}. ${RETRY_RULE}.` })
