import {
  type CheckpointAnswer,
  type CheckpointRequest,
  checkpointText,
  formatTime,
  KEYS_NAME,
  restoreText,
} from '@dealer-esim/contract'
import type { SigningKey } from '@dealer-esim/contract/signing-key'
import { ApiError } from '@dealer-esim/lib/api-error.ts'
import { firstUuidAt } from '@dealer-esim/lib/ids.ts'
import type { Db, Tx } from '@dealer-esim/lib/postgres/db.ts'
import { failpoint } from '@dealer-esim/lib/process/failpoint.ts'
import sql from 'sql-template-tag'
import { getSigningKey, type KeyDeps } from './ledger-keys.ts'
import { loadRoot } from './tree-tiles.ts'

/*
 * Signed checkpoints of ledgers. A note is committed before anybody sees it. With a synchronous standby, that commit and thus every
 * entry that the note covers have reached the standby, because the standby receives commits in order.
 */

export interface CheckpointDeps extends SigningDeps {
  db: Db
}

interface SigningDeps extends KeyDeps {
  links: { publicUrl: string }
}

/** Why a checkpoint is made, which decides how long it is kept. */
type Purpose = 'HOUR' | 'MONTH' | 'REQUEST'

const HOUR_KEPT_DAYS = 90
/** Those on request beside the first of an hour: the dealer has the note, and the root can be calculated again. */
const REQUEST_KEPT_DAYS = 1

/**
 * Answers `ledger/checkpoint`: the newest note of exactly `treeSize` entries, or a new one; without a size a note of the whole
 * tree, at most one a second.
 * @throws ApiError 000108 if the tree does not have so many entries yet
 */
export async function getCheckpoint(
  deps: CheckpointDeps,
  tenantId: string,
  { treeSize }: CheckpointRequest,
): Promise<CheckpointAnswer> {
  return deps.db.tx(async (tx) => {
    const tree = await lockTree(tx, tenantId)
    if (treeSize != null) requireSize(treeSize, tree.size, 'treeSize')
    const stored = await findCheckpoint(tx, tenantId, treeSize ?? tree.recentSize)
    return stored ?? (await signCheckpoint(tx, deps, tenantId, treeSize ?? tree.size, 'REQUEST'))
  })
}

/** Signs and stores a checkpoint of the whole tree. */
export function makeCheckpoint(deps: CheckpointDeps, tenantId: string): Promise<CheckpointAnswer> {
  return deps.db.tx((tx) => signWholeTree(tx, deps, tenantId))
}

/** Locks the tree, then signs and stores a checkpoint of all its entries. */
export async function signWholeTree(tx: Tx, deps: SigningDeps, tenantId: string): Promise<CheckpointAnswer> {
  const { size } = await lockTree(tx, tenantId)
  return signCheckpoint(tx, deps, tenantId, size, 'HOUR')
}

/** Signs the checkpoint that ends a month, which is kept for ever, unless the wallet had no entries. The month is then closed. */
export function closeMonth(deps: CheckpointDeps, tenantId: string, month: string, treeSize: number): Promise<void> {
  return deps.db.tx(async (tx) => {
    await lockTree(tx, tenantId)
    if (treeSize > 0) await signCheckpoint(tx, deps, tenantId, treeSize, 'MONTH')
    tx.send(sql`update ledger_trees set closed_month = ${month} where tenant_id = ${tenantId}`)
  })
}

/** @throws ApiError 000108 unless the tree has so many entries */
export function requireSize(wanted: number, size: number, field: string): void {
  if (wanted <= size) return
  const reason = `The tree has ${size} entries so far. New entries are added to it within seconds.`
  throw new ApiError('000108', { details: [{ field, reason }] })
}

interface LockedTree {
  size: number
  /** The size of the newest checkpoint of the whole tree, if it is at most a second old. */
  recentSize: number | undefined
}

/** Locks the tree's row, which the first call creates. */
export async function lockTree(tx: Tx, tenantId: string): Promise<LockedTree> {
  tx.send(sql`insert into ledger_trees (tenant_id) values (${tenantId}) on conflict do nothing`)
  const [row] = await tx.query<{ size: bigint; recentSize: bigint | null }>(sql`
    select size, case when checkpoint_at between clock_timestamp() - interval '1 second' and clock_timestamp()
                      then checkpoint_size end as recent_size
    from ledger_trees where tenant_id = ${tenantId} for no key update`)
  return { size: Number(row!.size), recentSize: row!.recentSize === null ? undefined : Number(row!.recentSize) }
}

/** The newest stored checkpoint of exactly this size. */
export async function findCheckpoint(
  tx: Pick<Db, 'query'>,
  tenantId: string,
  treeSize: number | undefined,
): Promise<CheckpointAnswer | undefined> {
  if (treeSize === undefined) return undefined
  const [row] = await tx.query<{ rootHash: string; note: string; createdAt: Date }>(sql`
    select root_hash, note, created_at from ledger_checkpoints
    where tenant_id = ${tenantId} and tree_size = ${treeSize} order by created_at desc limit 1`)
  return row && { treeSize, rootHash: row.rootHash, createTime: formatTime(row.createdAt), note: row.note }
}

