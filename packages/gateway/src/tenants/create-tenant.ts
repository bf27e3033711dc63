import { isCurrency } from '@dealer-esim/contract'
import type { Ids } from '@dealer-esim/lib/ids.ts'
import { Refusal } from '@dealer-esim/lib/refusal.ts'
import sql from 'sql-template-tag'
import { audit, type By } from '#platform/audit/audit.ts'
import type { Config } from '#platform/config/config.ts'
import { getOperatorSettings } from '#platform/deployment/operator-options.ts'
import { insertSecret, type SecretDeps } from './app-secret.ts'
import type { SellsThrough } from './change-tenant.ts'
import { textFault } from './tenant-settings.ts'

export interface NewTenant {
  clientName: string
  /** ISO 4217. Can never be changed. */
  currencyCode: string
  /** API by default. */
  sellsThrough?: SellsThrough
}

type CellConfig = Pick<Config, 'cellName'> & Partial<Pick<Config, 'mode'>>

export interface CreateTenantDeps extends Omit<SecretDeps, 'wake'> {
  config: CellConfig
}

export interface Credentials {
  tenantId: string
  appKey: string
  appSecret: string
}

/**
 * Creates a tenant with its credentials, an empty wallet and the operator's limit for new dealers.
 * @returns the credentials; the caller shows the AppSecret only once
 * @throws Refusal for an invalid name or an unknown currency
 */
export async function createTenant(deps: CreateTenantDeps, tenant: NewTenant, by: By): Promise<Credentials> {
  const clientName = tenant.clientName.trim()
  const fault = textFault('clientName', clientName)
  if (fault) throw new Refusal(422, 'NAME_INVALID', fault)
  const { currencyCode, sellsThrough = 'API' } = tenant
  if (!isCurrency(currencyCode)) {
    throw new Refusal(
      422,
      'CURRENCY_UNKNOWN',
      `“${currencyCode}” is not an ISO 4217 currency. Use a code such as USD or EUR.`,
    )
  }
  const tenantId = deps.ids.uuid()
  const appKey = createAppKey(deps.ids, 'ak', deps.config)
  const { appSecret } = await deps.db.tx(async (tx) => {
    const { newDealerQpsLimit: qpsLimit } = await getOperatorSettings(tx)
    tx.send(sql`
      insert into tenants (tenant_id, app_key, tenant_name, currency_code, qps_limit, sells_through)
      values (${tenantId}, ${appKey}, ${clientName}, ${currencyCode}, ${qpsLimit}, ${sellsThrough})`)
    // In whole milliseconds, like all wallet times: the order path reads them without microseconds.
    tx.send(sql`
      insert into wallets (tenant_id, currency_code, updated_at)
      values (${tenantId}, ${currencyCode}, date_trunc('milliseconds', clock_timestamp()))`)
    const secret = insertSecret(tx, deps, tenantId)
    const after = { clientName, currencyCode, sellsThrough, qpsLimit, appKey, secretId: secret.secretId }
    audit(tx, deps.ids, { tenantId, subject: tenantId, action: 'tenant.create', after, ...by })
    return secret
  })
  return { tenantId, appKey, appSecret }
}

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
/** 142 bits of entropy, so AppKeys cannot be guessed. */
const RANDOM_CHARACTERS = 24
/**
 * The largest multiple of 62 up to 256. Bytes from here on are skipped, because they would make some characters more
 * frequent.
 */
const EVEN_BYTES = 248

/**
 * Creates an AppKey, `ak_<cell>_<24 random characters>`, in which a load balancer finds the cell without a look-up; of a
 * restricted key `rk_<cell>_…`, of a test twin `ak_<cell>_test_…`. Older AppKeys have no cell.
 */
export function createAppKey(ids: Ids, prefix: 'ak' | 'rk', { cellName, mode }: CellConfig): string {
  let random = ''
  while (random.length < RANDOM_CHARACTERS) {
    const even = ids.bytes(RANDOM_CHARACTERS).filter((byte) => byte < EVEN_BYTES)
    for (const byte of even) random += BASE62[byte % BASE62.length]
  }
  return `${prefix}_${cellName}_${mode === 'TEST' ? 'test_' : ''}${random.slice(0, RANDOM_CHARACTERS)}`
}
