import {
  ESIM_STATUSES,
  orderIdOf,
  PAGE_SIZE_DEFAULT,
  type ProfileListAnswer,
  type ProfileListRequest,
  parseTime,
  SMDP_STATUSES,
  stripIccidPadding,
} from '@dealer-esim/contract'
import { type CursorScope, createCursor, readCursor } from '@dealer-esim/lib/cursor.ts'
import { firstUuidAt, HIGHEST_UUID, isUuid, LOWEST_UUID } from '@dealer-esim/lib/ids.ts'
import type { Db, Statement } from '@dealer-esim/lib/postgres/db.ts'
import { timeRange } from '#platform/test-time.ts'
import { JOIN_ORDERS, type JoinedRow, type ProfileReadDeps, profileOfRow } from './profile.ts'

/**
 * Lists one page of `esim/profile/list`, newest first by (createTime, id). Ids begin with their creation time, so one range
 * of ids expresses both the time filter and the cursor.
 */
export async function listProfiles(
  deps: ProfileReadDeps & { db: Db },
  tenantId: string,
  request: ProfileListRequest,
  { testOffsetMs }: { testOffsetMs: number } = { testOffsetMs: 0 },
): Promise<ProfileListAnswer> {
  const { cursor, pageSize, ...filters } = request
  const scope: CursorScope = { list: 'esim/profile/list', tenantId, filters }
  const size = pageSize ?? PAGE_SIZE_DEFAULT
  const before = cursor == null ? HIGHEST_UUID : String(readCursor(deps.linkKey, scope, cursor)[0])
  const statement = statementFor(tenantId, request, before, { limit: size + 1, isInTestTime: testOffsetMs > 0 })
  // The request specifies an order or profile that cannot exist.
  if (statement === undefined) return { profileList: [], nextCursor: null }
  const rows = await deps.db.query<JoinedRow>(statement)
  const page = rows.slice(0, size)
  const last = page.at(-1)
  return {
    profileList: page.map((row) => profileOfRow(deps, tenantId, row)),
    nextCursor: rows.length > size && last ? createCursor(deps.linkKey, scope, [last.profileId]) : null,
  }
}

/**
 * The most selective filter determines the statement. The others filter its few rows.
 *
 *   esimTranNo                 the primary key
 *   orderNo, transactionId     at most the order's hundred items
 *   iccid                      profiles_iccid: the few uses of one ICCID
 *   esimStatus, smdpStatus     profiles_status, each value of the one that is not given (at most eight)
 *   none, or only times        the primary key, backwards
 */
function statementFor(
  tenantId: string,
  request: ProfileListRequest,
  before: string,
  { limit, isInTestTime }: { limit: number; isInTestTime: boolean },
): Statement | undefined {
  const orderId = request.orderNo == null ? null : orderIdOf(request.orderNo)
  if (orderId === undefined) return undefined
  if (request.esimTranNo != null && !isUuid(request.esimTranNo)) return undefined
  const values = [
    tenantId,
    isInTestTime ? LOWEST_UUID : startOf(request),
    isInTestTime ? before : endOf(request, before),
    limit,
    orderId,
    request.transactionId ?? null,
    request.esimTranNo ?? null,
    request.iccid == null ? null : stripIccidPadding(request.iccid),
    request.esimStatus ?? null,
    request.smdpStatus ?? null,
    ...(isInTestTime ? timeRange(request) : []),
  ]
  const [name, from] =
    request.esimTranNo != null
      ? ['profiles-by-id', BY_ID]
      : orderId !== null || request.transactionId != null
        ? ['profiles-by-order', BY_ORDER]
        : request.iccid != null
          ? ['profiles-by-iccid', BY_ICCID]
          : request.esimStatus != null || request.smdpStatus != null
            ? ['profiles-by-status', BY_STATUS]
            : ['profiles-all', ALL]
  const text = `${from} ${TAIL}`
  if (!isInTestTime) return { name: name!, text, values }
  return { name: `${name!}-test`, text: text.replaceAll(RANGE, `${RANGE} and ${CREATED_BETWEEN}`), values }
}

function startOf(request: ProfileListRequest): string {
  return request.startTime == null ? LOWEST_UUID : firstUuidAt(parseTime(request.startTime).getTime())
}

function endOf(request: ProfileListRequest, before: string): string {
  if (request.endTime == null) return before
  const end = firstUuidAt(parseTime(request.endTime).getTime())
  return end < before ? end : before
}

// A range of ids: from $2 on, below $3.
const RANGE = 'p.tenant_id = $1 and p.profile_id >= $2::uuid and p.profile_id < $3::uuid'
/** In test time, ids no longer tell when an eSIM was created, but still in which order. */
const CREATED_BETWEEN = 'p.created_at >= $11::timestamptz and p.created_at < $12::timestamptz'
const REST = `
  and ($5::uuid is null or p.order_id = $5) and ($7::uuid is null or p.profile_id = $7)
  and ($8::text is null or p.iccid = $8) and ($9::text is null or p.esim_status = $9)
  and ($10::text is null or p.smdp_status = $10)`
const NEWEST = 'order by p.profile_id desc limit $4'

const TAIL = `${JOIN_ORDERS} where $6::text is null or o.transaction_id = $6 order by p.profile_id desc`

const BY_ID = `with found as materialized (
  select p.* from profiles p where ${RANGE} and p.profile_id = $7 ${REST} limit $4)`
const BY_ORDER = `with found as materialized (
  select p.* from profiles p
  where ${RANGE} ${REST} and p.order_id = coalesce($5, (
    select order_id from orders where tenant_id = $1 and transaction_id = $6))
  ${NEWEST})`
const BY_ICCID = `with found as materialized (
  select p.* from profiles p where ${RANGE} and p.iccid = $8 ${REST} ${NEWEST})`
const ALL = `with found as materialized (select p.* from profiles p where ${RANGE} ${REST} ${NEWEST})`

const values = (list: readonly string[]) => list.map((value) => `('${value}')`).join(', ')
/**
 * Each pair of statuses is one range of profiles_status. The newest rows of each range are read, and the newest of all
 * these form the page: at most eight times the rows of a page, at any depth in ten million. REST is repeated here because
 * PostgreSQL cannot infer the type of a parameter that a statement does not use.
 */
const BY_STATUS = `with found as materialized (
  select p.* from (values ${values(ESIM_STATUSES)}) as e(esim_status)
  cross join (values (''), ${values(SMDP_STATUSES)}) as s(smdp_status)
  cross join lateral (
    select * from profiles p
    where ${RANGE} and p.esim_status = e.esim_status and coalesce(p.smdp_status, '') = s.smdp_status
    ${REST}
    ${NEWEST}) p
  where ($9::text is null or e.esim_status = $9) and ($10::text is null or s.smdp_status = $10)
  ${NEWEST})`
