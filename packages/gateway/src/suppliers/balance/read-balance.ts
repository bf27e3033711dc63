import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { formatMoney } from '@dealer-esim/contract'
import type { Ids } from '@dealer-esim/lib/ids.ts'
import { isFree } from '@dealer-esim/lib/leases.ts'
import type { Db, Tx } from '@dealer-esim/lib/postgres/db.ts'
import type { Wakeups } from '@dealer-esim/lib/postgres/wakeups.ts'
import { withStorableMessage } from '@dealer-esim/wholesalers/stored-answer.ts'
import type { BalanceOutcome, Supplier } from '@dealer-esim/wholesalers/supplier.ts'
import sql from 'sql-template-tag'
import { createAlert } from '#alerts/create-alert.ts'
import { seeSupplier } from '../state/see-supplier.ts'
import { READ_EVERY_MS } from './balance-state.ts'
import { followMoney, makeOrdersDue } from './lack-of-money.ts'

/** This node's claim to read a balance. */
export interface BalanceClaim {
  supplier: string
  leaseToken: string
  /** By the database's clock. */
  claimedAt: Date
}

/** Longer than a reading takes. If the node dies, another node then reads the balance. */
const LEASE_MS = 120_000
/** How often a balance is read while its supplier is refusing purchases for lack of money. */
const READ_WITHOUT_MONEY_EVERY_MS = 60_000
/** Longer than any supplier takes to answer. */
const READ_MAX_MS = 30_000

/** Claims the longest-due balance of these suppliers. `anyTime`: even if none is due. */
export async function claimBalance(
  db: Pick<Db, 'query'>,
  suppliers: readonly string[],
  anyTime = false,
): Promise<BalanceClaim | undefined> {
  const leaseToken = randomUUID()
  const [row] = await db.query<Omit<BalanceClaim, 'leaseToken'>>({
    text: `update supplier_balances set lease_token = $2, lease_until = now() + $3 * interval '1 millisecond'
           where supplier = (
             select supplier from supplier_balances
             where supplier = any ($1) and (due_at <= now() or $4) and ${isFree('lease_until', LEASE_MS)}
             order by due_at, supplier limit 1 for no key update skip locked)
           returning supplier, now() as claimed_at`,
    values: [suppliers, leaseToken, LEASE_MS, anyTime],
  })
  return row && { ...row, leaseToken }
}

/** Reads a balance and saves it, with an alert if it has fallen below the operator's alert level. */
export async function readBalance(
  deps: { db: Db; ids: Ids; wake: Pick<Wakeups<'settings' | 'fulfilment'>, 'wake'> },
  claim: BalanceClaim,
  supplier: Pick<Supplier, 'balance'>,
): Promise<BalanceOutcome> {
  const outcome = withStorableMessage(await ask(supplier))
  const hasMoneyAgain = await deps.db.tx(async (tx) => {
    if (outcome.kind === 'balance') return saveBalance(tx, deps.ids, claim, outcome)
    saveFailure(tx, claim, outcome.message)
    return false
  })
  if (supplier.balance !== undefined) await saveSeen(deps.db, claim, outcome)
  if (hasMoneyAgain) {
    await followMoney(deps.db)
    deps.wake.wake('settings')
    deps.wake.wake('fulfilment')
  }
  return outcome
}

/** A separate transaction: the observation is valid even if another node has read the balance since. */
async function saveSeen(db: Db, { supplier, claimedAt }: BalanceClaim, outcome: BalanceOutcome): Promise<void> {
  const failure = outcome.kind === 'balance' ? null : outcome.message
  await db.tx((tx) => seeSupplier(tx, supplier, { by: 'BALANCE', failure }, { beganAt: claimedAt }))
}

