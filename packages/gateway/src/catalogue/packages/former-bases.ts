import type { LocationNetwork } from '@dealer-esim/contract'
import { recordset } from '../../lib/postgres/columns.ts'
import type { Tx } from '../../lib/postgres/db.ts'
import { coverageOf } from '../coverage.ts'
import { fitKey } from '../topup-fit.ts'
import type { PackageChange } from './difference.ts'
import type { PackageDocument } from './document.ts'

/** The eSIMs that a TOPUP package fits: of the packages of one supplier, family, kind of data volume and area. */
interface Fit {
  readonly key: string
  readonly supplier: string
  readonly productFamily: string | null
  readonly dataType: string
}

/**
 * Marks packages as changed whose eSIMs a TOPUP package fitted before these changes and does not fit any more. Dealers see
 * whether a package can be topped up, and the change feed finds only TOPUP packages that fit now (snapshot/list.ts).
 */
export async function touchFormerBases(tx: Tx, changes: readonly PackageChange[], at: Date): Promise<void> {
  const lost = new Map<string, Fit>()
  for (const { before, after } of changes) {
    if (before?.packageType !== 'TOPUP') continue
    const kept = new Set(fitsOf(after).map(({ key }) => key))
    for (const fit of fitsOf(before)) if (!kept.has(fit.key)) lost.set(fit.key, fit)
  }
  if (lost.size === 0) return
  // With their areas in the rows: coverages are few, packages may be many.
  const bases = await tx.query<{ coverageId: string } & Omit<Fit, 'key'> & CoverageRow>({
    text: `select distinct on (coverage_id, supplier, p.product_family, data_type)
             coverage_id, supplier, p.product_family, data_type, c.location_codes, c.location_networks
           from json_to_recordset($1) as r (supplier text, product_family text, data_type text)
           join package_suppliers s using (supplier) join packages p using (package_code, data_type)
           join coverages c using (coverage_id)
           where p.package_type = 'BASE' and p.product_family is not distinct from r.product_family`,
    values: [recordset([...lost.values()])],
  })
  const touched = bases.filter(({ supplier, locationCodes, locationNetworks, ...base }) =>
    lost.has(fitKey({ ...base, coverage: coverageOf(locationCodes, locationNetworks) }, supplier)),
  )
  if (touched.length === 0) return
  tx.send({
    text: `update packages p set updated_at = $2, touched_at = $2
           from json_to_recordset($1) as r (coverage_id text, supplier text, product_family text, data_type text)
           where p.package_type = 'BASE' and p.coverage_id = r.coverage_id and p.data_type = r.data_type
             and p.product_family is not distinct from r.product_family
             and exists (select from package_suppliers s
                         where s.package_code = p.package_code and s.supplier = r.supplier)`,
    values: [
      recordset(
        touched.map(({ coverageId, supplier, productFamily, dataType }) => ({
          ...{ coverageId, supplier, productFamily, dataType },
        })),
      ),
      at,
    ],
  })
}

interface CoverageRow {
  locationCodes: string[]
  locationNetworks: LocationNetwork[]
}

function fitsOf({ suppliers, productFamily, dataType, locationCodes, locationNetworkList }: PackageDocument): Fit[] {
  const coverage = coverageOf(locationCodes, locationNetworkList)
  return suppliers.map(({ supplier }) => ({
    ...{ supplier, productFamily, dataType },
    key: fitKey({ dataType, productFamily, coverage }, supplier),
  }))
}
