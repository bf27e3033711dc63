import type { AuditAction } from '../../audit/actions.ts'
import type { AuditFilter } from '../../audit/search.ts'
import type { Context } from './route.ts'

/** What a supplier said, which of the operator's plans or groups a dealer is in, and who of them proposed an adjustment. */
const OPERATORS_MEMBERS = ['evidence', 'planName', 'groupName', 'proposedBy']

/** What the operator's people consider among themselves, with their reasons. A dealer sees what comes of it. */
const OPERATORS_ACTIONS: readonly AuditAction[] = ['wallet.propose_adjustment', 'wallet.reject_adjustment']

/** A dealer knows of prices, not of the operator's plans and groups that make them. */
const PRICES_CHANGED = 'prices.change'
const CHANGE_PRICES: readonly string[] = ['price_plan.assign', 'price_group.assign'] satisfies AuditAction[]

/** What was done, in terms that the reader knows. */
export function shownAction({ onlyTenant }: Pick<Context, 'onlyTenant'>, action: string): string {
  return onlyTenant !== null && CHANGE_PRICES.includes(action) ? PRICES_CHANGED : action
}

/** The actions that a reader means by one of these terms, or by its noun; without what is none of theirs. */
export function soughtActions(
  { onlyTenant }: Pick<Context, 'onlyTenant'>,
  action: string | undefined,
): Pick<AuditFilter, 'action' | 'actions' | 'withoutActions'> {
  if (onlyTenant === null) return { action }
  if (action === undefined) return { withoutActions: OPERATORS_ACTIONS }
  const means = (term: string) => term === action || term.startsWith(`${action}.`)
  if (means(PRICES_CHANGED)) return { actions: CHANGE_PRICES }
  return CHANGE_PRICES.some(means) ? { actions: [] } : { action, withoutActions: OPERATORS_ACTIONS }
}

/** What stands in an audit entry, as far as the reader may know it. */
export function shownDetail({ onlyTenant }: Pick<Context, 'onlyTenant'>, detail: unknown): unknown {
  if (onlyTenant === null || typeof detail !== 'object' || detail === null) return detail
  const shown = Object.entries(detail).filter(([member]) => !OPERATORS_MEMBERS.includes(member))
  return shown.length === 0 ? null : Object.fromEntries(shown)
}
