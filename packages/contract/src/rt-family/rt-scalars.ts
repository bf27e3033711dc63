import Type, { type TSchemaOptions } from 'typebox'
import { nullable } from '#schemas/scalars.ts'

/** Converts `time`, one of our UTC times, to the RT family's format, such as 2025-09-11T13:28:09+0000. */
export function rtTime(time: string): string
export function rtTime(time: string | null): string | null
export function rtTime(time: string | null): string | null {
  return time && `${time.slice(0, 19)}+0000`
}

export const rtTimeText = (options: TSchemaOptions = {}) =>
  Type.String({
    pattern: '^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}[+]0000$',
    examples: ['2026-11-20T13:28:09+0000'],
    ...options,
  })

export const rtQuantity = (options: TSchemaOptions = {}) =>
  Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, ...options })

/** Money in the RT family: 1/10 000 USD. */
export const rtMoney = ({ description = '' } = {}) =>
  Type.Integer({
    minimum: Number.MIN_SAFE_INTEGER,
    maximum: Number.MAX_SAFE_INTEGER,
    description: `In 1/10 000 USD. ${description}`.trimEnd(),
  })

/** An optional text in a request: null and "" mean absent. */
export const optionalText = (description: string) => Type.Optional(nullable(Type.String({ description })))

export const optionalNumber = (description: string) => Type.Optional(nullable(Type.Integer({ description })))

/** A whole number as text, which some programs send. */
export const WHOLE = '^[0-9]{1,15}$'

export const numberOrText = (description: string) =>
  Type.Optional(nullable(Type.Union([Type.Integer(), Type.String({ pattern: WHOLE })], { description })))
