import type { Db, Tx } from '@dealer-esim/lib/postgres/db.ts'

/** What was asked for when an eSIM was handed over. null: nothing. */
export interface AskedHandOver {
  brand: string | null
  language: string | null
}

/** The newest send of an eSIM decides on brand and language of its page; without a send, the line that ordered it. */
export async function findHandOver(
  db: Pick<Db | Tx, 'query'>,
  { tenantId, profileId }: { tenantId: string; profileId: string },
): Promise<AskedHandOver> {
  const [asked] = await db.query<AskedHandOver>({
    name: 'sends-hand-over',
    text: `select coalesce(s.brand, o.package_lines -> i.line_no ->> 'brand') as brand,
             coalesce(s.language, o.package_lines -> i.line_no ->> 'language') as language
           from profiles p
           join orders o on o.tenant_id = p.tenant_id and o.order_id = p.order_id
           join order_items i on i.tenant_id = p.tenant_id and i.order_id = p.order_id and i.item_no = p.item_no
           left join lateral (
             select brand, language from esim_sends s
             where s.tenant_id = p.tenant_id and s.order_id = p.order_id and s.item_no = p.item_no
             order by send_id desc limit 1) s on true
           where p.tenant_id = $1 and p.profile_id = $2`,
    values: [tenantId, profileId],
  })
  return asked ?? { brand: null, language: null }
}