/** The newest stored checkpoint of the tree: a month's end may have been signed after it, of fewer entries. */
export async function findNewestCheckpoint(
  db: Pick<Db, 'query'>,
  tenantId: string,
): Promise<CheckpointAnswer | undefined> {
  const [tree] = await db.query<{ checkpointSize: bigint | null }>(sql`
    select checkpoint_size from ledger_trees where tenant_id = ${tenantId}`)
  return findCheckpoint(db, tenantId, tree?.checkpointSize == null ? undefined : Number(tree.checkpointSize))
}

/** The caller has locked the tree, which has at least `treeSize` entries. */
async function signCheckpoint(
  tx: Tx,
  deps: SigningDeps,
  tenantId: string,
  treeSize: number,
  purpose: Purpose,
): Promise<CheckpointAnswer> {
  const key = await getSigningKey(tx, deps)
  const origin = await nameTree(tx, deps, tenantId)
  await signRestores(tx, key, tenantId, origin)
  const root = await loadRoot(tx, tenantId, treeSize)
  const { now, hour, month } = await readTime(tx)
  const [createTime, rootHash] = [formatTime(now), root.toString('base64')]
  const text = checkpointText({ origin, treeSize, rootHash, createTime })
  const note = `${text}\n${key.signatureOf(origin, text)}`
  tx.send(sql`
    insert into ledger_checkpoints (tenant_id, checkpoint_id, tree_size, root_hash, note, created_at, kept_until)
    values (${tenantId}, ${deps.ids.uuid()}, ${treeSize}, ${rootHash}, ${note}, ${now}, case
      when ${purpose} = 'MONTH' then null
      when not exists (${madeSince(tenantId, month)}) then null
      when ${purpose} = 'REQUEST' and exists (${madeSince(tenantId, hour)})
        then ${now}::timestamptz + ${REQUEST_KEPT_DAYS} * interval '1 day'
      else ${now}::timestamptz + ${HOUR_KEPT_DAYS} * interval '1 day' end)`)
  tx.send(sql`
    update ledger_trees set checkpoint_size = ${treeSize}, checkpoint_at = ${now}
    where tenant_id = ${tenantId} and size = ${treeSize}`)
  await failpoint('books.before-checkpoint')
  return { treeSize, rootHash, createTime, note }
}

/** SQL: finds a checkpoint that was made since a moment, by the time in its id. */
function madeSince(tenantId: string, moment: Date) {
  return sql`select from ledger_checkpoints where tenant_id = ${tenantId} and checkpoint_id >= ${firstUuidAt(moment.getTime())}::uuid`
}

/** The moment, and the beginnings of its hour and month (UTC). */
async function readTime(tx: Tx): Promise<{ now: Date; hour: Date; month: Date }> {
  const [time] = await tx.query<{ now: Date; hour: Date; month: Date }>(sql`
    select now, date_trunc('hour', now, 'UTC') as hour, date_trunc('month', now, 'UTC') as month
    from (select date_trunc('milliseconds', clock_timestamp()) as now) as moment`)
  return time!
}

/**
 * The tree's name in its checkpoints: given once, whatever becomes of PUBLIC_URL and of the tenant's cell. A reset of a test twin
 * begins another tree, with another name: `esim.example.com/<tenantId>/test/2`.
 */
async function nameTree(tx: Tx, { links, config }: SigningDeps, tenantId: string): Promise<string> {
  const [tree] = await tx.query<{ origin: string | null }>(sql`
    update ledger_trees set
      cells = case when ${config.cellName} = any (cells) then cells else cells || ${config.cellName}::text end
    where tenant_id = ${tenantId} returning origin`)
  if (tree!.origin !== null) return tree!.origin
  const origin = `${new URL(links.publicUrl).hostname}/${tenantId}`
  const [named] = await tx.query<{ origin: string }>(sql`
    update ledger_trees set origin = ${origin} || coalesce((
      select '/test/' || resets from twins where twins.tenant_id = ledger_trees.tenant_id and resets > 0), '')
    where tenant_id = ${tenantId} returning origin`)
  return named!.origin
}

/** Signs what is known of restores, before the first checkpoint of the history after them. */
async function signRestores(tx: Tx, key: SigningKey, tenantId: string, origin: string): Promise<void> {
  const rows = await tx.query<{ restoreId: string; treeSize: bigint; restoredAt: Date }>(sql`
    select restore_id, tree_size, restored_at from ledger_restores where tenant_id = ${tenantId} and note is null`)
  for (const { restoreId, treeSize, restoredAt } of rows) {
    const text = restoreText(origin, Number(treeSize), formatTime(restoredAt))
    tx.send(sql`
      update ledger_restores set note = ${`${text}\n${key.signatureOf(KEYS_NAME, text)}`}
      where tenant_id = ${tenantId} and restore_id = ${restoreId}`)
  }
}
