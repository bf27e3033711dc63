import { isIccid } from '@dealer-esim/contract'
import type { Ids } from '@dealer-esim/lib/ids.ts'
import type { Db } from '@dealer-esim/lib/postgres/db.ts'
import { notFound, Refusal } from '@dealer-esim/lib/refusal.ts'
import sql from 'sql-template-tag'

/** How a person wants to see a list: its filters, sort order and columns, as the query string of the console's page. */
export interface SavedView {
  viewId: string
  list: string
  name: string
  search: string
}

/** The maximum number of saved views per person: with more, the menu would itself need a list. */
const VIEWS_MAX = 100

export function listViews(db: Pick<Db, 'query'>, personId: string): Promise<SavedView[]> {
  return db.query<SavedView>(sql`
    select view_id, list, name, search from saved_views where person_id = ${personId} order by list, lower(name)`)
}

/**
 * Saves a view, replacing the one for the same list with the same name. It changes only a menu, so it is not audited.
 * @throws Refusal for an address or its beginning, which would stay when that of the traveller is deleted
 */
export async function saveView(
  { db, ids }: { db: Db; ids: Ids },
  personId: string,
  { list, name, search }: Omit<SavedView, 'viewId'>,
): Promise<void> {
  if (mayHoldAddress({ list, name, search })) {
    const message = 'A view cannot hold an e-mail address. Remove it from the search and the name, then save the view.'
    throw new Refusal(422, 'VIEW_HAS_ADDRESS', message)
  }
  await db.tx(async (tx) => {
    // The lock makes concurrent calls count each other's views.
    await tx.query(sql`select from people where person_id = ${personId} for update`)
    const [row] = await tx.query<{ count: number }>(sql`
      select count(*)::int as count from saved_views
      where person_id = ${personId} and (list, name) is distinct from (${list}, ${name})`)
    if (row!.count >= VIEWS_MAX)
      throw new Refusal(409, 'TOO_MANY_VIEWS', `You have ${VIEWS_MAX} saved views. Delete one first.`)
    await tx.query(sql`
      insert into saved_views (view_id, person_id, list, name, search)
      values (${ids.uuid()}, ${personId}, ${list}, ${name}, ${search})
      on conflict (person_id, list, name) do update set search = excluded.search`)
  })
}

/** @throws Refusal if the person has no such view */
export async function deleteView(db: Pick<Db, 'query'>, personId: string, viewId: string): Promise<void> {
  const deleted = await db.query(sql`
    delete from saved_views where view_id = ${viewId} and person_id = ${personId} returning view_id`)
  if (deleted.length === 0) throw notFound('view')
}

/** The search of eSIMs finds addresses: what is not a full ICCID, such as `mei`, may be the beginning of one. */
function mayHoldAddress({ list, name, search }: Omit<SavedView, 'viewId'>): boolean {
  const typed = new URLSearchParams(search).get('iccid')
  const isPartial = typed !== null && !isIccid(typed.replaceAll(/[\s-]/g, '').replace(/F{1,2}$/i, ''))
  return /@|%40/.test(`${name} ${search}`) || (list === 'esims' && isPartial)
}
