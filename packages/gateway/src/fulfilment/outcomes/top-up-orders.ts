import type { Cipher } from '@dealer-esim/lib/crypto.ts'
import type { Tx } from '@dealer-esim/lib/postgres/db.ts'
import { latestReference } from '@dealer-esim/wholesalers/stored-answer.ts'
import type { ToppedUpEsim } from '@dealer-esim/wholesalers/supplier.ts'
import { decryptSecrets } from '#esims/profile-secrets.ts'
import { itemKeyOf } from '#orders/order-item.ts'

/** The eSIM of a TOPUP order, as fulfilment needs it. */
export interface EsimOfTopUp {
  /** The eSIM as its supplier identifies it. */
  esim: ToppedUpEsim
  /** The eSIM's supplier, the only one that can add to it. */
  supplier: string
  /**
   * How many earlier top-ups of the eSIM are still undecided, up to EARLIER_MAX. Top-ups reach the supplier in the order of
   * their debits.
   */
  earlierCount: number
}

/** Counting further would only lengthen the wait that `inTurn` (claim.ts) computes. */
const EARLIER_MAX = 10

/**
 * Reads the eSIMs of TOPUP orders, by orderId; other orders are left out. One statement without a lock.
 *
 * A top-up waits for earlier ones that are PAID or ALLOCATING. One under review does not hold up the others: it may take
 * days, and it was sent before them.
 * @throws DecryptionFailed
 */
export async function readEsimsOfTopUps(
  db: Pick<Tx, 'query'>,
  cipher: Pick<Cipher, 'decrypt'>,
  tenantId: string,
  orderIds: readonly string[],
): Promise<Map<string, EsimOfTopUp>> {
  if (orderIds.length === 0) return new Map()
  const rows = await db.query<Row>({ name: 'fulfilment-topped-up', text: READ, values: [tenantId, orderIds] })
  return new Map(
    rows.map(({ orderId, esimOrderId, itemNo, iccid, secrets, reference, ...rest }) => {
      const { matchingId } = decryptSecrets(cipher, tenantId, secrets)
      return [
        orderId,
        {
          ...rest,
          esim: { key: itemKeyOf(esimOrderId, itemNo), reference: reference ?? undefined, iccid, matchingId },
        },
      ]
    }),
  )
}

interface Row {
  orderId: string
  esimOrderId: string
  itemNo: number
  iccid: string
  secrets: Buffer
  reference: string | null
  supplier: string
  earlierCount: number
}

const READ = `
  select o.order_id, p.order_id as esim_order_id, p.item_no, p.iccid, p.secrets, p.supplier,
    ${latestReference({ tenantId: '$1', orderId: 'p.order_id', itemNo: 'p.item_no', supplier: 'p.supplier' })} as reference,
    (select count(*)::int from (
      select from orders e
      where e.tenant_id = $1 and e.topped_up_profile_id = o.topped_up_profile_id and e.wallet_version < o.wallet_version
        and e.order_status in ('PAID', 'ALLOCATING')
      limit ${EARLIER_MAX}) earlier) as earlier_count
  from orders o join profiles p on p.tenant_id = o.tenant_id and p.profile_id = o.topped_up_profile_id
  where o.tenant_id = $1 and o.order_id = any ($2::uuid[])`

/** The orders that delivered the eSIMs of these TOPUP orders. */
export async function listEsimOrders(tx: Tx, tenantId: string, orderIds: readonly string[]): Promise<string[]> {
  if (orderIds.length === 0) return []
  const rows = await tx.query<{ orderId: string }>({
    name: 'fulfilment-esim-orders',
    text: `select distinct p.order_id
           from orders o join profiles p on p.tenant_id = o.tenant_id and p.profile_id = o.topped_up_profile_id
           where o.tenant_id = $1 and o.order_id = any ($2::uuid[])`,
    values: [tenantId, orderIds],
  })
  return rows.map(({ orderId }) => orderId)
}

/**
 * Makes the next top-up of each of these eSIMs due, because this transaction has decided an earlier one and already
 * recorded that. Skips locked orders, so that it never waits for a lock: they are due soon in any case.
 * @returns whether a top-up was made due
 */
export async function wakeNextTopUps(tx: Tx, tenantId: string, profileIds: readonly string[]): Promise<boolean> {
  if (profileIds.length === 0) return false
  const woken = await tx.query({
    name: 'fulfilment-wake-top-ups',
    text: `with next as (
             select n.order_id from unnest($2::uuid[]) profile (profile_id)
             cross join lateral (
               select order_id from orders
               where tenant_id = $1 and topped_up_profile_id = profile_id and order_status in ('PAID', 'ALLOCATING')
               order by wallet_version limit 1
             ) first
             join orders n on n.tenant_id = $1 and n.order_id = first.order_id and n.due_at > now()
             for no key update of n skip locked
           )
           update orders o set due_at = now() from next where o.tenant_id = $1 and o.order_id = next.order_id
           returning o.order_id`,
    values: [tenantId, profileIds],
  })
  return woken.length > 0
}
