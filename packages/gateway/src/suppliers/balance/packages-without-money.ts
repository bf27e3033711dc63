import { beginChange } from '../../catalogue/version.ts'
import type { Db, Tx } from '../../lib/postgres/db.ts'

/**
 * Takes packages off sale whose suppliers all refuse purchases for lack of money, and puts them back when one of them sells
 * again. This is independent of the status that operators and rules give a package: only what has both is on sale.
 *
 * Compares all packages, so a change that a stopped process has missed is made up for. Takes the catalogue's lock only where
 * something has changed.
 * @returns the packages that changed
 */
export async function followMoney(db: Db): Promise<string[]> {
  if ((await listDiffering(db)).length === 0) return []
  return db.tx(async (tx) => {
    const change = await beginChange(tx)
    const codes = await listDiffering(tx)
    if (codes.length === 0) return []
    tx.send({
      text: `update packages set lacks_money = not lacks_money, touched_at = $2,
               sale_changed_at = case when on_sale then $2 else sale_changed_at end,
               updated_at = case when on_sale then $2 else updated_at end
             where package_code = any ($1)`,
      values: [codes, await change.stamp()],
    })
    change.checkTime()
    return codes
  })
}

/** A supplier that does not exist is skipped when an eSIM is bought, so it does not keep a package on sale. */
const ALL_LACK_MONEY = `
  exists (select from package_suppliers r join supplier_balances b using (supplier)
          where r.package_code = p.package_code and b.no_money_since is not null)
  and not exists (select from package_suppliers r join suppliers s using (supplier)
                  left join supplier_balances b using (supplier)
                  where r.package_code = p.package_code and b.no_money_since is null)`

async function listDiffering(db: Pick<Tx, 'query'>): Promise<string[]> {
  const rows = await db.query<{ packageCode: string }>({
    name: 'packages-follow-money',
    text: `with candidates as (
             select r.package_code from supplier_balances b join package_suppliers r using (supplier)
             where b.no_money_since is not null
             union select package_code from packages where lacks_money)
           select p.package_code from candidates join packages p using (package_code)
           where p.lacks_money <> (${ALL_LACK_MONEY}) order by 1`,
  })
  return rows.map(({ packageCode }) => packageCode)
}

/** The packages on sale that nobody can sell while suppliers lack money. */
export async function listUnsellable(tx: Pick<Tx, 'query'>, supplier: string): Promise<string[]> {
  const rows = await tx.query<{ packageCode: string }>({
    text: `select p.package_code from packages p
           where p.on_sale and exists (select from package_suppliers r
                                       where r.package_code = p.package_code and r.supplier = $1)
             and ${ALL_LACK_MONEY} order by 1`,
    values: [supplier],
  })
  return rows.map(({ packageCode }) => packageCode)
}
