import { buildActivationCode, parseActivationCode } from '@dealer-esim/contract'
import type { Cipher } from '@dealer-esim/lib/crypto.ts'
import type { Ids } from '@dealer-esim/lib/ids.ts'
import type { Db } from '@dealer-esim/lib/postgres/db.ts'
import { notFound } from '@dealer-esim/lib/refusal.ts'
import type { DeliveredEsim, SuppliedEsim } from '@dealer-esim/wholesalers/supplier.ts'
import sql from 'sql-template-tag'
import { itemKeyOf } from '#orders/order-item.ts'
import { audit, type By } from '#platform/audit/audit.ts'

/** The values that install an eSIM: always stored encrypted, visible only to its dealer. */
export interface ProfileSecrets {
  ac: string
  matchingId: string
  confirmationCode?: string
  pin?: string
  puk?: string
  /** An https page for the traveller's identity check. */
  kycUrl?: string
}

/** Encrypts the secrets of an eSIM for its tenant. */
export function encryptEsimSecrets(cipher: Pick<Cipher, 'encrypt'>, tenantId: string, esim: DeliveredEsim): Buffer {
  const secrets: ProfileSecrets = { ac: activationCodeOf(esim), matchingId: esim.matchingId }
  if (esim.confirmationCode) secrets.confirmationCode = esim.confirmationCode
  if (esim.pin) secrets.pin = esim.pin
  if (esim.puk) secrets.puk = esim.puk
  if (esim.kycUrl) secrets.kycUrl = esim.kycUrl
  return cipher.encrypt(JSON.stringify(secrets), tenantId)
}

/** Normalises the supplier's own code, which may contain more than an address and a matching id (an object identifier). */
function activationCodeOf(esim: DeliveredEsim): string {
  const given = esim.ac === undefined ? undefined : parseActivationCode(esim.ac)
  const code = given?.ok ? given.value : { smdpAddress: esim.smdpAddress, matchingId: esim.matchingId }
  return buildActivationCode({
    ...code,
    confirmationCodeRequired:
      esim.confirmationCode !== undefined || (given?.ok === true && given.value.confirmationCodeRequired),
  })
}

/** @throws DecryptionFailed */
export function decryptSecrets(cipher: Pick<Cipher, 'decrypt'>, tenantId: string, encrypted: Buffer): ProfileSecrets {
  return JSON.parse(cipher.decrypt(encrypted, tenantId).toString()) as ProfileSecrets
}

/**
 * Shows the secrets of an eSIM to an operator. Anyone who has them can take over the line, so the audit entry is written in
 * the same transaction.
 */
export async function revealCodes(
  deps: { db: Db; ids: Ids; cipher: Pick<Cipher, 'decrypt'> },
  { tenantId, profileId }: { tenantId: string; profileId: string },
  by: By,
): Promise<ProfileSecrets> {
  const encrypted = await deps.db.tx(async (tx) => {
    const [row] = await tx.query<{ secrets: Buffer }>(sql`
      select secrets from profiles where tenant_id = ${tenantId} and profile_id = ${profileId}`)
    if (!row) throw notFound('eSIM')
    audit(tx, deps.ids, { tenantId, ...by, action: 'profile.view_codes', subject: profileId })
    return row.secrets
  })
  return decryptSecrets(deps.cipher, tenantId, encrypted)
}

export interface SuppliedEsimRow {
  orderId: string
  itemNo: number
  productCode: string
  /** The supplier's own name for the purchase. */
  reference: string | null
  iccid: string
  secrets: Buffer
}

/**
 * Converts an eSIM to the form that a supplier's methods accept.
 * @param shown true if its dealer may have seen its activation code
 * @throws DecryptionFailed
 */
export function toSuppliedEsim(
  cipher: Pick<Cipher, 'decrypt'>,
  tenantId: string,
  { orderId, itemNo, productCode, reference, iccid, secrets }: SuppliedEsimRow,
  shown: boolean,
): SuppliedEsim {
  const { matchingId } = decryptSecrets(cipher, tenantId, secrets)
  const key = itemKeyOf(orderId, itemNo)
  return { tenantId, orderId, itemNo, key, productCode, reference: reference ?? undefined, iccid, matchingId, shown }
}
