import sql from 'sql-template-tag'
import { audit, type By } from '../audit/audit.ts'
import type { Cipher } from '../lib/crypto.ts'
import type { Ids } from '../lib/ids.ts'
import type { Db } from '../lib/postgres/db.ts'
import { notFound } from '../lib/refusal.ts'
import { itemKeyOf } from '../orders/item.ts'
import type { SuppliedEsim } from '../suppliers/supplier.ts'
import type { ProfileSecrets } from './insert.ts'
import { decryptSecrets } from './profile.ts'

/**
 * What installs an eSIM, for a person to see. Whoever holds it takes the line over, so the look is recorded in the
 * transaction that allows it.
 */
export async function revealCodes(
  deps: { db: Db; ids: Ids; cipher: Pick<Cipher, 'decrypt'> },
  { tenantId, profileId }: { tenantId: string; profileId: string },
  by: By,
): Promise<ProfileSecrets> {
  const sealed = await deps.db.tx(async (tx) => {
    const [row] = await tx.query<{ secrets: Buffer }>(sql`
      select secrets from profiles where tenant_id = ${tenantId} and profile_id = ${profileId}`)
    if (!row) throw notFound('eSIM')
    audit(tx, deps.ids, { tenantId, ...by, action: 'profile.view_codes', subject: profileId })
    return row.secrets
  })
  return decryptSecrets(deps.cipher, tenantId, sealed)
}

export interface SuppliedEsimRow {
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
export function toSuppliedEsim(
  cipher: Pick<Cipher, 'decrypt'>,
  tenantId: string,
  { orderId, itemNo, productCode, iccid, secrets }: SuppliedEsimRow,
  shown: boolean,
): SuppliedEsim {
  const { matchingId } = decryptSecrets(cipher, tenantId, secrets)
  return { tenantId, orderId, itemNo, key: itemKeyOf(orderId, itemNo), productCode, iccid, matchingId, shown }
}
