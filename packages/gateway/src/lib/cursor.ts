import { createHmac, timingSafeEqual } from 'node:crypto'
import { CURSOR_LENGTH_MAX } from '@dealer-esim/contract'
import { ApiError } from './api-error.ts'

/** What a cursor holds for: the same list, of the same tenant, with the same filters. */
export interface CursorScope {
  /** The operation, such as `package/list`. */
  readonly list: string
  readonly tenantId: string
  /** The request without `cursor` and `pageSize`; absent and null members are alike. */
  readonly filters: Readonly<Record<string, unknown>>
}

/** Where the next page starts: the sort key of the last row that was answered. */
export type Position = readonly (string | number)[]

/**
 * A position as opaque text that only we can make. Positions are short (a time and a name of up to 64 characters), so
 * that a cursor stays within the contract's 512 characters.
 */
export function sealCursor(linkKey: Buffer, scope: CursorScope, position: Position): string {
  const payload = Buffer.from(JSON.stringify(position))
  const cursor = Buffer.concat([tag(linkKey, scope, payload), payload]).toString('base64url')
  if (cursor.length > CURSOR_LENGTH_MAX) throw new Error(`a cursor of ${cursor.length} characters is too long`)
  return cursor
}

/** @throws ApiError 000108 for a cursor that was changed, or made for another tenant, list or set of filters. */
export function openCursor(linkKey: Buffer, scope: CursorScope, cursor: string): Position {
  const sealed = Buffer.from(cursor, 'base64url')
  const payload = sealed.subarray(TAG_BYTES)
  // Base64 ignores what is none of it: only the very text that we gave out passes.
  const genuine =
    sealed.length > TAG_BYTES &&
    sealed.toString('base64url') === cursor &&
    timingSafeEqual(sealed.subarray(0, TAG_BYTES), tag(linkKey, scope, payload))
  if (!genuine) throw new ApiError('000108', { details: [{ field: 'cursor', reason: REASON }] })
  return JSON.parse(payload.toString()) as Position
}

const REASON =
  'is not one of this list with these filters: send nextCursor unchanged, with the filters it was given for'

const TAG_BYTES = 16

function tag(linkKey: Buffer, scope: CursorScope, payload: Buffer): Buffer {
  const filters = Object.entries(scope.filters)
    .filter(([, value]) => value !== undefined && value !== null)
    .sort(([a], [b]) => (a < b ? -1 : 1))
  const hmac = createHmac('sha256', linkKey).update('cursor\n')
  hmac.update(JSON.stringify([scope.list, scope.tenantId, filters])).update('\n')
  return hmac.update(payload).digest().subarray(0, TAG_BYTES)
}
