import { advisoryKey } from '@dealer-esim/lib/postgres/schema.ts'
import { type Loop, runLoop } from '@dealer-esim/lib/process/start-stop.ts'
import { createAlert } from '#alerts/create-alert.ts'
import { NIL_TENANT } from '#platform/audit/audit.ts'
import type { FulfilmentDeps } from '../outcomes/outcome-deps.ts'
import { alertOfLateOrders } from './late-orders.ts'

const POLL_MS = 60_000
/** Operators get at most one alert in this time while more orders go to review. */
const ALERT_INTERVAL = '1 hour'
/** Limits the count in the alert's message, not the search for new orders. */
const COUNTED_MAX = 1_000

/** Alerts operators to orders that went to review, or became late, since the last alert. */
export function reviewAlertLoop(deps: FulfilmentDeps): Loop {
  return runLoop(deps, 'review alerts', POLL_MS, async () => {
    await alertOperatorsOfReviews(deps)
    await alertOfLateOrders(deps)
  })
}

/** @returns whether an alert was created. The advisory lock makes each node see the alerts of the others. */
export async function alertOperatorsOfReviews(deps: Pick<FulfilmentDeps, 'db' | 'ids'>): Promise<boolean> {
  return deps.db.tx(async (tx) => {
    tx.send({ text: `select pg_advisory_xact_lock(${advisoryKey('review alerts')})` })
    const [last] = await tx.query<{ alertedAt: Date; recent: boolean }>({
      text: `select created_at as alerted_at, created_at > now() - $2::interval as recent from alerts
             where tenant_id = $1 and kind = 'UNDER_REVIEW' order by alert_id desc limit 1`,
      values: [NIL_TENANT, ALERT_INTERVAL],
    })
    if (last?.recent) return false
    const [reviewed] = await tx.query<{ found: boolean; count: number }>({
      text: `select exists (select from orders where order_status = 'UNDER_REVIEW' and updated_at > $1) as found,
               (select count(*)::int from (select from orders where order_status = 'UNDER_REVIEW' limit $2) o) as count`,
      values: [last?.alertedAt ?? new Date(0), COUNTED_MAX],
    })
    if (!reviewed?.found) return false
    const count = reviewed.count === COUNTED_MAX ? `${COUNTED_MAX} or more` : String(reviewed.count)
    createAlert(tx, deps.ids, {
      kind: 'UNDER_REVIEW',
      message: `Orders under review: ${count}. Their suppliers did not report the outcome. Ask the suppliers, then record their answers on each order’s page.`,
      data: { orders: reviewed.count },
    })
    return true
  })
}
