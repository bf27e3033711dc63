import type { EsimStatus, SmdpStatus } from '@dealer-esim/contract'
import type { Supplier } from '../suppliers/supplier.ts'

/**
 * Checks whether the state of an eSIM allows a top-up, apart from what is in progress. A supplier that this node does not
 * know takes no expired eSIM.
 */
export function allowsTopUp(
  { esimStatus, smdpStatus }: { esimStatus: EsimStatus; smdpStatus: SmdpStatus | null },
  traits: Pick<Supplier['traits'], 'topsUpExpired'> | undefined,
): boolean {
  if (smdpStatus === 'DELETED') return false
  switch (esimStatus) {
    case 'GOT_RESOURCE':
    case 'IN_USE':
    case 'USED_UP':
      return true
    case 'USED_EXPIRED':
      return traits?.topsUpExpired === true
    case 'UNUSED_EXPIRED':
    case 'CANCEL':
    case 'REVOKED':
      return false
    default:
      return esimStatus satisfies never
  }
}
