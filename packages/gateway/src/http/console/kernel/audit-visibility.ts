import type { AuditAction } from '#platform/audit/audited-actions.ts'
import type { AuditFilter } from '#platform/audit/search-audit.ts'
import type { Context } from './route.ts'

/** Members of audit entries that dealers do not see: suppliers' statements, plans, groups, and the first of two people. */
const OPERATOR_ONLY_MEMBERS = ['evidence', 'planName', 'groupName', 'proposedBy', 'confirmedBy']

/** The operator's internal discussion of an adjustment or payment. A dealer sees what was decided. */
const OPERATOR_ONLY_ACTIONS: readonly AuditAction[] = [
  'wallet.propose_adjustment',
  'wallet.reject_adjustment',
  'wallet.confirm_request_first',
]

/** Dealers do not learn about plans and groups: both assignments appear to them as a single price change. */
const PRICES_CHANGED = 'prices.change'
const PRICE_ASSIGNMENTS: readonly string[] = ['price_plan.assign', 'price_group.assign'] satisfies AuditAction[]

/** The action's name as the reader may see it. */
export function visibleAction({ onlyTenant }: Pick<Context, 'onlyTenant'>, action: string): string {
  return onlyTenant !== null && PRICE_ASSIGNMENTS.includes(action) ? PRICES_CHANGED : action
}

/**
 * Translates a filter for an action, or its noun, from the name that the reader knows. Excludes actions that the reader may not
 * see.
 */
export function actionFilter(
  { onlyTenant }: Pick<Context, 'onlyTenant'>,
  action: string | undefined,
): Pick<AuditFilter, 'action' | 'actions' | 'withoutActions'> {
  if (onlyTenant === null) return { action }
  if (action === undefined) return { withoutActions: OPERATOR_ONLY_ACTIONS }
  const matches = (name: string) => name === action || name.startsWith(`${action}.`)
  if (matches(PRICES_CHANGED)) return { actions: PRICE_ASSIGNMENTS }
  return PRICE_ASSIGNMENTS.some(matches) ? { actions: [] } : { action, withoutActions: OPERATOR_ONLY_ACTIONS }
}

/** The `before` or `after` of an audit entry, with only the members that the reader may see. */
export function visibleMembers({ onlyTenant }: Pick<Context, 'onlyTenant'>, value: unknown): unknown {
  if (onlyTenant === null || typeof value !== 'object' || value === null) return value
  const visible = Object.entries(value).filter(([member]) => !OPERATOR_ONLY_MEMBERS.includes(member))
  return visible.length === 0 ? null : Object.fromEntries(visible)
}
