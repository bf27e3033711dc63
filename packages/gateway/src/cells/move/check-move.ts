import type { Db } from '@dealer-esim/lib/postgres/db.ts'
import { compareSchema, MigrationRefused, newerText } from '@dealer-esim/lib/postgres/migrations.ts'
import { Refusal, shortList } from '@dealer-esim/lib/refusal.ts'
import { findDeployment } from '#platform/deployment/ensure-deployment.ts'
import { hasTwinsSchema, twinsSchemaOf } from '#platform/deployment/twins-schema.ts'
import { migrationsFolder } from '#platform/package-root.ts'
import type { DealerMove, Move, MovingCell } from './cell-session.ts'
import { findMove } from './move-state.ts'

/** The number of names that a message lists. */
const NAMED_MAX = 10

/** Finds what prevents a move, or what would be lost by it. @returns sentences that say what to do */
export async function findObstacles(move: DealerMove): Promise<string[]> {
  const both = move.twin === undefined ? [move] : [move, move.twin]
  const releases = (await Promise.all(both.map(findOtherRelease))).flat()
  if (releases.length > 0) return releases // the other checks need identical tables in both cells
  const found = await Promise.all([
    ...both.flatMap((each) => [findOtherKeys(each), findPresent(each)]),
    findRecovering(move),
    findMissing(move), // a twin refers to packages and suppliers of the live dealers
    findOpenStock(move),
    findFormerTwin(move),
  ])
  return [...new Set(found.flat())]
}

/**
 * Checks the release of both cells. Rows are written and compared with the columns of the source, so both cells must run
 * the same release while rows are copied. Either may be upgraded between two runs of an interrupted move.
 * @throws Refusal
 */
export async function requireOneRelease(move: Move): Promise<void> {
  const faults = await findOtherRelease(move)
  if (faults.length > 0) throw new Refusal(409, 'OTHER_RELEASE', faults.join(' '))
}

/** Compares both databases with this release, so that their tables also match each other. */
async function findOtherRelease({ source, target }: Move): Promise<string[]> {
  return (await Promise.all([source, target].map(whyOtherRelease))).flat()
}

async function whyOtherRelease({ name, db }: MovingCell): Promise<string[]> {
  try {
    const { pending, next } = await compareSchema(db, migrationsFolder())
    // The next release's tables may have columns that this one would not copy.
    if (next !== undefined) return [`Cell ${name}: ${newerText(next.files[0] ?? `release ${next.release}`)}`]
    const [missing] = pending
    return missing === undefined ? [] : [`The database of cell ${name} lacks ${missing}: migrate it first.`]
  } catch (error) {
    if (error instanceof MigrationRefused) return [`Cell ${name}: ${error.message}`]
    throw error
  }
}

/** A restored cell has rows of the time of the backup, even of a dealer that has moved away since. */
async function findRecovering({ source, target }: Move): Promise<string[]> {
  const faults = [source, target].map(async ({ name, db }) => {
    const recovering = await db.query({ text: 'select from restores where recovering limit 1' })
    return recovering.length > 0 ? [`Cell ${name} is in recovery: end it first (recovery show).`] : []
  })
  return (await Promise.all(faults)).flat()
}

async function findOtherKeys({ source, target }: Move): Promise<string[]> {
  const [from, to] = await Promise.all([findDeployment(source.db), findDeployment(target.db)])
  if (from === undefined || to === undefined) return ['One of the cells was never started: start its gateway first.']
  if (from.rotatingTo !== null || to.rotatingTo !== null) {
    return ['The master key of one of the cells is being rotated: wait until that has ended.']
  }
  const faults: string[] = []
  if (from.kind !== to.kind)
    faults.push(`Cell ${source.name} is a ${from.kind} deployment, but ${target.name} is a ${to.kind} one.`)
  if (from.masterKeyFingerprint !== to.masterKeyFingerprint) {
    faults.push(
      'The cells have different master keys, so the target could not read the secrets: rotate the key of one cell to that of the other (master-key rotate).',
    )
  }
  return faults
}

