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
 * both sides ($4), so that two such requests always meet in one index; what was entered in earlier slots is looked up.
 *
 * Locks: index entries in (tenant, RequestID, slot) order, then buckets in tenant order, on every node: no circle.
 * Buckets: `on conflict do update` reads the row as it is after the lock, so all nodes spend from one bucket.
 *
 * $1 tenants, $2 RequestIDs, $3 slots, $4 slots on the other side (or null), $5 versions, $6 default QPS limit,
 * $7 the earliest slot that still counts.
 */
export const ENTER_REQUESTS = `
with asked as materialized (
  select a.*, t.version = a.judged_by as current, coalesce(t.qps_limit, $6::int) as qps_limit
  from unnest($1::uuid[], $2::uuid[], $3::int[], $4::int[], $5::bigint[])
       with ordinality as a(tenant_id, request_id, slot, other_slot, judged_by, position)
  left join tenants t on t.tenant_id = a.tenant_id
), unused as materialized (
  select a.* from asked a
  left join lateral (
    select true as seen from request_ids r
    where r.tenant_id = a.tenant_id and r.request_id = a.request_id and r.slot >= $7::int and r.slot <= a.slot + 1
    limit 1
  ) earlier on true
  where a.current and earlier.seen is null
), entered as (
  insert into request_ids (tenant_id, request_id, slot)
  select tenant_id, request_id, slot from unused
  union all
  select tenant_id, request_id, other_slot from unused where other_slot is not null
  order by 1, 2, 3
  on conflict do nothing
  returning tenant_id, request_id
), fresh as materialized (
  select u.position, u.tenant_id, u.qps_limit,
         row_number() over (partition by u.tenant_id order by u.position) as turn
  from unused u
  join (select tenant_id, request_id, count(*) as sides from entered group by 1, 2) e
    on e.tenant_id = u.tenant_id and e.request_id = u.request_id
   and e.sides = case when u.other_slot is null then 1 else 2 end
), spent as (
  insert into qps_buckets as b (tenant_id, tokens, qps_limit, wanted, granted, refilled_at)
  select tenant_id, max(qps_limit) - least(count(*), max(qps_limit)), max(qps_limit), count(*),
         least(count(*), max(qps_limit)), clock_timestamp()
  from fresh group by tenant_id order by tenant_id
  on conflict (tenant_id) do update set
    tokens = qps_refilled(b.tokens, b.refilled_at, excluded.qps_limit, excluded.refilled_at) - least(excluded.wanted,
             floor(qps_refilled(b.tokens, b.refilled_at, excluded.qps_limit, excluded.refilled_at))),
    granted = least(excluded.wanted,
              floor(qps_refilled(b.tokens, b.refilled_at, excluded.qps_limit, excluded.refilled_at))),
    qps_limit = excluded.qps_limit, wanted = excluded.wanted,
    refilled_at = greatest(b.refilled_at, excluded.refilled_at)
  returning tenant_id, granted
)
select extract(epoch from clock_timestamp())::float8 * 1000 as now_ms,
       (select version from catalogue_version) as catalogue_version,
       string_agg(case when a.current is not true then 'S' when f.turn is null then 'U'
                       when f.turn > s.granted then 'Q' else 'A' end, '' order by a.position) as verdicts
from asked a
left join fresh f on f.position = a.position
left join spent s on s.tenant_id = a.tenant_id`
