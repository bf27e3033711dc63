import { parseActivationCode } from '@dealer-esim/contract'
import type { Cipher } from '../../lib/crypto.ts'
import type { Db } from '../../lib/postgres/db.ts'
import { decryptSecrets } from '../secrets.ts'
import { decryptQrToken } from './link.ts'

/** Never log it: it is enough to install the eSIM. */
export interface QrContent {
  ac: string
  smdpAddress: string
  /** Empty where the SM-DP+ identifies the eSIM by the device. */
  matchingId: string
  isConfirmationCodeRequired: boolean
  iccid: string
  packageName: string
}

/** The content of a QR link; undefined for an invalid link, and once the eSIM is installed or cancelled. */
export async function findQrContent(
  deps: { db: Db; cipher: Pick<Cipher, 'decrypt'>; linkKey: Buffer },
  token: string,
): Promise<QrContent | undefined> {
  const subject = decryptQrToken(deps.linkKey, token)
  if (subject === undefined) return undefined
  const { tenantId, profileId } = subject
  const [row] = await deps.db.query<Row>({
    name: 'profiles-qr',
    text: FIND,
    values: [tenantId, profileId],
  })
  if (!row) return undefined
  const { ac, matchingId } = decryptSecrets(deps.cipher, tenantId, row.secrets)
  const parsed = parseActivationCode(ac)
  return {
    ac,
    smdpAddress: row.smdpAddress,
    matchingId,
    isConfirmationCodeRequired: parsed.ok && parsed.value.confirmationCodeRequired,
    iccid: row.iccid,
    packageName: row.packageName,
  }
}

interface Row {
  secrets: Buffer
  smdpAddress: string
  iccid: string
  packageName: string
}

// Not installed yet. An eSIM in use is installed, unless its SM-DP+ still reports RELEASED or DOWNLOAD.
const FIND = `
  select p.secrets, p.smdp_address, p.iccid, o.package_lines -> i.line_no ->> 'packageName' as package_name
  from profiles p
  join orders o on o.tenant_id = p.tenant_id and o.order_id = p.order_id
  join order_items i on i.tenant_id = p.tenant_id and i.order_id = p.order_id and i.item_no = p.item_no
  where p.tenant_id = $1 and p.profile_id = $2
    and (p.esim_status = 'GOT_RESOURCE' and p.smdp_status is null
      or p.esim_status in ('GOT_RESOURCE', 'IN_USE') and p.smdp_status in ('RELEASED', 'DOWNLOAD'))`
