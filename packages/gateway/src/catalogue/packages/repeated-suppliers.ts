import type { Fault } from '@dealer-esim/contract'
import type { Tx } from '../../lib/postgres/db.ts'
import { differingMembers, type PackageChange } from './difference.ts'

/**
 * Faults of packages that name a supplier a second time, in changes of their suppliers. An eSIM has one key at a supplier,
 * under which it has refused the first product; only a stock, which keeps nothing of a refusal, is sure to sell another under
 * it. No supplier changes its type, so that what is accepted here stays right.
 */
export async function suppliersNamedTwice(
  tx: Tx,
  changes: readonly PackageChange[],
): Promise<Map<PackageChange, Fault[]>> {
  const repeats = changes.flatMap((change) => {
    const names = change.after.suppliers.map(({ supplier }) => supplier)
    const places = names.flatMap((name, place) => (names.indexOf(name) < place ? [{ change, name, place }] : []))
    return places.length > 0 && differingMembers(change).includes('suppliers') ? places : []
  })
  if (repeats.length === 0) return new Map()
  const rows = await tx.query<{ supplier: string; type: string }>({
    text: 'select supplier, type from suppliers where supplier = any ($1)',
    values: [[...new Set(repeats.map(({ name }) => name))]],
  })
  const types = new Map(rows.map(({ supplier, type }) => [supplier, type]))
  const faults = new Map<PackageChange, Fault[]>()
  for (const { change, name, place } of repeats) {
    const type = types.get(name)
    if (type === 'stock') continue
    const fault: Fault = { code: '000108', field: `suppliers[${place}].supplier`, reason: reasonOf(name, type) }
    faults.set(change, [...(faults.get(change) ?? []), fault])
  }
  return faults
}

function reasonOf(name: string, type: string | undefined): string {
  const what = `${name} is there twice, which only a stock may be`
  if (type === undefined) {
    return `${what}, and there is no supplier ${name} yet. Add the stock ${name} first, or name it once.`
  }
  const why = 'any other supplier knows an eSIM by one key, under which it has refused the first product'
  return `${what}: ${why}. Name ${name} once; a second account there is a supplier of its own.`
}
