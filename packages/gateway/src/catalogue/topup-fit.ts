import type { CataloguePackage } from './snapshot/snapshot-package.ts'

/** The properties of an eSIM that decide which packages can be added to it. */
export interface EsimToTopUp {
  /** The package that was bought with the eSIM. */
  readonly packageCode: string
  /** The supplier that delivered it, which is the only one that can add to it. */
  readonly supplier: string
}

/**
 * Decides whether a package can be added to the eSIMs that a supplier delivered for another package: a TOPUP package of the
 * same supplier and product family, with the same coverage and kind of data volume. This does not consider whether it is on
 * sale or has a price.
 */
export function fitsEsim(topUp: CataloguePackage, base: CataloguePackage, supplier: string): boolean {
  return (
    topUp.packageType === 'TOPUP' &&
    base.packageType === 'BASE' &&
    topUp.routes.some((route) => route.supplier === supplier) &&
    isOfSameKind(topUp, base)
  )
}

/** The keys under which an index finds a BASE package's TOPUP packages: one for each of its suppliers. */
export function fitKeys(item: CataloguePackage): string[] {
  return [...new Set(item.routes.map(({ supplier }) => supplier))].map((supplier) => fitKey(item, supplier))
}

/** Compares which eSIMs two versions of a package fit. */
export function hasSameFit(before: CataloguePackage, after: CataloguePackage): boolean {
  if (before.packageType !== after.packageType) return false
  if (before === after || (before.routes === after.routes && before.coverage === after.coverage)) {
    return before.dataType === after.dataType && before.productFamily === after.productFamily
  }
  return fitKeys(before).join('\n') === fitKeys(after).join('\n')
}

/**
 * Compares the members of `fitKey`, except the supplier. Building one key takes a fifth of the time that deciding a top-up
 * takes.
 */
function isOfSameKind(left: CataloguePackage, right: CataloguePackage): boolean {
  return (
    left.dataType === right.dataType &&
    left.productFamily === right.productFamily &&
    left.coverage.area === right.coverage.area
  )
}

export function fitKey(
  { dataType, productFamily, coverage }: Pick<CataloguePackage, 'productFamily' | 'coverage'> & { dataType: string },
  supplier: string,
): string {
  return JSON.stringify([supplier, productFamily, dataType, coverage.area])
}
