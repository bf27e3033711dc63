import type { Context } from './route.ts'

/** What a supplier said, and which plan or group of the operator's a dealer is in: not for the dealer's people. */
const OPERATORS_MEMBERS = ['evidence', 'planName', 'groupName']

/** What stands in an audit entry, as far as the reader may know it. */
export function shownDetail({ onlyTenant }: Pick<Context, 'onlyTenant'>, detail: unknown): unknown {
  if (onlyTenant === null || typeof detail !== 'object' || detail === null) return detail
  const shown = Object.entries(detail).filter(([member]) => !OPERATORS_MEMBERS.includes(member))
  return shown.length === 0 ? null : Object.fromEntries(shown)
}