async function findPresent({ source, target, tenantId, moveId }: Move): Promise<string[]> {
  const known = await findMove(target.db, tenantId)
  const [present] = await target.db.query({ text: 'select from tenants where tenant_id = $1', values: [tenantId] })
  const left = known?.direction === 'OUT' && known.state === 'DONE'
  if (present && known?.moveId !== moveId && !left) return [`Cell ${target.name} already has this dealer.`]
  const emails = await listNames(source.db, 'select email as name from people where tenant_id = $1 order by 1', [
    tenantId,
  ])
  const taken = await listNames(
    target.db,
    'select email as name from people where email = any ($1) and tenant_id is distinct from $2',
    [emails, tenantId],
  )
  return taken.length === 0
    ? []
    : [`These people already have accounts in cell ${target.name}: ${shortList(taken, NAMED_MAX)}.`]
}

/** Finds references in the tenant's rows that the target lacks. */
async function findMissing({ source, target, tenantId }: Move): Promise<string[]> {
  const wanted = {
    'packages (package import)': [
      `select distinct package_code as name from order_items where tenant_id = $1
       union select package_code from tenant_prices where tenant_id = $1 and not removed`,
      'select package_code as name from packages where package_code = any ($1)',
    ],
    'suppliers (supplier add)': [
      `select distinct supplier as name from order_items where tenant_id = $1 and supplier is not null
       union select distinct supplier from profiles where tenant_id = $1
       union select distinct supplier from orphans where tenant_id = $1
       union select distinct supplier from watched_items where tenant_id = $1
       union select jsonb_object_keys(other_suppliers) from watched_items where tenant_id = $1`,
      'select supplier as name from suppliers where supplier = any ($1)',
    ],
    'price plans (price plan)': [
      'select plan_name as name from tenant_price_plans where tenant_id = $1 and not removed',
      'select plan_name as name from price_plans where plan_name = any ($1) and not removed',
    ],
    'price groups (price group)': [
      'select group_name as name from tenant_price_groups where tenant_id = $1 and not removed',
      'select group_name as name from price_groups where group_name = any ($1) and not removed',
    ],
  } as const
  const faults: string[] = []
  for (const [what, [needed, present]] of Object.entries(wanted)) {
    const names = await listNames(source.db, needed, [tenantId])
    const known = new Set(await listNames(target.db, present, [names]))
    const missing = names.filter((name) => !known.has(name))
    if (missing.length > 0)
      faults.push(`Cell ${target.name} lacks ${what}: ${shortList(missing, NAMED_MAX)}. Add them there first.`)
  }
  return faults
}

/** A dealer has one twin: one that left the target with the dealer, and was deleted in its new cell, is still there. */
async function findFormerTwin({ target, tenantId, twin }: DealerMove): Promise<string[]> {
  const { db, name } = target
  const [schema] = await db.query<{ name: string }>({ text: 'select current_schema() as name' })
  if (!(await hasTwinsSchema(db, schema!.name))) return []
  const [former] = await db.query({
    text: `select from ${twinsSchemaOf(schema!.name)}.twins where live_tenant_id = $1 and tenant_id is distinct from $2`,
    values: [tenantId, twin?.tenantId],
  })
  return former
    ? [`Cell ${name} still has an earlier test twin of this dealer: remove it there (tenant move --clean).`]
    : []
}

/**
 * Codes in stock stay in their cell, so an item with a code in doubt must be resolved there: the other cell would not find
 * the code, and would sell another one. Only an open attempt reveals an item that a stopped worker has requested.
 */
export async function findOpenStock({ source, tenantId }: Move): Promise<string[]> {
  const [open] = await source.db.query<{ count: number }>({
    text: `select count(*)::int as count from orders o
           join order_items i on i.tenant_id = o.tenant_id and i.order_id = o.order_id
           where o.tenant_id = $1 and (o.due_at is not null or o.order_status = 'UNDER_REVIEW')
             and (i.item_status in ('ASKED', 'UNKNOWN', 'REVIEW') and i.supplier in (${STOCKS})
               or i.item_status = 'WAITING' and exists (
                 select from supplier_attempts a
                 where a.tenant_id = $1 and a.order_id = i.order_id and a.item_no = i.item_no
                   and a.lease_token = o.lease_token and a.finished_at is null and a.supplier in (${STOCKS})))`,
    values: [tenantId],
  })
  if (open!.count === 0) return []
  return [`${open!.count} eSIMs from stock are still undecided, and stock stays in its cell: resolve them first.`]
}

const STOCKS = `select supplier from suppliers where type = 'stock'`

async function listNames(db: Db, text: string, values: unknown[]): Promise<string[]> {
  return (await db.query<{ name: string }>({ text, values })).map(({ name }) => name)
}
