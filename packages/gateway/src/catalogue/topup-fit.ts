import type { CataloguePackage } from './snapshot/package.ts'

/** An eSIM, as far as it decides which packages can be added to it. */
export interface EsimToTopUp {
  /** The package that it was bought as. */
  readonly packageCode: string
  /** Its supplier: only this one can add to it. */
  readonly supplier: string
}

/**
 * Decides whether a package can be added to eSIMs that a supplier delivered for another package: a TOPUP package of the
 * same supplier and product family, with the same coverage and kind of data volume. What is on sale, and at which price,
 * is decided elsewhere.
 */
export function fitsEsim(topUp: CataloguePackage, base: CataloguePackage, supplier: string): boolean {
  return (
    topUp.packageType === 'TOPUP' &&
    base.packageType === 'BASE' &&
    topUp.routes.some((route) => route.supplier === supplier) &&
    topUp.dataType === base.dataType &&
    topUp.productFamily === base.productFamily &&
    topUp.coverage.area === base.coverage.area
  )
}
