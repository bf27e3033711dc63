/** The bucket is refilled to the moment of the request and gives what is wanted of it, as far as it has it. */
const SPENT_FROM_BUCKET = `on conflict (tenant_id) do update set
    tokens = qps_refilled(b.tokens, b.refilled_at, excluded.qps_limit, excluded.refilled_at) - least(excluded.requested,
             floor(qps_refilled(b.tokens, b.refilled_at, excluded.qps_limit, excluded.refilled_at))),
    granted = least(excluded.requested,
              floor(qps_refilled(b.tokens, b.refilled_at, excluded.qps_limit, excluded.refilled_at))),
    qps_limit = excluded.qps_limit, requested = excluded.requested,
    refilled_at = greatest(b.refilled_at, excluded.refilled_at)`

/**
 * Admits a batch of requests, of all tenants, in one statement. A row of the batch is
 *   S stale     the node judged by older credentials or settings than the tenant's current ones; nothing was changed;
 *   U used      the RequestID was accepted before;
 *   Q over QPS  the RequestID is spent, the bucket is empty;
 *   A admitted.
 *
 * RequestIDs lie in slots of one hour of RT-Timestamp, and uniqueness is the primary key (tenant, id, slot). A replay of
 * a signed message has its timestamp, so its slot: the index alone refuses it. One id under two timestamps (a dealer's
 * mistake) may fall into two slots; where that could happen at one time, near the edge of a slot, the id is entered on
 * both sides ($4), so that two such requests always meet in one index; what was entered in slots before those is looked
 * up ($7 to $8).
 *
 * Locks: index entries in (tenant, RequestID, slot) order, then buckets in tenant order, on every node: no circle.
 * Buckets: `on conflict do update` reads the row as it is after the lock, so all nodes spend from one bucket.
 *
 * Measured, time of the backend: 1.0 ms for 24, 1.8 ms for 64; of each further one a third is its entry, a quarter the
 * look-up. The slots of the look-up are parameters, so that the other partitions are left out before the statement starts;
 * what was entered is found again by a hash ("in", not a join, which was planned for one row and compared each with each:
 * a quarter at 64).
 *
 * $1 tenants, $2 RequestIDs, $3 slots, $4 slots on the other side (or null), $5 versions, $6 default QPS limit,
 * $7 the earliest slot that still counts, $8 the last one that nobody enters any more.
 */
export const ENTER_REQUESTS = `
with asked as materialized (
  select a.*, t.version = a.judged_by as current, coalesce(t.qps_limit, $6::int) as qps_limit
  from unnest($1::uuid[], $2::uuid[], $3::int[], $4::int[], $5::bigint[])
       with ordinality as a(tenant_id, request_id, slot, other_slot, judged_by, position)
  left join tenants t on t.tenant_id = a.tenant_id
), unused as materialized (
  select tenant_id, request_id, slot, other_slot from asked a
  where current and (select true from request_ids r
                     where r.tenant_id = a.tenant_id and r.request_id = a.request_id and r.slot between $7::int and $8::int
                     limit 1) is null
), entered as (
  insert into request_ids (tenant_id, request_id, slot)
  select tenant_id, request_id, slot from unused
  union all
  select tenant_id, request_id, other_slot from unused where other_slot is not null
  order by 1, 2, 3
  on conflict do nothing
  returning tenant_id, request_id, slot
), judged as materialized (
  select position, tenant_id, qps_limit,
         case when current is not true then 'S'
              when (tenant_id, request_id, slot) in (select tenant_id, request_id, slot from entered)
               and (other_slot is null
                    or (tenant_id, request_id, other_slot) in (select tenant_id, request_id, slot from entered)) then 'A'
              else 'U' end as verdict
  from asked
), spent as (
  insert into qps_buckets as b (tenant_id, tokens, qps_limit, requested, granted, refilled_at)
  select tenant_id, max(qps_limit) - least(count(*), max(qps_limit)), max(qps_limit), count(*),
         least(count(*), max(qps_limit)), clock_timestamp()
  from judged where verdict = 'A' group by tenant_id order by tenant_id
  ${SPENT_FROM_BUCKET}
  returning tenant_id, granted
)
select extract(epoch from clock_timestamp())::float8 * 1000 as now_ms,
       (select version from catalogue_version) as catalogue_version,
       string_agg(case when j.verdict = 'A' and j.turn > s.granted then 'Q' else j.verdict end, '' order by j.position)
         as verdicts
from (select *, row_number() over (partition by tenant_id, verdict order by position) as turn from judged) j
left join spent s on s.tenant_id = j.tenant_id`

/**
 * The same for a lone request, without what tells the requests of a batch apart: 0.7 of the server's time. Its locks are
 * taken in the same order.
 *
 * $1 tenant, $2 RequestID, $3 slots to enter it in, ascending, $4 version, $5 default QPS limit, $6 and $7 as $7 and $8
 * above.
 */
export const ENTER_ONE = `
with asked as materialized (
  select coalesce(qps_limit, $5::int) as qps_limit from tenants where tenant_id = $1::uuid and version = $4::bigint
), entered as (
  insert into request_ids (tenant_id, request_id, slot)
  select $1, $2::uuid, slot from asked, unnest($3::int[]) as slot
  where not exists (select from request_ids
                    where tenant_id = $1 and request_id = $2 and slot between $6::int and $7::int)
  on conflict do nothing
  returning slot
), spent as (
  insert into qps_buckets as b (tenant_id, tokens, qps_limit, requested, granted, refilled_at)
  select $1, qps_limit - 1, qps_limit, 1, 1, clock_timestamp()
  from asked where (select count(*) from entered) = cardinality($3)
  ${SPENT_FROM_BUCKET}
  returning granted
)
select extract(epoch from clock_timestamp())::float8 * 1000 as now_ms, version as catalogue_version,
       case when asked is null then 'S' when granted is null then 'U' when granted = 0 then 'Q' else 'A' end as verdicts
from catalogue_version left join asked on true left join spent on true`
