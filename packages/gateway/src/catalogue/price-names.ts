import type { Tx } from '../lib/postgres/db.ts'

/** A name that was deleted is free again. @returns false where it is taken */
export async function insertName(tx: Tx, kind: 'plan' | 'group', name: string): Promise<boolean> {
  const made = await tx.query({
    text: `insert into price_${kind}s as known (${kind}_name, created_at) values ($1, now())
           on conflict (${kind}_name) do update set removed = false, created_at = excluded.created_at
           where known.removed returning ${kind}_name`,
    values: [name],
  })
  return made.length > 0
}
