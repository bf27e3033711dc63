import { type EsimAction, makeIccid } from '@dealer-esim/contract'
import type { Db } from '@dealer-esim/lib/postgres/db.ts'
import { failpoint } from '@dealer-esim/lib/process/failpoint.ts'
import type { ActionOutcome, SuppliedEsim } from '#supplier.ts'

/** Product codes that make the sandbox simulate a special case. Any other product is delivered immediately. */
export const SANDBOX_PRODUCTS = {
  /** Every eSIM is refused, and refunded. */
  refused: 'SANDBOX_REFUSED',
  /** Every second eSIM of an order is refused. */
  partial: 'SANDBOX_PARTIAL',
  /** Delivered after `slowMs`. */
  slow: 'SANDBOX_SLOW',
  /** Bought, but the answer is lost, and queries do not help: the order goes to review. */
  unknown: 'SANDBOX_UNKNOWN',
  /** The stock counter is 0. */
  outOfStock: 'SANDBOX_OUT_OF_STOCK',
  /** In use a few seconds after its delivery; its usage grows with time. */
  usage: 'SANDBOX_USAGE',
  /** Delivered; every action on the eSIM is refused. */
  actionRefused: 'SANDBOX_ACTION_REFUSED',
  /** Delivered; every action on the eSIM is carried out, but its answer is lost: the action goes to review. */
  actionUnknown: 'SANDBOX_ACTION_UNKNOWN',
} as const

/** What the sandbox is called with: its name, its books, and the time of a tenant's eSIMs. */
export interface Sandbox {
  name: string
  db: Db
  /** SQL: the present of a tenant. The same for all sandboxes of a process, because it is part of named statements. */
  nowOf(tenantId: string): string
}

/** A record of an eSIM or a top-up that was requested. */
export interface IssuedRow {
  key: string
  productCode: string
  answer: 'ISSUED' | 'REFUSED' | 'LOST'
  iccidNumber: bigint
}

export async function findIssued(db: Db, name: string, keys: string[]): Promise<IssuedRow[]> {
  return db.query<IssuedRow>({
    name: 'sandbox-find',
    text: `select key, product_code, answer, iccid_number from sandbox_issued
           where supplier = $1 and key = any ($2::text[])`,
    values: [name, keys],
  })
}

/** An ICCID begins with 89, followed by a country code that nobody uses. */
const ISSUER_PREFIX = '89999'

/** On Citus, a worker's row numbers start at its group id times 2^48. */
const GROUP_BITS = 48n
const NUMBERS_PER_GROUP = 10n ** 11n

export function iccidOf(row: Pick<IssuedRow, 'iccidNumber'>): string {
  const group = row.iccidNumber >> GROUP_BITS
  return makeIccid(ISSUER_PREFIX, group * NUMBERS_PER_GROUP + BigInt.asUintN(Number(GROUP_BITS), row.iccidNumber))
}

/**
 * Carries out an action on an eSIM. The action is recorded under its own key: a repeat gets the same answer and changes
 * nothing, and tests can count the requests.
 */
export async function act(
  sandbox: Sandbox,
  action: EsimAction,
  esim: SuppliedEsim,
  actionKey: string,
): Promise<ActionOutcome> {
  const { db, name } = sandbox
  const [issued] = await findIssued(db, name, [esim.key])
  // An operator may have recorded an eSIM other than the one issued under this key.
  if (issued?.answer !== 'ISSUED' || iccidOf(issued) !== esim.iccid) {
    return { kind: 'refused', message: 'the sandbox did not issue this eSIM' }
  }
  const [record] = await db.query<{ answer: Answer }>({
    name: `sandbox-${action.toLowerCase()}`,
    text: recordStatement(action, sandbox),
    values: [name, actionKey, esim.key, action, answerOf(issued.productCode), esim.tenantId],
  })
  await failpoint('sandbox.acted')
  switch (record!.answer) {
    case 'DONE':
      return { kind: 'done' }
    case 'REFUSED':
      return { kind: 'refused', message: 'refused by the sandbox: the eSIM or its product does not allow it' }
    case 'LOST':
      return { kind: 'unknown', message: 'no answer from the sandbox, as the product code requests' }
    default:
      return record!.answer satisfies never
  }
}

type Answer = 'DONE' | 'REFUSED' | 'LOST'

function answerOf(productCode: string): Answer {
  if (productCode === SANDBOX_PRODUCTS.actionRefused) return 'REFUSED'
  return productCode === SANDBOX_PRODUCTS.actionUnknown ? 'LOST' : 'DONE'
}

const ALIVE = 'e.cancelled_at is null and e.revoked_at is null'

/** What each action changes on an eSIM, and the state that allows it. An action that is already done is answered as done. */
const CHANGES: Record<EsimAction, { set(now: string): string; allowed: string }> = {
  CANCEL: {
    set: (now) => `cancelled_at = coalesce(cancelled_at, ${now})`,
    allowed: `e.cancelled_at is not null or ${ALIVE} and not exists (
      select from sandbox_issued t
      where t.supplier = e.supplier and t.topped_up_key = e.key and t.answer <> 'REFUSED')`,
  },
  SUSPEND: { set: (now) => `suspended_at = coalesce(suspended_at, ${now})`, allowed: ALIVE },
  UNSUSPEND: {
    set: (now) => `suspended_for = suspended_for + coalesce(${now} - suspended_at, '0'), suspended_at = null`,
    allowed: ALIVE,
  },
  REVOKE: { set: (now) => `revoked_at = coalesce(revoked_at, ${now})`, allowed: 'e.cancelled_at is null' },
}

/** Locks the eSIM, records the request, and changes the eSIM if the request is the first with its key. */
const recordStatement = (action: EsimAction, { nowOf }: Sandbox) => `
  with esim as (
    select e.key, ${CHANGES[action].allowed} as allowed
    from sandbox_issued e where e.supplier = $1 and e.key = $3 for no key update
  ), record as (
    insert into sandbox_actions (supplier, key, esim_key, action, answer)
    select $1, $2, $3, $4, case when allowed then $5 else 'REFUSED' end from esim
    on conflict (supplier, key) do update set requests = sandbox_actions.requests + 1
    returning answer, requests
  ), change as (
    update sandbox_issued set ${CHANGES[action].set(nowOf('$6::uuid'))}
    from record where supplier = $1 and sandbox_issued.key = $3 and record.requests = 1 and record.answer <> 'REFUSED'
  )
  select answer from record`
