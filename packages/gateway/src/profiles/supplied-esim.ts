import type { Cipher } from '../lib/crypto.ts'
import { itemKeyOf } from '../orders/item.ts'
import type { SuppliedEsim } from '../suppliers/supplier.ts'
import { openSecrets } from './read.ts'

export interface SuppliedRow {
  orderId: string
  itemNo: number
  productCode: string
  iccid: string
  secrets: Buffer
}

/**
 * An eSIM as its supplier is asked about it.
 * @param shown whether anybody may have seen its code
 * @throws DecryptionFailed
 */
export function suppliedEsimOf(
  cipher: Pick<Cipher, 'decrypt'>,
  tenantId: string,
  { orderId, itemNo, productCode, iccid, secrets }: SuppliedRow,
  shown: boolean,
): SuppliedEsim {
  const { matchingId } = openSecrets(cipher, tenantId, secrets)
  return { tenantId, orderId, itemNo, key: itemKeyOf(orderId, itemNo), productCode, iccid, matchingId, shown }
}
