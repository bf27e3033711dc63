-- Test time: how far the present of a test account is ahead of the database's clock (platform/test-time.ts). Live accounts stay at 0.

alter table tenants
  add column test_offset_ms bigint not null default 0 check (test_offset_ms between 0 and 316224000000), -- ten years
  add column test_time timestamptz; -- the test time at the end of the last advance; null: never advanced

create index tenants_test_time on tenants (tenant_id) where test_offset_ms > 0;
