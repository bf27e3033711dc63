import type { Cipher } from '@dealer-esim/lib/crypto.ts'
import type { Db } from '@dealer-esim/lib/postgres/db.ts'
import { openTraveller, type Traveller } from '#orders/traveller.ts'

/** The travellers whom an order names (`deliverTo`), before its eSIMs are there too. Not those who are forgotten. */
export async function listRecipients(
  { db, cipher }: { db: Pick<Db, 'query'>; cipher: Pick<Cipher, 'decrypt'> },
  tenantId: string,
  orderId: string,
): Promise<Traveller[]> {
  const rows = await db.query<{ traveller: Buffer }>({
    text: `select traveller from esim_sends
           where tenant_id = $1 and order_id = $2 and transaction_id is null and traveller is not null order by item_no`,
    values: [tenantId, orderId],
  })
  return rows.map(({ traveller }) => openTraveller(cipher, tenantId, traveller))
}
