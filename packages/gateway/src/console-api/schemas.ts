import Type, { type TSchema } from 'typebox'

/** Building blocks of the console's schemas. Unknown members of a body are refused, as everywhere. */
export const CLOSED = { additionalProperties: false } as const

export const nullable = <T extends TSchema>(schema: T) => Type.Union([schema, Type.Null()])
export const uuid = () => Type.String({ pattern: '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' })
export const time = () => Type.String({ format: 'date-time', description: 'RFC 3339, UTC' })
/** 1/10 000 of the currency, as on the dealers' wire. */
export const money = () =>
  Type.Integer({ minimum: -Number.MAX_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER, description: '1/10 000 units' })
export const line = (maxLength: number, minLength = 1) =>
  Type.String({ minLength, maxLength, pattern: '^[^\\u0000-\\u001f\\u007f]*$' })
export const reason = () => line(300, 3)
export const done = Type.Object({}, { description: 'It is done.' })

export const tenantParams = Type.Object({ tenantId: uuid() }, CLOSED)

/** Money leaves as a JSON integer: balances lie within ±(2^53−1). */
export function asMoney(value: bigint): number {
  return Number(value)
}

export function asTime(value: Date): string
export function asTime(value: Date | null): string | null
export function asTime(value: Date | null): string | null {
  return value === null ? null : value.toISOString()
}
