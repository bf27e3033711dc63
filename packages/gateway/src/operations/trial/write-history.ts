import { recordset } from '@dealer-esim/lib/postgres/columns.ts'
import type { Db, Tx } from '@dealer-esim/lib/postgres/db.ts'
import { createPartitions } from '@dealer-esim/lib/postgres/partitions.ts'
import type { Deps } from '#deps.ts'
import { encryptEsimSecrets } from '#esims/profile-secrets.ts'
import { AGED_BY_CLOCK } from '#platform/retention/retention-table.ts'
import { lockTenantWallet } from '#wallet/ledger/lock-wallets.ts'
import { makeWeek, type Product, type TrialDealer, type WeekInput } from './trial-history.ts'

/** The number of packages that a trial dealer sells. */
const PRODUCTS_MAX = 14

/** Creates the past partitions from this time on, as far back as retention keeps them. */
export async function createHistoryPartitions(db: Db, sinceMs: number): Promise<void> {
  await createPartitions(db, AGED_BY_CLOCK, sinceMs)
}

/** Writes one week of a dealer into its tables and updates its wallet. Locks the wallet. */
export async function writeWeek(
  tx: Tx,
  deps: Pick<Deps, 'catalogue' | 'cipher'>,
  dealer: TrialDealer & { tenantId: string },
  period: Pick<WeekInput, 'week' | 'startMs' | 'endMs' | 'nowMs'>,
): Promise<void> {
  const { tenantId } = dealer
  const wallet = await lockTenantWallet(tx, tenantId)
  const products = await chooseProducts(deps, dealer)
  const { rows, balance, version } = makeWeek({
    ...{ ...dealer, ...period, products },
    ...{ balance: wallet.balance, version: wallet.version },
    encryptSecrets: (esim) => encryptEsimSecrets(deps.cipher, tenantId, esim),
  })
  // In foreign-key order.
  for (const [table, tableRows] of Object.entries(rows)) insert(tx, table, tableRows)
  tx.send({
    text: 'update wallets set balance = $2, version = $3, updated_at = $4 where tenant_id = $1',
    values: [tenantId, balance, version, new Date(period.endMs)],
  })
}

/** Packages with a fixed volume that the sandbox delivers, the same for each week of a dealer. */
async function chooseProducts(
  deps: Pick<Deps, 'catalogue'>,
  dealer: TrialDealer & { tenantId: string },
): Promise<Product[]> {
  const snapshot = await deps.catalogue.latest()
  const products: Product[] = []
  for (const { item, quote } of snapshot.quotes(dealer)) {
    const isPlain = item.packageType === 'BASE' && item.dataType === 'TOTAL' && item.periodNumMin === null
    const isOfDemo = item.routes[0]?.supplier === 'sandbox' && !item.packageCode.startsWith('SANDBOX_')
    if (item.onSale && isPlain && isOfDemo) products.push({ item, price: quote.price })
  }
  if (products.length === 0) throw new Error('the demo catalogue has no package for trial data')
  const step = Math.max(1, Math.floor(products.length / PRODUCTS_MAX))
  return products.filter((_, index) => index % step === dealer.ordersPerDay % step).slice(0, PRODUCTS_MAX)
}

/** A column that appears in no row keeps its default. */
function insert(tx: Tx, table: string, rows: readonly object[]): void {
  if (rows.length === 0) return
  const records = recordset(rows, (_, value) => (typeof value === 'bigint' ? value.toString() : value))
  const columns = Object.keys(JSON.parse(records)[0]).join(', ')
  tx.send({
    text: `insert into ${table} (${columns}) select ${columns} from jsonb_populate_recordset(null::${table}, $1)`,
    values: [records],
  })
}
