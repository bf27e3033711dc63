import type { Outcome, SupplierRequest } from './supplier.ts'

/**
 * Refuses several days of a day pass, for suppliers whose products have a fixed duration: they would deliver an eSIM for
 * one day, although the dealer has paid for all of them. @returns undefined if it may be bought
 */
export function refuseSeveralDays({ periodNum = 1 }: Pick<SupplierRequest, 'periodNum'>): Outcome | undefined {
  if (periodNum === 1) return undefined
  return { kind: 'refused', message: 'the supplier sells only one day of a day pass' }
}
