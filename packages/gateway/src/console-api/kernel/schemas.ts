import Type, { type TSchema } from 'typebox'
import { PASSWORD_LENGTH_MAX } from '../../people/password.ts'

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
export const done = Type.Object({}, { description: 'It is done.' })

export const tenantParams = Type.Object({ tenantId: uuid() }, CLOSED)

/** The page after a row, by the row's own id: rights are checked apart, so nothing hangs on the cursor. */
export const cursor = () => Type.Optional(uuid())
export const nextCursor = () => nullable(Type.String())
export const PAGE = 50

/** The page after a row that is known by a code, which may be longer and have other signs than an id. */
export const keyCursor = () => Type.Optional(Type.String({ minLength: 1, maxLength: 128, pattern: '^[A-Za-z0-9_-]+$' }))
export const cursorOfKey = (key: string) => Buffer.from(key).toString('base64url')
export const keyOfCursor = (cursor = '') => Buffer.from(cursor, 'base64url').toString()

/** One row more than a page was asked for: whether there is a next page, and where it starts. */
export function pageOf<Row>(rows: Row[], idOf: (row: Row) => string, size = PAGE) {
  const page = rows.slice(0, size)
  const last = page.at(-1)
  return { page, nextCursor: rows.length > size && last !== undefined ? idOf(last) : null }
}

/** The page of rows whose keys come after the cursor's, of rows that are all at hand; in the order of their keys. */
export function pageAfter<Row>(rows: Iterable<Row>, keyOf: (row: Row) => string, cursor: string | undefined) {
  const after = keyOfCursor(cursor)
  const later: [key: string, row: Row][] = []
  for (const row of rows) {
    const key = keyOf(row)
    if (key > after) later.push([key, row])
  }
  later.sort(([a], [b]) => (a < b ? -1 : 1))
  const { page, nextCursor } = pageOf(later, ([key]) => cursorOfKey(key))
  return { page: page.map(([, row]) => row), nextCursor }
}

/** What proves that it is still the same person: asked for again before secrets, accounts and people. */
export const proof = {
  password: Type.String({ minLength: 1, maxLength: PASSWORD_LENGTH_MAX }),
  code: Type.Optional(Type.String({ minLength: 6, maxLength: 30 })),
}

/** A brake on guesses from one address; who guesses is counted and locked out by signInAgain. */
export const PROOFS_PER_MINUTE = 20
