import { notify } from '../../alerts/alerts.ts'
import { NIL_TENANT } from '../../lib/ids.ts'
import { type Loop, runLoop } from '../../lib/process/lifecycle.ts'
import type { FulfilmentDeps } from '../outcomes/deps.ts'

const POLL_MS = 60_000
/** While more come under review, operators are told again this often at most: a supplier's bad hour is one story. */
const TOLD_EVERY = '1 hour'
/** For the notice's words; whether there are fresh ones is asked of all. */
const COUNTED_MAX = 1_000

/** Tells operators of orders that came under review since they were last told. */
export function reviewAlertLoop(deps: FulfilmentDeps): Loop {
  return runLoop({
    name: 'review notices',
    log: deps.log,
    loops: deps.loops,
    pollMs: POLL_MS,
    async pass() {
      await alertOperatorsOfReviews(deps)
      return false
    },
  })
}

/** @returns whether a notice was given. Of several nodes one gives it: the advisory lock lets the others see it. */
export async function alertOperatorsOfReviews(deps: Pick<FulfilmentDeps, 'db' | 'ids'>): Promise<boolean> {
  return deps.db.tx(async (tx) => {
    tx.send({ text: `select pg_advisory_xact_lock(hashtext('review notices'))` })
    const [last] = await tx.query<{ toldAt: Date; lately: boolean }>({
      text: `select created_at as told_at, created_at > now() - $2::interval as lately from alerts
             where tenant_id = $1 and kind = 'UNDER_REVIEW' order by alert_id desc limit 1`,
      values: [NIL_TENANT, TOLD_EVERY],
    })
    if (last?.lately) return false
    const [found] = await tx.query<{ fresh: boolean; all: number }>({
      text: `select exists (select from orders where order_status = 'UNDER_REVIEW' and updated_at > $1) as fresh,
               (select count(*)::int from (select from orders where order_status = 'UNDER_REVIEW' limit $2) o) as all`,
      values: [last?.toldAt ?? new Date(0), COUNTED_MAX],
    })
    if (!found?.fresh) return false
    const count = found.all === COUNTED_MAX ? `${COUNTED_MAX} or more` : String(found.all)
    notify(tx, deps.ids, {
      tenantId: null,
      kind: 'UNDER_REVIEW',
      audience: 'OPERATOR',
      message: `Orders under review: ${count}. Their suppliers cannot tell what became of them. Ask the suppliers, then record what they said with each order.`,
      data: { orders: found.all },
    })
    return true
  })
}
