import { CURSOR_LENGTH_MAX } from '@dealer-esim/contract'
import { ApiError } from './api-error.ts'
import { createToken, readToken } from './crypto.ts'

/** A cursor is valid only for the same list, tenant and filters. */
export interface CursorScope {
  /** The operation, such as `package/list`. */
  readonly list: string
  readonly tenantId: string
  /** The request without `cursor` and `pageSize`; absent and null members are equal. */
  readonly filters: Readonly<Record<string, unknown>>
}

/** The start of the next page: the sort key of the last row on this page. */
export type Position = readonly (string | number)[]

/**
 * A position as an opaque, authenticated token. Positions are short (a time and a name of up to 64 characters), so that a
 * cursor stays within the contract's 512 characters.
 */
export function createCursor(linkKey: Buffer, scope: CursorScope, position: Position): string {
  const cursor = createToken(linkKey, purposeOf(scope), Buffer.from(JSON.stringify(position)))
  if (cursor.length > CURSOR_LENGTH_MAX) throw new Error(`a cursor of ${cursor.length} characters is too long`)
  return cursor
}

/** @throws ApiError 000108 if the cursor was changed, or belongs to another tenant, list or set of filters */
export function readCursor(linkKey: Buffer, scope: CursorScope, cursor: string): Position {
  const position = readToken(linkKey, purposeOf(scope), cursor)
  if (!position) throw new ApiError('000108', { details: [{ field: 'cursor', reason: REASON }] })
  return JSON.parse(position.toString()) as Position
}

const REASON = 'is not from this list with these filters: send nextCursor unchanged, with the same filters'

function purposeOf({ list, tenantId, filters }: CursorScope): string {
  const given = Object.entries(filters)
    .filter(([, value]) => value !== undefined && value !== null)
    .sort(([a], [b]) => (a < b ? -1 : 1))
  return `cursor ${JSON.stringify([list, tenantId, given])}`
}