async function ask(supplier: Pick<Supplier, 'balance'>): Promise<BalanceOutcome> {
  if (supplier.balance === undefined) return { kind: 'silent', message: 'the supplier does not report a balance' }
  const timer = new AbortController()
  const late: BalanceOutcome = { kind: 'silent', message: `no answer within ${READ_MAX_MS / 1000} s` }
  try {
    return await Promise.race([supplier.balance(), delay(READ_MAX_MS, late, { signal: timer.signal })])
  } catch (error) {
    return { kind: 'silent', message: error instanceof Error ? error.message : String(error) }
  } finally {
    timer.abort()
  }
}

const RELEASE = `lease_token = null, lease_until = null,
  due_at = now() + case when no_money_since is null then ${READ_EVERY_MS} else ${READ_WITHOUT_MONEY_EVERY_MS} end
    * interval '1 millisecond'`

/**
 * SQL: whether a reading ($3, in currency $4) that began after a refusal shows that the supplier has money again. The
 * balance must be higher than at the previous reading, or enough for the supplier's most expensive package, or for the
 * operator's alert level if no cost is known. If a balance passed as enough and a purchase was refused again, the same
 * balance does not pass a second time.
 */
const HAS_MONEY = `
  coalesce(no_money_since <= lease_until - ${LEASE_MS} * interval '1 millisecond' and $3::bigint > 0
    and ($3 > amount or $3 is distinct from returned_amount and $3 >= coalesce(
      (select max(r.cost_price * coalesce(p.period_num_max, 1))
       from package_suppliers r join packages p using (package_code)
       where r.supplier = $1 and r.cost_currency = $4), alert_below)), false)`

/**
 * Saves a reading and makes due the orders that were waiting for money. Locks the row until the commit. Without the lease
 * it writes nothing, because another node has read the balance since.
 * @returns whether the supplier lacked money and has money again
 */
async function saveBalance(
  tx: Tx,
  ids: Ids,
  { supplier, leaseToken }: BalanceClaim,
  { amount, currencyCode }: Extract<BalanceOutcome, { kind: 'balance' }>,
): Promise<boolean> {
  const [row] = await tx.query<{ wasLow: boolean; isLow: boolean; alertBelow: bigint | null; hasMoneyAgain: boolean }>({
    text: `with before as (
             select supplier, is_low, ${HAS_MONEY} as has_money
             from supplier_balances where supplier = $1 and lease_token = $2 for no key update)
           update supplier_balances b set amount = $3, currency_code = $4, read_at = now(), message = null,
             is_low = coalesce($3 < alert_below, false), ${RELEASE},
             no_money_since = case when before.has_money then null else no_money_since end,
             returned_amount = case when before.has_money or $3 = returned_amount then $3 end,
             no_money_alerted_at = case when $3 > b.amount then null else no_money_alerted_at end
           from before where b.supplier = before.supplier
           returning before.is_low as was_low, b.is_low, b.alert_below, before.has_money as has_money_again`,
    values: [supplier, leaseToken, amount, currencyCode],
  })
  if (row === undefined) return false
  tx.send(sql`
    insert into supplier_balance_readings (supplier, read_at, amount, currency_code)
    values (${supplier}, now(), ${amount}, ${currencyCode}) on conflict do nothing`)
  if (row.hasMoneyAgain) makeOrdersDue(tx, supplier)
  if (row.wasLow || !row.isLow) return row.hasMoneyAgain
  createAlert(tx, ids, {
    kind: 'SUPPLIER_BALANCE',
    message: `Your balance at ${supplier} is ${formatMoney(amount)} ${currencyCode}, below ${formatMoney(row.alertBelow!)}. Top it up in time: when no money is left, purchases go to other suppliers or wait.`,
    data: { supplier, amount: Number(amount), currencyCode },
  })
  return row.hasMoneyAgain
}

function saveFailure(tx: Tx, { supplier, leaseToken }: BalanceClaim, message: string): void {
  tx.send({
    text: `update supplier_balances set message = $3, ${RELEASE} where supplier = $1 and lease_token = $2`,
    values: [supplier, leaseToken, message],
  })
}
