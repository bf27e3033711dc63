import Type, { type TSchema, type TSchemaOptions } from 'typebox'
import {
  CURSOR_LENGTH_MAX,
  MONEY_MAX,
  NAME_LENGTH_MAX,
  PAGE_SIZE_DEFAULT,
  PAGE_SIZE_MAX,
  TRANSACTION_ID_LENGTH_MAX,
} from '#limits.ts'
import { TEXT_PATTERNS } from '#text-patterns.ts'

/** A member that is always present and may be null. */
export const nullable = <T extends TSchema>(schema: T) => Type.Union([schema, Type.Null()])

/** For objects in requests: a mistyped member is rejected rather than ignored. */
export const CLOSED = { additionalProperties: false } as const

/** A code, a slug, an order number. */
export const name = (options: TSchemaOptions = {}) =>
  Type.String({ minLength: 1, maxLength: NAME_LENGTH_MAX, pattern: TEXT_PATTERNS.line.pattern, ...options })

export const money = (options: TSchemaOptions = {}) =>
  Type.Integer({ minimum: -MONEY_MAX, maximum: MONEY_MAX, ...describe(options, 'in 1/10 000 of `currencyCode`') })

/** A guard or a price: money that is never negative. */
export const price = (options: TSchemaOptions = {}) => money({ minimum: 0, ...options })

/** Bytes, counts and days: never negative, and exact as a double. */
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
    description: 'Rows per page. Get the next page with `cursor`.',
  })

export const cursor = () =>
  Type.String({
    minLength: 1,
    maxLength: CURSOR_LENGTH_MAX,
    pattern: TEXT_PATTERNS.line.pattern,
    description: '`nextCursor` of the previous page, unchanged, with the same filters.',
  })

export const nextCursor = () =>
  nullable(Type.String({ description: 'Send it as `cursor` to get the next page; null on the last page.' }))

function describe(options: TSchemaOptions, unit: string): TSchemaOptions {
  const { description } = options
  return { ...options, description: typeof description === 'string' ? `${description} (${unit})` : unit }
}

const KEY = "The dealer's own key of the order"
/** Repeated wherever a transactionId or an RT-RequestID is documented. */
const RETRY_RULE = 'A retry needs a new RT-RequestID and the same `transactionId`'

/** The transactionId in a request for an order. */
export const transactionId = () =>
  Type.String({
    minLength: 1,
    maxLength: TRANSACTION_ID_LENGTH_MAX,
    pattern: TEXT_PATTERNS.transactionId.pattern,
    description: `${KEY}, case-sensitive. ${RETRY_RULE}: it makes the order idempotent.`,
    examples: ['T-1'],
  })

/** The transactionId in a request for an action. */
export const transactionIdOfAction = () =>
  Type.String({
    minLength: 1,
    maxLength: TRANSACTION_ID_LENGTH_MAX,
    pattern: TEXT_PATTERNS.transactionId.pattern,
    description: `The dealer's own key of the action, case-sensitive. ${RETRY_RULE}: it makes the action idempotent.`,
    examples: ['C-1'],
  })

/** The transactionId in an answer. */
export const transactionIdOfOrder = () => Type.String({ description: `${KEY}, as sent with the order.` })

/** The transactionId in an event, which may reach a program that never received the answer. */
export const transactionIdOfEvent = () => Type.String({ description: `${KEY}. ${RETRY_RULE}.` })

/** The ICCID in a request. */
export const iccid = ({ description = '' } = {}) =>
  Type.String({
    minLength: 18,
    maxLength: 22,
    pattern: TEXT_PATTERNS.iccid.pattern,
    description: `With or without F padding. ${description}`.trimEnd(),
    examples: ['8985200012345678903'],
  })

/** In answers: which key an order or action was signed with. */
export const keyLabel = () =>
  nullable(Type.String({ description: "The label of the restricted key at that time; null: the tenant's own key." }))
