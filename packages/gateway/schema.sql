-- The schema that the migrations make. Written by `npm run schema`; a test fails when it is stale.

create table access_tokens (
  token_id uuid not null,
  person_id uuid not null,
  name text not null,
  scope text not null,
  token_hash bytea not null,
  hint text not null,
  expires_at timestamp with time zone,
  used_at timestamp with time zone,
  created_at timestamp with time zone not null default now(),
  constraint access_tokens_pkey PRIMARY KEY (token_id),
  constraint access_tokens_token_hash_key UNIQUE (token_hash),
  constraint access_tokens_person_id_fkey FOREIGN KEY (person_id) REFERENCES people(person_id) ON DELETE CASCADE,
  constraint access_tokens_scope_check CHECK ((scope = ANY (ARRAY['READ'::text, 'WRITE'::text])))
);
CREATE INDEX access_tokens_person ON access_tokens USING btree (person_id);

create table alerts (
  tenant_id uuid not null,
  alert_id uuid not null,
  kind text not null,
  audience text not null,
  message text not null,
  data jsonb not null default '{}'::jsonb,
  read_at timestamp with time zone,
  created_at timestamp with time zone not null default now(),
  mailed_at timestamp with time zone,
  constraint alerts_pkey PRIMARY KEY (tenant_id, alert_id),
  constraint alerts_audience_check CHECK ((audience = ANY (ARRAY['OPERATOR'::text, 'TENANT'::text])))
);
CREATE INDEX alerts_time ON alerts USING btree (alert_id);
CREATE INDEX alerts_unmailed ON alerts USING btree (alert_id) WHERE (mailed_at IS NULL);
CREATE INDEX alerts_unread ON alerts USING btree (audience, tenant_id) WHERE (read_at IS NULL);

create table audit_log (
  tenant_id uuid not null,
  audit_id uuid not null,
  actor text not null,
  action text not null,
  subject text,
  before jsonb,
  after jsonb,
  address text,
  created_at timestamp with time zone not null default now(),
  constraint audit_log_pkey PRIMARY KEY (tenant_id, audit_id)
);
CREATE INDEX audit_log_time ON audit_log USING btree (audit_id);

create table backups (
  backup_id uuid not null,
  started_at timestamp with time zone not null,
  finished_at timestamp with time zone not null,
  file text not null,
  bytes bigint not null,
  encrypted boolean not null,
  actor text not null,
  constraint backups_pkey PRIMARY KEY (backup_id)
);
CREATE INDEX backups_finished_at ON backups USING btree (finished_at);

create table brand_pictures (
  tenant_id uuid not null,
  picture_hash text not null,
  content bytea not null,
  created_at timestamp with time zone not null default now(),
  constraint brand_pictures_pkey PRIMARY KEY (tenant_id, picture_hash)
);

create table brands (
  tenant_id uuid not null,
  brand text not null,
  is_default boolean not null default false,
  settings jsonb not null,
  updated_at timestamp with time zone not null default now(),
  constraint brands_pkey PRIMARY KEY (tenant_id, brand),
  constraint brands_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(tenant_id),
  constraint brands_brand_check CHECK ((brand ~ '^[a-z0-9-]{1,32}$'::text))
);
CREATE UNIQUE INDEX brands_default ON brands USING btree (tenant_id) WHERE is_default;

create table catalogue_version (
  singleton boolean not null default true,
  version bigint not null,
  changed_at timestamp with time zone not null,
  constraint catalogue_version_pkey PRIMARY KEY (singleton),
  constraint catalogue_version_singleton_check CHECK (singleton)
) with (fillfactor=50);

create table cell_imports (
  cell_name text not null,
  published_at timestamp with time zone not null,
  catalogue_version bigint not null,
  imported_at timestamp with time zone not null,
  constraint cell_imports_pkey PRIMARY KEY (cell_name)
);

create table coverages (
  coverage_id text not null,
  location_codes text[] not null,
  location_networks json not null,
  constraint coverages_pkey PRIMARY KEY (coverage_id)
);

create table daily_orders (
  tenant_id uuid not null,
  day date not null,
  currency_code text not null,
  cells smallint[] not null,
  orders integer[] not null,
  amounts bigint[] not null,
  constraint daily_orders_pkey PRIMARY KEY (tenant_id, day)
);

create table daily_purchases (
  day date not null,
  supplier text not null,
  outcome text not null,
  currency_code text not null,
  cost_currency text not null,
  items integer not null,
  revenue bigint not null,
  costed_items integer not null,
  supplier_cost bigint not null,
  charged_items integer not null,
  charged_cost bigint not null,
  constraint daily_purchases_pkey PRIMARY KEY (day, supplier, outcome, currency_code, cost_currency),
  constraint daily_purchases_outcome_check CHECK ((outcome <> 'OPEN'::text))
) with (fillfactor=50);

create table daily_sales (
  tenant_id uuid not null,
  day date not null,
  order_type text not null,
  package_code text not null,
  supplier text not null,
  currency_code text not null,
  outcome text not null,
  asked_supplier text not null,
  cost_currency text not null,
  items integer not null,
  revenue bigint not null,
  refunds bigint not null,
  cost bigint not null,
  unknown_items integer not null,
  unknown_revenue bigint not null,
  costed_items integer not null,
  supplier_cost bigint not null,
  charged_items integer not null,
  charged_cost bigint not null,
  constraint daily_sales_pkey PRIMARY KEY (tenant_id, day, order_type, package_code, asked_supplier, outcome, currency_code, cost_currency)
);
CREATE INDEX daily_sales_package ON daily_sales USING btree (package_code, day);

create table daily_sales_packages (
  day date not null,
  order_type text not null,
  package_code text not null,
  supplier text not null,
  currency_code text not null,
  items integer not null,
  revenue bigint not null,
  refunds bigint not null,
  cost bigint not null,
  unknown_items integer not null,
  unknown_revenue bigint not null,
  constraint daily_sales_packages_pkey PRIMARY KEY (day, order_type, package_code, supplier, currency_code)
) with (fillfactor=50);

create table daily_sales_tenant_suppliers (
  tenant_id uuid not null,
  day date not null,
  order_type text not null,
  supplier text not null,
  currency_code text not null,
  items integer not null,
  revenue bigint not null,
  refunds bigint not null,
  cost bigint not null,
  unknown_items integer not null,
  unknown_revenue bigint not null,
  constraint daily_sales_tenant_suppliers_pkey PRIMARY KEY (tenant_id, day, order_type, supplier, currency_code)
);
CREATE INDEX daily_sales_tenant_suppliers_day ON daily_sales_tenant_suppliers USING btree (supplier, day);

create table daily_sales_tenants (
  tenant_id uuid not null,
  day date not null,
  order_type text not null,
  currency_code text not null,
  items integer not null,
  revenue bigint not null,
  refunds bigint not null,
  cost bigint not null,
  unknown_items integer not null,
  unknown_revenue bigint not null,
  constraint daily_sales_tenants_pkey PRIMARY KEY (tenant_id, day, order_type, currency_code)
);
CREATE INDEX daily_sales_tenants_day ON daily_sales_tenants USING btree (day);

create table deliveries (
  tenant_id uuid not null,
  notify_id uuid not null,
  delivery_state text not null,
  due_at timestamp with time zone,
  attempts smallint not null default 0,
  generation bigint not null default 0,
  constraint deliveries_pkey PRIMARY KEY (tenant_id, notify_id),
  constraint deliveries_delivery_state_check CHECK ((delivery_state = ANY (ARRAY['PENDING'::text, 'DEAD'::text, 'UNSENT'::text])))
) partition by RANGE (notify_id);
CREATE INDEX deliveries_dead ON deliveries USING btree (tenant_id, notify_id) WHERE (delivery_state = 'DEAD'::text);
CREATE INDEX deliveries_due ON deliveries USING btree (tenant_id, due_at, notify_id) WHERE (due_at IS NOT NULL);

create table delivery_attempts (
  tenant_id uuid not null,
  attempt_id uuid not null,
  notify_id uuid not null,
  notify_type text not null,
  attempt_no smallint not null,
  url text not null,
  address text,
  started_at timestamp with time zone not null,
  duration_ms integer not null,
  http_status integer,
  outcome text not null,
  answer bytea,
  signature_starts text,
  constraint delivery_attempts_pkey PRIMARY KEY (tenant_id, notify_id, attempt_id)
) partition by RANGE (attempt_id);

create table deployment (
  singleton boolean not null default true,
  kind text not null,
  master_key_fingerprint text not null,
  link_key bytea not null,
  demo_tenant_id uuid,
  created_at timestamp with time zone not null default now(),
  rotating_to text,
  retired_keys text[] not null default '{}'::text[],
  constraint deployment_pkey PRIMARY KEY (singleton),
  constraint deployment_kind_check CHECK ((kind = ANY (ARRAY['local'::text, 'test'::text, 'production'::text]))),
  constraint deployment_singleton_check CHECK (singleton)
);

create table endpoint_queues (
  tenant_id uuid not null,
  node_id uuid not null,
  lease_until timestamp with time zone not null,
  constraint endpoint_queues_pkey PRIMARY KEY (tenant_id),
  constraint endpoint_queues_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(tenant_id)
) with (fillfactor=50, autovacuum_vacuum_cost_delay=0);

create table es2plus_orders (
  supplier text not null,
  key text not null,
  iccid text,
  iccid_chosen boolean not null,
  secrets bytea not null,
  step text not null,
  updated_at timestamp with time zone not null default now(),
  constraint es2plus_orders_pkey PRIMARY KEY (supplier, key),
  constraint es2plus_orders_supplier_fkey FOREIGN KEY (supplier) REFERENCES suppliers(supplier),
  constraint es2plus_orders_step_check CHECK ((step = ANY (ARRAY['NEW'::text, 'ORDERING'::text, 'ORDERED'::text, 'CONFIRMING'::text, 'CONFIRMED'::text, 'CANCELLING'::text, 'CANCELLED'::text])))
);
CREATE UNIQUE INDEX es2plus_orders_iccid ON es2plus_orders USING btree (supplier, iccid) WHERE iccid_chosen;

create table es2plus_ranges (
  supplier text not null,
  first_number bigint not null,
  next_number bigint not null,
  constraint es2plus_ranges_pkey PRIMARY KEY (supplier, first_number),
  constraint es2plus_ranges_supplier_fkey FOREIGN KEY (supplier) REFERENCES suppliers(supplier)
);

create table esim_actions (
  tenant_id uuid not null,
  action_id uuid not null,
  transaction_id text,
  started_by text not null,
  action text not null,
  profile_id uuid not null,
  order_id uuid not null,
  item_no smallint not null,
  supplier text not null,
  action_status text not null default 'PENDING'::text,
  refund_amount bigint not null default 0,
  fee_percent smallint not null default 0,
  fee_amount bigint not null default 0,
  currency_code text not null,
  reason text,
  failure_reason text,
  attempts smallint not null default 0,
  due_at timestamp with time zone,
  lease_token uuid,
  lease_until timestamp with time zone,
  actor text,
  created_at timestamp with time zone not null,
  updated_at timestamp with time zone not null,
  key_label text,
  constraint esim_actions_pkey PRIMARY KEY (tenant_id, action_id),
  constraint esim_actions_action_check CHECK ((action = ANY (ARRAY['CANCEL'::text, 'SUSPEND'::text, 'UNSUSPEND'::text, 'REVOKE'::text]))),
  constraint esim_actions_action_status_check CHECK ((action_status = ANY (ARRAY['PENDING'::text, 'DONE'::text, 'REFUSED'::text, 'UNDER_REVIEW'::text]))),
  constraint esim_actions_check CHECK (((started_by = 'DEALER'::text) = (transaction_id IS NOT NULL))),
  constraint esim_actions_fee_amount_check CHECK ((fee_amount >= 0)),
  constraint esim_actions_fee_percent_check CHECK (((fee_percent >= 0) AND (fee_percent <= 100))),
  constraint esim_actions_refund_amount_check CHECK ((refund_amount >= 0)),
  constraint esim_actions_started_by_check CHECK ((started_by = ANY (ARRAY['DEALER'::text, 'OPERATOR'::text])))
) with (fillfactor=80);
CREATE INDEX esim_actions_due ON esim_actions USING btree (tenant_id, due_at) WHERE (due_at IS NOT NULL);
CREATE UNIQUE INDEX esim_actions_open ON esim_actions USING btree (tenant_id, profile_id) WHERE (action_status = ANY (ARRAY['PENDING'::text, 'UNDER_REVIEW'::text]));
CREATE INDEX esim_actions_profile ON esim_actions USING btree (tenant_id, profile_id, action_id);
CREATE UNIQUE INDEX esim_actions_transaction ON esim_actions USING btree (tenant_id, transaction_id) WHERE (transaction_id IS NOT NULL);

create table esim_go_claims (
  supplier text not null,
  product_code text not null,
  key text not null,
  claimed_until timestamp with time zone not null,
  constraint esim_go_claims_pkey PRIMARY KEY (supplier, product_code),
  constraint esim_go_claims_supplier_fkey FOREIGN KEY (supplier) REFERENCES suppliers(supplier)
);

create table esim_go_orders (
  supplier text not null,
  key text not null,
  product_code text not null,
  sent_at timestamp with time zone not null,
  reference text,
  iccid text,
  constraint esim_go_orders_pkey PRIMARY KEY (supplier, key),
  constraint esim_go_orders_supplier_fkey FOREIGN KEY (supplier) REFERENCES suppliers(supplier)
);
CREATE INDEX esim_go_orders_iccid ON esim_go_orders USING btree (supplier, iccid) WHERE (iccid IS NOT NULL);
CREATE UNIQUE INDEX esim_go_orders_reference ON esim_go_orders USING btree (supplier, reference);
CREATE INDEX esim_go_orders_unanswered ON esim_go_orders USING btree (supplier) WHERE (reference IS NULL);

create table esim_sends (
  tenant_id uuid not null,
  send_id uuid not null,
  transaction_id text,
  started_by text,
  order_id uuid not null,
  item_no integer not null,
  profile_id uuid,
  recipient_hash bytea,
  traveller bytea,
  send_status text not null default 'QUEUED'::text,
  created_at timestamp with time zone not null,
  updated_at timestamp with time zone not null,
  brand text,
  language text,
  share_generation integer,
  constraint esim_sends_pkey PRIMARY KEY (tenant_id, send_id),
  constraint esim_sends_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(tenant_id),
  constraint esim_sends_send_status_check CHECK ((send_status = ANY (ARRAY['QUEUED'::text, 'SENT'::text, 'FAILED'::text, 'OPENED'::text])))
);
CREATE INDEX esim_sends_item ON esim_sends USING btree (tenant_id, order_id, item_no, send_id);
CREATE INDEX esim_sends_known ON esim_sends USING btree (created_at) WHERE (traveller IS NOT NULL);
CREATE INDEX esim_sends_recipient ON esim_sends USING btree (tenant_id, recipient_hash) WHERE (recipient_hash IS NOT NULL);
CREATE UNIQUE INDEX esim_sends_transaction ON esim_sends USING btree (tenant_id, transaction_id) WHERE (transaction_id IS NOT NULL);
CREATE INDEX esim_sends_waiting ON esim_sends USING btree (send_id) WHERE ((profile_id IS NULL) AND (send_status = 'QUEUED'::text));

create table events (
  tenant_id uuid not null,
  notify_id uuid not null,
  notify_type text not null,
  order_id uuid,
  content json not null,
  details json,
  created_at timestamp with time zone not null,
  constraint events_pkey PRIMARY KEY (tenant_id, notify_id),
  constraint events_notify_type_check CHECK ((notify_type = ANY (ARRAY['ORDER_PAID'::text, 'DELIVERY_UPDATED'::text, 'ESIM_USAGE'::text, 'ESIM_EXPIRING'::text, 'ESIM_ACTION_UPDATED'::text, 'BALANCE_LOW'::text])))
) partition by RANGE (notify_id);
CREATE INDEX events_order ON events USING btree (order_id);

create table exchange_rates (
  cost_currency text not null,
  sale_currency text not null,
  rate bigint not null,
  rated_at timestamp with time zone not null,
  updated_at timestamp with time zone not null,
  constraint exchange_rates_pkey PRIMARY KEY (cost_currency, sale_currency),
  constraint exchange_rates_check CHECK ((cost_currency <> sale_currency)),
  constraint exchange_rates_cost_currency_check CHECK ((cost_currency ~ '^[A-Z]{3}$'::text)),
  constraint exchange_rates_rate_check CHECK (((rate >= 1) AND (rate <= '1000000000000'::bigint))),
  constraint exchange_rates_sale_currency_check CHECK ((sale_currency ~ '^[A-Z]{3}$'::text))
);

create table issued_statements (
  tenant_id uuid not null,
  month text not null,
  statement_no text not null,
  document text not null,
  issued_at timestamp with time zone not null,
  constraint issued_statements_pkey PRIMARY KEY (tenant_id, month),
  constraint issued_statements_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(tenant_id),
  constraint issued_statements_month_check CHECK ((month ~ '^\d{4}-(0[1-9]|1[0-2])$'::text))
);

create table ledger_checkpoints (
  tenant_id uuid not null,
  checkpoint_id uuid not null,
  tree_size bigint not null,
  root_hash text not null,
  note text not null,
  created_at timestamp with time zone not null,
  kept_until timestamp with time zone,
  constraint ledger_checkpoints_pkey PRIMARY KEY (tenant_id, checkpoint_id)
);
CREATE INDEX ledger_checkpoints_kept_until ON ledger_checkpoints USING btree (kept_until) WHERE (kept_until IS NOT NULL);
CREATE INDEX ledger_checkpoints_size ON ledger_checkpoints USING btree (tenant_id, tree_size, created_at);

create table ledger_checks (
  checked_on date not null,
  started_at timestamp with time zone not null,
  finished_at timestamp with time zone,
  tenants bigint,
  transfers bigint,
  orders bigint,
  faults bigint,
  first_faults jsonb,
  constraint ledger_checks_pkey PRIMARY KEY (checked_on)
);

create table ledger_keys (
  key_id uuid not null,
  cell text not null,
  public_key text not null,
  private_key bytea,
  valid_from timestamp with time zone not null,
  valid_until timestamp with time zone,
  endorsement text,
  constraint ledger_keys_pkey PRIMARY KEY (key_id),
  constraint ledger_keys_public_key_key UNIQUE (public_key)
);

create table ledger_restores (
  tenant_id uuid not null,
  restore_id uuid not null,
  tree_size bigint not null,
  restored_at timestamp with time zone not null,
  note text,
  constraint ledger_restores_pkey PRIMARY KEY (tenant_id, restore_id)
);

create table ledger_tiles (
  tenant_id uuid not null,
  level smallint not null,
  tile bigint not null,
  hashes bytea not null,
  constraint ledger_tiles_pkey PRIMARY KEY (tenant_id, level, tile),
  constraint ledger_tiles_hashes_check CHECK (((length(hashes) >= 32) AND (length(hashes) <= 1024)))
);

create table ledger_trees (
  tenant_id uuid not null,
  size bigint not null default 0,
  origin text,
  cells text[] not null default '{}'::text[],
  checkpoint_size bigint,
  checkpoint_at timestamp with time zone,
  closed_month text,
  constraint ledger_trees_pkey PRIMARY KEY (tenant_id),
  constraint ledger_trees_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(tenant_id),
  constraint ledger_trees_size_check CHECK ((size >= 0))
) with (fillfactor=70);

create table list_prices (
  package_code text not null,
  currency_code text not null,
  price bigint not null,
  retail_price bigint,
  removed boolean not null,
  updated_at timestamp with time zone not null,
  first_set_at timestamp with time zone,
  constraint list_prices_pkey PRIMARY KEY (package_code, currency_code),
  constraint list_prices_package_code_fkey FOREIGN KEY (package_code) REFERENCES packages(package_code),
  constraint list_prices_currency_code_check CHECK ((currency_code ~ '^[A-Z]{3}$'::text)),
  constraint list_prices_price_check CHECK (((price >= 0) AND (price <= '9007199254740991'::bigint))),
  constraint list_prices_retail_price_check CHECK (((retail_price >= 0) AND (retail_price <= '9007199254740991'::bigint)))
);

create table mails (
  tenant_id uuid not null,
  mail_id uuid not null,
  recipient text not null,
  kind text not null,
  content bytea,
  due_at timestamp with time zone,
  attempts smallint not null default 0,
  lease_until timestamp with time zone,
  sent_at timestamp with time zone,
  failure text,
  created_at timestamp with time zone not null default now(),
  constraint mails_pkey PRIMARY KEY (tenant_id, mail_id)
);
CREATE INDEX mails_due ON mails USING btree (due_at) WHERE (due_at IS NOT NULL);
CREATE INDEX mails_time ON mails USING btree (mail_id);

create table mobimatter_orders (
  supplier text not null,
  key text not null,
  step text not null,
  order_id text,
  updated_at timestamp with time zone not null default now(),
  info_at timestamp with time zone,
  constraint mobimatter_orders_pkey PRIMARY KEY (supplier, key),
  constraint mobimatter_orders_supplier_fkey FOREIGN KEY (supplier) REFERENCES suppliers(supplier),
  constraint mobimatter_orders_check CHECK (((step = ANY (ARRAY['CREATED'::text, 'COMPLETING'::text])) = (order_id IS NOT NULL))),
  constraint mobimatter_orders_step_check CHECK ((step = ANY (ARRAY['CREATING'::text, 'CREATED'::text, 'COMPLETING'::text, 'ENDED'::text])))
);
CREATE UNIQUE INDEX mobimatter_orders_order_id ON mobimatter_orders USING btree (supplier, order_id);

create table monthly_sales_tenants (
  tenant_id uuid not null,
  month date not null,
  order_type text not null,
  currency_code text not null,
  items integer not null,
  revenue bigint not null,
  refunds bigint not null,
  cost bigint not null,
  unknown_items integer not null,
  unknown_revenue bigint not null,
  constraint monthly_sales_tenants_pkey PRIMARY KEY (tenant_id, month, order_type, currency_code)
) with (fillfactor=50);
CREATE INDEX monthly_sales_tenants_month ON monthly_sales_tenants USING btree (month);

create table notes (
  tenant_id uuid not null,
  note_id uuid not null,
  order_id uuid,
  text text not null,
  actor text not null,
  created_at timestamp with time zone not null,
  is_question boolean not null default false,
  constraint notes_pkey PRIMARY KEY (tenant_id, note_id),
  constraint notes_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(tenant_id)
);

create table operator_details (
  singleton boolean not null default true,
  legal_name text,
  tax_id text,
  address text,
  updated_at timestamp with time zone not null,
  constraint operator_details_pkey PRIMARY KEY (singleton),
  constraint operator_details_singleton_check CHECK (singleton)
);

create table operator_settings (
  singleton boolean not null default true,
  new_dealer_qps_limit integer,
  alert_emails text[] not null default '{}'::text[],
  contact_name text,
  contact_email text,
  contact_phone text,
  contact_hours text,
  brand jsonb,
  twins_by_dealers boolean not null default true,
  constraint operator_settings_pkey PRIMARY KEY (singleton),
  constraint operator_settings_singleton_check CHECK (singleton)
);

create table order_items (
  tenant_id uuid not null,
  order_id uuid not null,
  item_no smallint not null,
  line_no smallint not null,
  package_code text not null,
  price bigint not null,
  item_status text not null default 'WAITING'::text,
  route_no smallint not null default 0,
  supplier text,
  product_code text,
  cost bigint,
  cost_currency text,
  attempts smallint not null default 0,
  requested_at timestamp with time zone,
  in_doubt_at timestamp with time zone,
  failure_reason text,
  retry_at timestamp with time zone,
  updated_at timestamp with time zone not null,
  supplier_charge bigint,
  supplier_charge_currency text,
  constraint order_items_pkey PRIMARY KEY (tenant_id, order_id, item_no),
  constraint order_items_item_status_check CHECK ((item_status = ANY (ARRAY['WAITING'::text, 'ASKED'::text, 'UNKNOWN'::text, 'REVIEW'::text, 'DELIVERED'::text, 'REFUSED'::text, 'CANCELLED'::text])))
) with (fillfactor=70, autovacuum_vacuum_cost_delay=0);

create table order_quarter_hours (
  starts_at timestamp with time zone not null,
  outcome smallint not null,
  currency_code text not null,
  orders integer not null,
  amount bigint not null,
  constraint order_quarter_hours_pkey PRIMARY KEY (starts_at, outcome, currency_code)
) with (fillfactor=50);

create table orders (
  tenant_id uuid not null,
  order_id uuid not null,
  transaction_id text not null,
  order_type text not null default 'NEW'::text,
  topped_up_profile_id uuid,
  order_status text not null,
  amount bigint not null,
  refunded_amount bigint not null default 0,
  currency_code text not null,
  balance_after bigint not null,
  wallet_version bigint not null,
  package_lines jsonb not null,
  remark text,
  sent jsonb,
  status_history jsonb not null,
  event_sequence integer not null,
  due_at timestamp with time zone,
  lease_token uuid,
  lease_until timestamp with time zone,
  created_at timestamp with time zone not null,
  updated_at timestamp with time zone not null,
  constraint orders_pkey PRIMARY KEY (tenant_id, order_id),
  constraint orders_tenant_id_transaction_id_key UNIQUE (tenant_id, transaction_id),
  constraint orders_check CHECK (((refunded_amount >= 0) AND (refunded_amount <= amount))),
  constraint orders_check1 CHECK (((order_type = 'TOPUP'::text) = (topped_up_profile_id IS NOT NULL))),
  constraint orders_order_status_check CHECK ((order_status = ANY (ARRAY['PAID'::text, 'ALLOCATING'::text, 'DELIVERED'::text, 'PARTIALLY_DELIVERED'::text, 'FAILED'::text, 'UNDER_REVIEW'::text, 'CANCELLED'::text]))),
  constraint orders_order_type_check CHECK ((order_type = ANY (ARRAY['NEW'::text, 'TOPUP'::text])))
) with (fillfactor=80, autovacuum_vacuum_cost_delay=0);
CREATE INDEX orders_due ON orders USING btree (tenant_id, due_at) WHERE (due_at IS NOT NULL);
CREATE INDEX orders_esim_topups ON orders USING btree (tenant_id, topped_up_profile_id, wallet_version) WHERE (topped_up_profile_id IS NOT NULL);
CREATE INDEX orders_topups ON orders USING btree (tenant_id, order_id) WHERE (order_type = 'TOPUP'::text);
CREATE INDEX orders_unanswered ON orders USING btree (tenant_id, topped_up_profile_id) WHERE ((sent ->> 'isUnanswered'::text) IS NOT NULL);
CREATE INDEX orders_under_review ON orders USING btree (tenant_id, order_id) WHERE (order_status = 'UNDER_REVIEW'::text);
CREATE INDEX orders_unusual ON orders USING btree (tenant_id, order_status, order_id) WHERE (order_status = ANY (ARRAY['PARTIALLY_DELIVERED'::text, 'FAILED'::text, 'CANCELLED'::text]));

create table orphans (
  tenant_id uuid not null,
  orphan_id uuid not null,
  order_id uuid not null,
  item_no smallint not null,
  supplier text not null,
  iccid text not null,
  secrets bytea not null,
  state text not null default 'FOUND'::text,
  message text,
  created_at timestamp with time zone not null,
  updated_at timestamp with time zone not null,
  constraint orphans_pkey PRIMARY KEY (tenant_id, orphan_id),
  constraint orphans_tenant_id_order_id_item_no_supplier_iccid_key UNIQUE (tenant_id, order_id, item_no, supplier, iccid),
  constraint orphans_state_check CHECK ((state = ANY (ARRAY['FOUND'::text, 'CANCELLED'::text, 'KEPT'::text])))
);
CREATE INDEX orphans_found ON orphans USING btree (tenant_id, orphan_id) WHERE (state = 'FOUND'::text);
CREATE INDEX orphans_iccid ON orphans USING btree (iccid) WHERE (state <> 'CANCELLED'::text);

create table package_suppliers (
  package_code text not null,
  position smallint not null,
  supplier text not null,
  product_code text not null,
  cost_price bigint,
  cost_currency text,
  constraint package_suppliers_pkey PRIMARY KEY (package_code, "position"),
  constraint package_suppliers_package_code_fkey FOREIGN KEY (package_code) REFERENCES packages(package_code),
  constraint package_suppliers_check CHECK (((cost_price IS NULL) = (cost_currency IS NULL))),
  constraint package_suppliers_cost_currency_check CHECK ((cost_currency ~ '^[A-Z]{3}$'::text)),
  constraint package_suppliers_cost_price_check CHECK (((cost_price >= 0) AND (cost_price <= '9007199254740991'::bigint))),
  constraint package_suppliers_position_check CHECK ((("position" >= 0) AND ("position" <= 9)))
);
CREATE INDEX package_suppliers_product ON package_suppliers USING btree (supplier, product_code);

create table packages (
  package_code text not null,
  slug text not null,
  package_type text not null default 'BASE'::text,
  product_family text,
  name text not null,
  description text,
  data_type text not null,
  volume bigint,
  duration integer not null,
  duration_unit text not null,
  period_num_min smallint,
  period_num_max smallint,
  unused_valid_time integer not null,
  activation_policy text not null,
  ekyc_required boolean not null,
  coverage_id text not null,
  speed text,
  fup_policy text,
  sms_status smallint not null,
  allow_loss boolean not null,
  on_sale boolean not null,
  ever_on_sale boolean not null,
  sale_changed_at timestamp with time zone not null,
  created_at timestamp with time zone not null,
  updated_at timestamp with time zone not null,
  touched_at timestamp with time zone not null,
  first_on_sale_at timestamp with time zone,
  cancellable boolean not null default false,
  cancel_within_days integer,
  cancel_fee_percent smallint not null default 0,
  lacks_money boolean not null default false,
  constraint packages_pkey PRIMARY KEY (package_code),
  constraint packages_slug_key UNIQUE (slug),
  constraint packages_coverage_id_fkey FOREIGN KEY (coverage_id) REFERENCES coverages(coverage_id),
  constraint packages_activation_policy_check CHECK ((activation_policy = ANY (ARRAY['ON_INSTALL'::text, 'ON_FIRST_NETWORK'::text, 'ON_PURCHASE'::text]))),
  constraint packages_cancel_fee_percent_check CHECK (((cancel_fee_percent >= 0) AND (cancel_fee_percent <= 100))),
  constraint packages_cancel_within_days_check CHECK (((cancel_within_days >= 1) AND (cancel_within_days <= 3650))),
  constraint packages_check CHECK (((volume IS NULL) = (data_type = 'UNLIMITED'::text))),
  constraint packages_check1 CHECK (((period_num_min IS NULL) = (period_num_max IS NULL))),
  constraint packages_check2 CHECK (((((period_num_min >= 1) AND (period_num_min <= period_num_max)) AND (period_num_max <= 365) AND (data_type = 'DAILY'::text) AND (duration = 1)) OR (period_num_min IS NULL))),
  constraint packages_data_type_check CHECK ((data_type = ANY (ARRAY['TOTAL'::text, 'DAILY'::text, 'UNLIMITED'::text]))),
  constraint packages_duration_check CHECK (((duration >= 1) AND (duration <= 3650))),
  constraint packages_duration_unit_check CHECK ((duration_unit = 'DAY'::text)),
  constraint packages_package_type_check CHECK ((package_type = ANY (ARRAY['BASE'::text, 'TOPUP'::text]))),
  constraint packages_sms_status_check CHECK (((sms_status >= 0) AND (sms_status <= 2))),
  constraint packages_unused_valid_time_check CHECK (((unused_valid_time >= 0) AND (unused_valid_time <= 3650))),
  constraint packages_volume_check CHECK (((volume >= 1) AND (volume <= '9007199254740991'::bigint)))
);
CREATE INDEX packages_lacking_money ON packages USING btree (package_code) WHERE lacks_money;
CREATE INDEX packages_touched ON packages USING btree (touched_at);

create table passkeys (
  passkey_id uuid not null,
  person_id uuid not null,
  name text not null,
  credential_id bytea not null,
  public_key bytea not null,
  sign_count bigint not null,
  transports text[] not null,
  created_at timestamp with time zone not null default now(),
  used_at timestamp with time zone,
  constraint passkeys_pkey PRIMARY KEY (passkey_id),
  constraint passkeys_credential_id_key UNIQUE (credential_id),
  constraint passkeys_person_id_fkey FOREIGN KEY (person_id) REFERENCES people(person_id) ON DELETE CASCADE
);
CREATE INDEX passkeys_person ON passkeys USING btree (person_id);

create table payment_settings (
  currency_code text not null,
  bank_details text,
  payment_url text,
  second_person_above bigint,
  updated_at timestamp with time zone not null,
  constraint payment_settings_pkey PRIMARY KEY (currency_code),
  constraint payment_settings_second_person_above_check CHECK (((second_person_above >= 0) AND (second_person_above <= '9007199254740991'::bigint)))
);

create table people (
  person_id uuid not null,
  tenant_id uuid,
  email text not null,
  name text not null,
  role text not null,
  status text not null default 'ACTIVE'::text,
  password_hash text,
  password_change_required boolean not null default false,
  totp_secret bytea,
  totp_confirmed boolean not null default false,
  totp_last_step bigint not null default 0,
  password_allowed_until timestamp with time zone,
  muted_alerts text[] not null default '{}'::text[],
  last_sign_in_at timestamp with time zone,
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  language text,
  time_zone text,
  constraint people_pkey PRIMARY KEY (person_id),
  constraint people_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(tenant_id),
  constraint people_check CHECK (((role ~~ 'DEALER%'::text) = (tenant_id IS NOT NULL))),
  constraint people_check1 CHECK (((NOT totp_confirmed) OR (totp_secret IS NOT NULL))),
  constraint people_email_check CHECK ((email = lower(email))),
  constraint people_role_check CHECK ((role = ANY (ARRAY['OPERATOR_ADMIN'::text, 'OPERATOR_STAFF'::text, 'OPERATOR_READ_ONLY'::text, 'DEALER_ADMIN'::text, 'DEALER_STAFF'::text]))),
  constraint people_status_check CHECK ((status = ANY (ARRAY['ACTIVE'::text, 'DISABLED'::text])))
);
CREATE UNIQUE INDEX people_email ON people USING btree (email);
CREATE INDEX people_tenant ON people USING btree (tenant_id);

create table person_links (
  token_hash bytea not null,
  person_id uuid not null,
  kind text not null,
  expires_at timestamp with time zone not null,
  used_at timestamp with time zone,
  created_by text not null,
  created_at timestamp with time zone not null default now(),
  constraint person_links_pkey PRIMARY KEY (token_hash),
  constraint person_links_person_id_fkey FOREIGN KEY (person_id) REFERENCES people(person_id) ON DELETE CASCADE,
  constraint person_links_kind_check CHECK ((kind = ANY (ARRAY['INVITATION'::text, 'PASSWORD_RESET'::text, 'FORGOTTEN_PASSWORD'::text])))
);
CREATE INDEX person_links_person ON person_links USING btree (person_id);

create table price_group_plans (
  group_name text not null,
  plan_name text not null,
  removed boolean not null,
  updated_at timestamp with time zone not null,
  first_set_at timestamp with time zone,
  constraint price_group_plans_pkey PRIMARY KEY (group_name, plan_name),
  constraint price_group_plans_group_name_fkey FOREIGN KEY (group_name) REFERENCES price_groups(group_name),
  constraint price_group_plans_plan_name_fkey FOREIGN KEY (plan_name) REFERENCES price_plans(plan_name)
);
CREATE UNIQUE INDEX price_group_plans_one ON price_group_plans USING btree (group_name) WHERE (NOT removed);

create table price_groups (
  group_name text not null,
  created_at timestamp with time zone not null,
  removed boolean not null default false,
  constraint price_groups_pkey PRIMARY KEY (group_name)
);

create table price_plan_rules (
  plan_name text not null,
  scope text not null,
  target text not null,
  currency_code text not null,
  percent bigint,
  basis text not null default 'LIST'::text,
  rounding text not null default 'none'::text,
  price bigint,
  valid_from timestamp with time zone not null default '-infinity'::timestamp with time zone,
  valid_until timestamp with time zone not null default 'infinity'::timestamp with time zone,
  removed boolean not null,
  updated_at timestamp with time zone not null,
  first_set_at timestamp with time zone,
  constraint price_plan_rules_pkey PRIMARY KEY (plan_name, scope, target, currency_code, valid_from),
  constraint price_plan_rules_plan_name_fkey FOREIGN KEY (plan_name) REFERENCES price_plans(plan_name),
  constraint price_plan_rules_basis_check CHECK ((basis = ANY (ARRAY['LIST'::text, 'COST'::text]))),
  constraint price_plan_rules_check CHECK (((scope = 'ALL'::text) = (target = ''::text))),
  constraint price_plan_rules_check1 CHECK ((valid_from < valid_until)),
  constraint price_plan_rules_check2 CHECK (((percent IS NULL) <> (price IS NULL))),
  constraint price_plan_rules_check3 CHECK (((percent IS NOT NULL) = (currency_code = ''::text))),
  constraint price_plan_rules_check4 CHECK (((price IS NULL) OR (scope = ANY (ARRAY['PACKAGE'::text, 'ALL'::text])))),
  constraint price_plan_rules_check5 CHECK (((basis = 'LIST'::text) OR (percent >= 0))),
  constraint price_plan_rules_currency_code_check CHECK ((currency_code ~ '^([A-Z]{3})?$'::text)),
  constraint price_plan_rules_percent_check CHECK (((percent >= '-1000000'::integer) AND (percent <= 10000000))),
  constraint price_plan_rules_price_check CHECK (((price >= 0) AND (price <= '9007199254740991'::bigint))),
  constraint price_plan_rules_scope_check CHECK ((scope = ANY (ARRAY['PACKAGE'::text, 'LOCATION'::text, 'SUPPLIER'::text, 'ALL'::text])))
);
CREATE INDEX price_plan_rules_updated ON price_plan_rules USING btree (updated_at);

create table price_plans (
  plan_name text not null,
  display_name text,
  created_at timestamp with time zone not null,
  removed boolean not null default false,
  constraint price_plans_pkey PRIMARY KEY (plan_name)
);

create table profiles (
  tenant_id uuid not null,
  profile_id uuid not null,
  order_id uuid not null,
  item_no smallint not null,
  supplier text not null,
  iccid text not null,
  imsi text,
  msisdn text,
  eid text,
  smdp_address text not null,
  secrets bytea not null,
  apn text,
  esim_status text not null,
  smdp_status text,
  smdp_status_time timestamp with time zone,
  total_volume bigint,
  order_usage bigint,
  usage_update_time timestamp with time zone,
  total_duration integer not null,
  duration_unit text not null,
  install_before timestamp with time zone,
  activate_time timestamp with time zone,
  expired_time timestamp with time zone,
  suspended boolean not null default false,
  topped_up_at timestamp with time zone,
  usage_alerted smallint not null default 0,
  usage_sequence integer not null default 0,
  expiry_sequence integer not null default 0,
  expiry_alerted_hours smallint[] not null default '{}'::smallint[],
  share_generation integer not null default 0,
  expiry_notice_at timestamp with time zone,
  poll_at timestamp with time zone,
  poll_every_s integer not null default 900,
  created_at timestamp with time zone not null,
  updated_at timestamp with time zone not null,
  installation_time timestamp with time zone,
  constraint profiles_pkey PRIMARY KEY (tenant_id, profile_id),
  constraint profiles_tenant_id_order_id_item_no_key UNIQUE (tenant_id, order_id, item_no),
  constraint profiles_tenant_id_order_id_item_no_fkey FOREIGN KEY (tenant_id, order_id, item_no) REFERENCES order_items(tenant_id, order_id, item_no),
  constraint profiles_esim_status_check CHECK ((esim_status = ANY (ARRAY['GOT_RESOURCE'::text, 'IN_USE'::text, 'USED_UP'::text, 'USED_EXPIRED'::text, 'UNUSED_EXPIRED'::text, 'CANCEL'::text, 'REVOKED'::text]))),
  constraint profiles_smdp_status_check CHECK ((smdp_status = ANY (ARRAY['RELEASED'::text, 'DOWNLOAD'::text, 'INSTALLATION'::text, 'ENABLED'::text, 'DISABLED'::text, 'DELETED'::text])))
) with (fillfactor=85, autovacuum_vacuum_cost_delay=0);
CREATE INDEX profiles_expiry ON profiles USING btree (tenant_id, (
CASE esim_status
    WHEN 'GOT_RESOURCE'::text THEN install_before
    ELSE expired_time
END)) WHERE (esim_status = ANY (ARRAY['GOT_RESOURCE'::text, 'IN_USE'::text]));
CREATE INDEX profiles_expiry_notice ON profiles USING btree (expiry_notice_at, profile_id) WHERE (expiry_notice_at IS NOT NULL);
CREATE INDEX profiles_iccid ON profiles USING btree (iccid);
CREATE INDEX profiles_poll ON profiles USING btree (tenant_id, supplier, poll_at) WHERE ((poll_at IS NOT NULL) AND (esim_status = ANY (ARRAY['GOT_RESOURCE'::text, 'IN_USE'::text])));
CREATE INDEX profiles_status ON profiles USING btree (tenant_id, esim_status, COALESCE(smdp_status, ''::text), profile_id);

create table provider_accounts (
  issuer text not null,
  subject text not null,
  person_id uuid not null,
  created_at timestamp with time zone not null default now(),
  used_at timestamp with time zone not null default now(),
  constraint provider_accounts_pkey PRIMARY KEY (issuer, subject),
  constraint provider_accounts_person_id_issuer_key UNIQUE (person_id, issuer),
  constraint provider_accounts_person_id_fkey FOREIGN KEY (person_id) REFERENCES people(person_id) ON DELETE CASCADE
);

create unlogged table qps_buckets (
  tenant_id uuid not null,
  tokens double precision not null,
  qps_limit integer not null,
  requested integer not null,
  granted integer not null,
  refilled_at timestamp with time zone not null,
  constraint qps_buckets_pkey PRIMARY KEY (tenant_id)
) with (fillfactor=50);

create table recovered_tenants (
  tenant_id uuid not null,
  restore_id uuid not null,
  released_at timestamp with time zone not null default now(),
  released_because text,
  accepted_doubts text[],
  constraint recovered_tenants_pkey PRIMARY KEY (tenant_id, restore_id)
);

create table recovery_codes (
  person_id uuid not null,
  code_hash bytea not null,
  used_at timestamp with time zone,
  constraint recovery_codes_pkey PRIMARY KEY (person_id, code_hash),
  constraint recovery_codes_person_id_fkey FOREIGN KEY (person_id) REFERENCES people(person_id) ON DELETE CASCADE
);

create table request_id_slots (
  slot integer not null,
  age_ms double precision not null,
  constraint request_id_slots_pkey PRIMARY KEY (slot)
);

create table request_ids (
  tenant_id uuid not null,
  request_id uuid not null,
  slot integer not null,
  constraint request_ids_pkey PRIMARY KEY (tenant_id, request_id, slot)
) partition by RANGE (slot);

create table resolved_codes (
  fingerprint bytea not null,
  tenant_id uuid not null,
  order_id uuid not null,
  iccid text not null,
  resolved_at timestamp with time zone not null default now(),
  constraint resolved_codes_pkey PRIMARY KEY (fingerprint)
);

create table restored_lists (
  tenant_id uuid not null,
  restore_id uuid not null,
  read_at timestamp with time zone not null default now(),
  rows integer not null,
  constraint restored_lists_pkey PRIMARY KEY (tenant_id, restore_id)
);

create table restored_transactions (
  tenant_id uuid not null,
  transaction_id text not null,
  state text not null default 'IN_DOUBT'::text,
  repeated boolean not null default false,
  listed boolean not null default false,
  order_no text,
  amount bigint,
  proof text,
  decided_at timestamp with time zone,
  seen_at timestamp with time zone not null default now(),
  constraint restored_transactions_pkey PRIMARY KEY (tenant_id, transaction_id),
  constraint restored_transactions_state_check CHECK ((state = ANY (ARRAY['IN_DOUBT'::text, 'SOLD'::text, 'NOT_SOLD'::text])))
);

create table restores (
  restore_id uuid not null,
  backup_started_at timestamp with time zone not null,
  restored_at timestamp with time zone not null,
  paused_suppliers text[] not null default '{}'::text[],
  recovering boolean not null default true,
  prepared_at timestamp with time zone,
  ended_at timestamp with time zone,
  ended_because text,
  credits_evidence text,
  accepted_doubts text[],
  constraint restores_pkey PRIMARY KEY (restore_id)
);

create table retention_clock (
  singleton boolean not null default true,
  seen_at timestamp with time zone not null,
  steady_since timestamp with time zone not null,
  elapsed_ms double precision not null default 0,
  confirmed_at timestamp with time zone not null default now(),
  constraint retention_clock_pkey PRIMARY KEY (singleton),
  constraint retention_clock_singleton_check CHECK (singleton)
);

create table rule_packages (
  package_code text not null,
  rule_name text not null,
  off_sale_by_rule boolean not null,
  constraint rule_packages_pkey PRIMARY KEY (package_code),
  constraint rule_packages_package_code_fkey FOREIGN KEY (package_code) REFERENCES packages(package_code)
);

create table sale_rules (
  rule_name text not null,
  position integer not null,
  definition json not null,
  applied json,
  updated_at timestamp with time zone not null,
  constraint sale_rules_pkey PRIMARY KEY (rule_name)
);

create table sales_progress (
  tenant_id uuid not null,
  wallet_version bigint not null,
  open_days jsonb not null,
  dirty_days date[] not null,
  constraint sales_progress_pkey PRIMARY KEY (tenant_id),
  constraint sales_progress_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(tenant_id)
) with (fillfactor=50);

create table sandbox_actions (
  supplier text not null,
  key text not null,
  esim_key text not null,
  action text not null,
  requests integer not null default 1,
  answer text not null,
  requested_at timestamp with time zone not null default now(),
  constraint sandbox_actions_pkey PRIMARY KEY (supplier, key),
  constraint sandbox_actions_action_check CHECK ((action = ANY (ARRAY['CANCEL'::text, 'SUSPEND'::text, 'UNSUSPEND'::text, 'REVOKE'::text]))),
  constraint sandbox_actions_answer_check CHECK ((answer = ANY (ARRAY['DONE'::text, 'REFUSED'::text, 'LOST'::text])))
);

create table sandbox_issued (
  supplier text not null,
  key text not null,
  product_code text not null,
  topped_up_key text,
  requests integer not null default 1,
  answer text not null,
  iccid_number bigint not null default nextval('sandbox_iccids'::regclass),
  issued_at timestamp with time zone not null default now(),
  cancelled_at timestamp with time zone,
  revoked_at timestamp with time zone,
  suspended_at timestamp with time zone,
  suspended_for interval not null default '00:00:00'::interval,
  constraint sandbox_issued_pkey PRIMARY KEY (supplier, key),
  constraint sandbox_issued_answer_check CHECK ((answer = ANY (ARRAY['ISSUED'::text, 'REFUSED'::text, 'LOST'::text])))
);
CREATE UNIQUE INDEX sandbox_issued_iccid ON sandbox_issued USING btree (iccid_number);
CREATE INDEX sandbox_issued_topped_up ON sandbox_issued USING btree (supplier, topped_up_key) WHERE (topped_up_key IS NOT NULL);

create table saved_views (
  view_id uuid not null,
  person_id uuid not null,
  list text not null,
  name text not null,
  search text not null,
  created_at timestamp with time zone not null default now(),
  constraint saved_views_pkey PRIMARY KEY (view_id),
  constraint saved_views_person_id_list_name_key UNIQUE (person_id, list, name),
  constraint saved_views_person_id_fkey FOREIGN KEY (person_id) REFERENCES people(person_id) ON DELETE CASCADE
);

create table schema_migrations (
  version integer not null,
  name text not null,
  checksum text not null,
  applied_at timestamp with time zone not null default now(),
  constraint schema_migrations_pkey PRIMARY KEY (version)
);

create table schema_releases (
  release integer not null,
  label text not null,
  first_at timestamp with time zone not null default now(),
  constraint schema_releases_pkey PRIMARY KEY (release)
);

create table second_factor_roles (
  role text not null,
  required_since timestamp with time zone not null default now(),
  constraint second_factor_roles_pkey PRIMARY KEY (role)
);

create table sessions (
  session_id uuid not null,
  person_id uuid not null,
  token_hash bytea not null,
  signed_in_by text not null,
  address text,
  user_agent text,
  viewed_tenant_id uuid,
  created_at timestamp with time zone not null default now(),
  seen_at timestamp with time zone not null default now(),
  expires_at timestamp with time zone not null,
  constraint sessions_pkey PRIMARY KEY (session_id),
  constraint sessions_token_hash_key UNIQUE (token_hash),
  constraint sessions_person_id_fkey FOREIGN KEY (person_id) REFERENCES people(person_id) ON DELETE CASCADE,
  constraint sessions_viewed_tenant_id_fkey FOREIGN KEY (viewed_tenant_id) REFERENCES tenants(tenant_id) ON DELETE SET NULL,
  constraint sessions_signed_in_by_check CHECK ((signed_in_by = ANY (ARRAY['PASSWORD'::text, 'PASSKEY'::text, 'PROVIDER'::text])))
);
CREATE INDEX sessions_person ON sessions USING btree (person_id);

create table settled_suppliers (
  supplier text not null,
  restore_id uuid not null,
  evidence text not null,
  settled_at timestamp with time zone not null default now(),
  constraint settled_suppliers_pkey PRIMARY KEY (supplier, restore_id)
);

create table sign_in_failures (
  email_hash bytea not null,
  failures smallint not null,
  first_failed_at timestamp with time zone not null,
  locked_until timestamp with time zone,
  constraint sign_in_failures_pkey PRIMARY KEY (email_hash)
);

create table spent_challenges (
  challenge_hash bytea not null,
  expires_at timestamp with time zone not null,
  constraint spent_challenges_pkey PRIMARY KEY (challenge_hash)
);

create table stock_batches (
  supplier text not null,
  batch_id uuid not null,
  product_code text not null,
  batch_name text not null,
  codes bigint not null,
  available bigint not null,
  expired bigint not null default 0,
  alert_days smallint,
  expiry_alerted boolean not null default false,
  imported_at timestamp with time zone not null,
  constraint stock_batches_pkey PRIMARY KEY (supplier, batch_id),
  constraint stock_batches_supplier_fkey FOREIGN KEY (supplier) REFERENCES suppliers(supplier),
  constraint stock_batches_alert_days_check CHECK (((alert_days >= 1) AND (alert_days <= 365))),
  constraint stock_batches_available_check CHECK ((available >= 0)),
  constraint stock_batches_codes_check CHECK ((codes > 0)),
  constraint stock_batches_expired_check CHECK ((expired >= 0))
) with (fillfactor=50);
CREATE INDEX stock_batches_alert ON stock_batches USING btree (supplier) WHERE ((alert_days IS NOT NULL) AND (NOT expiry_alerted));

create table stock_codes (
  supplier text not null,
  code_id uuid not null,
  batch_id uuid not null,
  product_code text not null,
  state text not null default 'FREE'::text,
  key text,
  fingerprint bytea not null,
  iccid text not null,
  secrets bytea not null,
  imsi text,
  msisdn text,
  apn text,
  expires_at timestamp with time zone not null default 'infinity'::timestamp with time zone,
  imported_at timestamp with time zone not null,
  reserved_at timestamp with time zone,
  held_at timestamp with time zone,
  constraint stock_codes_pkey PRIMARY KEY (supplier, code_id),
  constraint stock_codes_supplier_fingerprint_key UNIQUE (supplier, fingerprint),
  constraint stock_codes_supplier_fkey FOREIGN KEY (supplier) REFERENCES suppliers(supplier),
  constraint stock_codes_check CHECK (((state = 'RESERVED'::text) = (key IS NOT NULL))),
  constraint stock_codes_state_check CHECK ((state = ANY (ARRAY['FREE'::text, 'RESERVED'::text, 'EXPIRED'::text])))
) with (fillfactor=90);
CREATE INDEX stock_codes_batch ON stock_codes USING btree (supplier, batch_id, expires_at) WHERE (state = 'FREE'::text);
CREATE INDEX stock_codes_expiring ON stock_codes USING btree (expires_at) WHERE ((state = 'FREE'::text) AND (expires_at < 'infinity'::timestamp with time zone));
CREATE INDEX stock_codes_free ON stock_codes USING btree (supplier, product_code, expires_at, code_id) WHERE (state = 'FREE'::text);
CREATE UNIQUE INDEX stock_codes_iccid ON stock_codes USING btree (supplier, iccid) WHERE (state = 'FREE'::text);
CREATE UNIQUE INDEX stock_codes_key ON stock_codes USING btree (supplier, key) WHERE (key IS NOT NULL);
CREATE INDEX stock_codes_reserved ON stock_codes USING btree (supplier, reserved_at) WHERE (reserved_at IS NOT NULL);
CREATE INDEX stock_codes_search ON stock_codes USING btree (iccid text_pattern_ops);

create table stock_levels (
  supplier text not null,
  product_code text not null,
  available bigint not null,
  low_threshold bigint,
  low_alerted boolean not null default false,
  constraint stock_levels_pkey PRIMARY KEY (supplier, product_code),
  constraint stock_levels_supplier_fkey FOREIGN KEY (supplier) REFERENCES suppliers(supplier),
  constraint stock_levels_available_check CHECK ((available >= 0))
) with (fillfactor=50);

create table supplier_attempts (
  tenant_id uuid not null,
  attempt_id uuid not null,
  order_id uuid not null,
  item_no smallint not null,
  supplier text not null,
  operation text not null,
  lease_token uuid not null,
  product_code text,
  cost bigint,
  cost_currency text,
  route_no smallint,
  started_at timestamp with time zone not null,
  finished_at timestamp with time zone,
  outcome text,
  message text,
  reference text,
  spend bigint,
  constraint supplier_attempts_pkey PRIMARY KEY (tenant_id, attempt_id),
  constraint supplier_attempts_operation_check CHECK ((operation = ANY (ARRAY['ORDER'::text, 'TOPUP'::text, 'QUERY'::text, 'CANCEL'::text, 'SUSPEND'::text, 'UNSUSPEND'::text, 'REVOKE'::text]))),
  constraint supplier_attempts_outcome_check CHECK ((outcome = ANY (ARRAY['delivered'::text, 'toppedUp'::text, 'ordered'::text, 'refused'::text, 'retry'::text, 'unknown'::text, 'cancelled'::text, 'done'::text])))
) partition by RANGE (attempt_id);
CREATE INDEX supplier_attempts_order ON supplier_attempts USING btree (tenant_id, order_id);
CREATE INDEX supplier_attempts_spend ON supplier_attempts USING btree (supplier, started_at) WHERE (spend IS NOT NULL);
CREATE INDEX supplier_attempts_times ON supplier_attempts USING brin (attempt_id) WITH (autosummarize='on');

create table supplier_balance_days (
  supplier text not null,
  day date not null,
  currency_code text not null,
  fell bigint not null,
  rose bigint not null,
  bought_min bigint not null,
  bought_max bigint not null,
  unexplained bigint,
  constraint supplier_balance_days_pkey PRIMARY KEY (supplier, day),
  constraint supplier_balance_days_supplier_fkey FOREIGN KEY (supplier) REFERENCES supplier_balances(supplier)
);

create table supplier_balance_readings (
  supplier text not null,
  read_at timestamp with time zone not null,
  amount bigint not null,
  currency_code text not null,
  constraint supplier_balance_readings_pkey PRIMARY KEY (supplier, read_at),
  constraint supplier_balance_readings_supplier_fkey FOREIGN KEY (supplier) REFERENCES supplier_balances(supplier)
);
CREATE INDEX supplier_balance_readings_read_at ON supplier_balance_readings USING btree (read_at);

create table supplier_balances (
  supplier text not null,
  due_at timestamp with time zone not null,
  lease_token uuid,
  lease_until timestamp with time zone,
  amount bigint,
  currency_code text,
  read_at timestamp with time zone,
  message text,
  alert_below bigint,
  is_low boolean not null default false,
  no_money_since timestamp with time zone,
  returned_amount bigint,
  no_money_alerted_at timestamp with time zone,
  constraint supplier_balances_pkey PRIMARY KEY (supplier),
  constraint supplier_balances_supplier_fkey FOREIGN KEY (supplier) REFERENCES suppliers(supplier),
  constraint supplier_balances_alert_below_check CHECK (((alert_below >= 1) AND (alert_below <= '9007199254740991'::bigint))),
  constraint supplier_balances_check CHECK (((lease_token IS NULL) = (lease_until IS NULL))),
  constraint supplier_balances_check1 CHECK ((((amount IS NULL) = (currency_code IS NULL)) AND ((amount IS NULL) = (read_at IS NULL)))),
  constraint supplier_balances_currency_code_check CHECK ((currency_code ~ '^[A-Z]{3}$'::text))
);

create table supplier_exchanges (
  supplier text not null,
  exchange_id uuid not null,
  content bytea not null,
  recorded_at timestamp with time zone not null,
  constraint supplier_exchanges_pkey PRIMARY KEY (supplier, exchange_id),
  constraint supplier_exchanges_supplier_fkey FOREIGN KEY (supplier) REFERENCES suppliers(supplier)
);
CREATE INDEX supplier_exchanges_recorded_at ON supplier_exchanges USING btree (recorded_at);

create table supplier_list_checks (
  supplier text not null,
  checked_at timestamp with time zone not null,
  unreadable integer not null,
  unreadable_entries jsonb not null,
  complete_at timestamp with time zone,
  constraint supplier_list_checks_pkey PRIMARY KEY (supplier),
  constraint supplier_list_checks_supplier_fkey FOREIGN KEY (supplier) REFERENCES suppliers(supplier)
);

create table supplier_prices (
  supplier text not null,
  product_code text not null,
  currency_code text not null,
  price bigint not null,
  seen_at timestamp with time zone not null,
  alerted boolean not null default false,
  alerted_at timestamp with time zone,
  constraint supplier_prices_pkey PRIMARY KEY (supplier, product_code),
  constraint supplier_prices_supplier_fkey FOREIGN KEY (supplier) REFERENCES suppliers(supplier)
);

create table supplier_product_costs (
  supplier text not null,
  product_code text not null,
  since timestamp with time zone not null,
  cost bigint,
  currency_code text,
  constraint supplier_product_costs_pkey PRIMARY KEY (supplier, product_code, since),
  constraint supplier_product_costs_supplier_product_code_fkey FOREIGN KEY (supplier, product_code) REFERENCES supplier_products(supplier, product_code),
  constraint supplier_product_costs_check CHECK (((cost IS NULL) = (currency_code IS NULL)))
);
CREATE INDEX supplier_product_costs_since ON supplier_product_costs USING btree (since);

create table supplier_products (
  supplier text not null,
  product_code text not null,
  name text not null,
  package_type text not null,
  countries text[] not null,
  volume bigint,
  is_day_pass boolean not null,
  duration_days integer not null,
  cost bigint not null,
  currency_code text not null,
  is_listed boolean not null,
  first_seen_at timestamp with time zone not null,
  changed_at timestamp with time zone not null,
  fup_policy text,
  included text,
  constraint supplier_products_pkey PRIMARY KEY (supplier, product_code),
  constraint supplier_products_supplier_fkey FOREIGN KEY (supplier) REFERENCES suppliers(supplier),
  constraint supplier_products_cost_check CHECK (((cost >= 0) AND (cost <= '9007199254740991'::bigint))),
  constraint supplier_products_currency_code_check CHECK ((currency_code ~ '^[A-Z]{3}$'::text)),
  constraint supplier_products_duration_days_check CHECK (((duration_days >= 1) AND (duration_days <= 3650))),
  constraint supplier_products_package_type_check CHECK ((package_type = ANY (ARRAY['BASE'::text, 'TOPUP'::text]))),
  constraint supplier_products_volume_check CHECK (((volume >= 1) AND (volume <= '9007199254740991'::bigint)))
);

create table supplier_questions (
  tenant_id uuid not null,
  order_id uuid not null,
  item_no smallint not null,
  supplier text not null,
  reported_at timestamp with time zone not null,
  asked_at timestamp with time zone,
  due_at timestamp with time zone,
  constraint supplier_questions_pkey PRIMARY KEY (tenant_id, order_id, item_no)
) with (fillfactor=70);
CREATE INDEX supplier_questions_due ON supplier_questions USING btree (supplier, due_at);

create table supplier_rates (
  supplier text not null,
  next_at timestamp with time zone not null,
  constraint supplier_rates_pkey PRIMARY KEY (supplier)
) with (fillfactor=50);

create table supplier_recordings (
  supplier text not null,
  recording_id uuid not null,
  exchanges_max integer not null,
  ends_at timestamp with time zone not null,
  exchanges integer not null default 0,
  bytes bigint not null default 0,
  started_at timestamp with time zone not null,
  constraint supplier_recordings_pkey PRIMARY KEY (supplier),
  constraint supplier_recordings_supplier_fkey FOREIGN KEY (supplier) REFERENCES suppliers(supplier),
  constraint supplier_recordings_exchanges_max_check CHECK (((exchanges_max >= 1) AND (exchanges_max <= 1000)))
);

create table supplier_states (
  supplier text not null,
  settled_at timestamp with time zone not null default now(),
  seen_at timestamp with time zone,
  seen_by text,
  failure text,
  failing_since timestamp with time zone,
  tested_at timestamp with time zone,
  test_failure text,
  test_due_at timestamp with time zone default now(),
  late_after_ms integer not null default 300000,
  late_after_at timestamp with time zone,
  constraint supplier_states_pkey PRIMARY KEY (supplier),
  constraint supplier_states_supplier_fkey FOREIGN KEY (supplier) REFERENCES suppliers(supplier) ON DELETE CASCADE,
  constraint supplier_states_check CHECK (((seen_at IS NULL) = (seen_by IS NULL))),
  constraint supplier_states_check1 CHECK (((failure IS NULL) = (failing_since IS NULL))),
  constraint supplier_states_check2 CHECK (((failure IS NULL) OR (seen_at IS NOT NULL))),
  constraint supplier_states_check3 CHECK (((test_failure IS NULL) OR (tested_at IS NOT NULL))),
  constraint supplier_states_seen_by_check CHECK ((seen_by = ANY (ARRAY['TEST'::text, 'BALANCE'::text, 'CATALOGUE'::text, 'PURCHASE'::text])))
);

create table supplier_syncs (
  supplier text not null,
  every_minutes integer,
  due_at timestamp with time zone not null,
  lease_token uuid,
  lease_until timestamp with time zone,
  started_at timestamp with time zone,
  products_read integer not null default 0,
  finished_at timestamp with time zone,
  outcome text,
  message text,
  listed integer not null default 0,
  accepted_at timestamp with time zone,
  held json,
  held_at timestamp with time zone,
  has_changes boolean not null default false,
  alerted_as text,
  alerted_at timestamp with time zone,
  unreadable integer not null default 0,
  kept integer not null default 0,
  unreadable_entries jsonb not null default '[]'::jsonb,
  constraint supplier_syncs_pkey PRIMARY KEY (supplier),
  constraint supplier_syncs_supplier_fkey FOREIGN KEY (supplier) REFERENCES suppliers(supplier),
  constraint supplier_syncs_check CHECK (((lease_token IS NULL) = (lease_until IS NULL))),
  constraint supplier_syncs_check1 CHECK (((held IS NULL) = (held_at IS NULL))),
  constraint supplier_syncs_every_minutes_check CHECK (((every_minutes >= 15) AND (every_minutes <= 43200))),
  constraint supplier_syncs_outcome_check CHECK ((outcome = ANY (ARRAY['DONE'::text, 'HELD'::text, 'FAILED'::text])))
);

create table supplier_tokens (
  supplier text not null,
  account text not null,
  token bytea,
  expires_at timestamp with time zone,
  next_fetch_at timestamp with time zone not null,
  failure text,
  constraint supplier_tokens_pkey PRIMARY KEY (supplier)
);

create table supplier_verifications (
  supplier text not null,
  verification_id uuid not null,
  order_id uuid not null,
  product_code text not null,
  cost bigint not null,
  currency_code text not null,
  state text not null,
  reference text,
  cancel_outcome text,
  answers jsonb not null default '[]'::jsonb,
  started_at timestamp with time zone not null,
  finished_at timestamp with time zone,
  charge_finding text,
  charge_message text,
  constraint supplier_verifications_pkey PRIMARY KEY (supplier, verification_id),
  constraint supplier_verifications_supplier_fkey FOREIGN KEY (supplier) REFERENCES suppliers(supplier),
  constraint supplier_verifications_cancel_outcome_check CHECK ((cancel_outcome = ANY (ARRAY['cancelled'::text, 'refused'::text, 'unknown'::text]))),
  constraint supplier_verifications_charge_finding_check CHECK ((charge_finding = ANY (ARRAY['PROVEN'::text, 'DIFFERS'::text, 'UNCLEAR'::text]))),
  constraint supplier_verifications_state_check CHECK ((state = ANY (ARRAY['OPEN'::text, 'VERIFIED'::text, 'DIFFERS'::text, 'REFUSED'::text])))
);
CREATE UNIQUE INDEX supplier_verifications_open ON supplier_verifications USING btree (supplier) WHERE (state = 'OPEN'::text);

create table suppliers (
  supplier text not null,
  type text not null,
  config bytea not null,
  paused boolean not null default false,
  spend_limit bigint,
  spend_currency text,
  spend_alerted_on date,
  verified_at timestamp with time zone,
  version bigint not null default 1,
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  constraint suppliers_pkey PRIMARY KEY (supplier),
  constraint suppliers_check CHECK (((spend_currency IS NULL) = (spend_limit IS NULL))),
  constraint suppliers_spend_limit_check CHECK ((spend_limit >= 0)),
  constraint suppliers_supplier_check CHECK ((supplier ~ '^[A-Za-z0-9_.-]{1,64}$'::text)),
  constraint suppliers_type_check CHECK ((type ~ '^[a-z0-9-]{1,32}$'::text))
);

create table tenant_keys (
  tenant_id uuid not null,
  key_id uuid not null,
  app_key text not null,
  ciphertext bytea not null,
  label text not null,
  operations text[] not null,
  per_order_max bigint,
  per_day_max bigint,
  total_max bigint,
  ip_allowlist text[] not null default '{}'::text[],
  expires_at timestamp with time zone,
  revoked_at timestamp with time zone,
  spent_on date not null default '1970-01-01'::date,
  day_spent bigint not null default 0,
  total_spent bigint not null default 0,
  last_used_at timestamp with time zone,
  created_at timestamp with time zone not null,
  updated_at timestamp with time zone not null,
  constraint tenant_keys_pkey PRIMARY KEY (tenant_id, key_id),
  constraint tenant_keys_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(tenant_id),
  constraint tenant_keys_label_check CHECK (((length(label) >= 1) AND (length(label) <= 64))),
  constraint tenant_keys_per_day_max_check CHECK (((per_day_max >= 0) AND (per_day_max <= '9007199254740991'::bigint))),
  constraint tenant_keys_per_order_max_check CHECK (((per_order_max >= 0) AND (per_order_max <= '9007199254740991'::bigint))),
  constraint tenant_keys_total_max_check CHECK (((total_max >= 0) AND (total_max <= '9007199254740991'::bigint)))
) with (fillfactor=70);
CREATE UNIQUE INDEX tenant_keys_app_key ON tenant_keys USING btree (app_key);
CREATE UNIQUE INDEX tenant_keys_label ON tenant_keys USING btree (tenant_id, label) WHERE (revoked_at IS NULL);

create table tenant_move_changes (
  tenant_id uuid not null,
  table_name text not null,
  change_no bigint not null generated always as identity,
  key jsonb not null,
  constraint tenant_move_changes_pkey PRIMARY KEY (tenant_id, table_name, change_no)
);

create table tenant_moves (
  tenant_id uuid not null,
  move_id uuid not null,
  direction text not null,
  other_cell text not null,
  other_nodes jsonb not null default '[]'::jsonb,
  state text not null,
  held_until timestamp with time zone not null default '-infinity'::timestamp with time zone,
  fenced_until timestamp with time zone not null default '-infinity'::timestamp with time zone,
  copied jsonb not null default '{}'::jsonb,
  actor text not null,
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  constraint tenant_moves_pkey PRIMARY KEY (tenant_id),
  constraint tenant_moves_direction_check CHECK ((direction = ANY (ARRAY['OUT'::text, 'IN'::text]))),
  constraint tenant_moves_state_check CHECK ((state = ANY (ARRAY['PREPARED'::text, 'COPYING'::text, 'FENCED'::text, 'VERIFIED'::text, 'SWITCHED'::text, 'DONE'::text])))
);

create table tenant_price_groups (
  tenant_id uuid not null,
  group_name text not null,
  removed boolean not null,
  updated_at timestamp with time zone not null,
  first_set_at timestamp with time zone,
  constraint tenant_price_groups_pkey PRIMARY KEY (tenant_id, group_name),
  constraint tenant_price_groups_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(tenant_id)
);
CREATE UNIQUE INDEX tenant_price_groups_one ON tenant_price_groups USING btree (tenant_id) WHERE (NOT removed);

create table tenant_price_plans (
  tenant_id uuid not null,
  plan_name text not null,
  removed boolean not null,
  updated_at timestamp with time zone not null,
  first_set_at timestamp with time zone,
  constraint tenant_price_plans_pkey PRIMARY KEY (tenant_id, plan_name),
  constraint tenant_price_plans_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(tenant_id)
);
CREATE UNIQUE INDEX tenant_price_plans_one ON tenant_price_plans USING btree (tenant_id) WHERE (NOT removed);

create table tenant_prices (
  tenant_id uuid not null,
  package_code text not null,
  price bigint not null,
  removed boolean not null,
  updated_at timestamp with time zone not null,
  first_set_at timestamp with time zone,
  constraint tenant_prices_pkey PRIMARY KEY (tenant_id, package_code),
  constraint tenant_prices_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(tenant_id),
  constraint tenant_prices_price_check CHECK (((price >= 0) AND (price <= '9007199254740991'::bigint)))
);
CREATE INDEX tenant_prices_updated ON tenant_prices USING btree (updated_at);

create table tenant_secrets (
  tenant_id uuid not null,
  secret_id uuid not null,
  ciphertext bytea not null,
  valid_until timestamp with time zone,
  proven_at timestamp with time zone,
  created_at timestamp with time zone not null default now(),
  constraint tenant_secrets_pkey PRIMARY KEY (tenant_id, secret_id),
  constraint tenant_secrets_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(tenant_id)
);
CREATE UNIQUE INDEX tenant_secrets_current ON tenant_secrets USING btree (tenant_id) WHERE (valid_until IS NULL);

create table tenants (
  tenant_id uuid not null,
  app_key text not null,
  tenant_name text not null,
  currency_code text not null,
  status text not null default 'ACTIVE'::text,
  ip_allowlist text[] not null default '{}'::text[],
  unsigned_requests boolean not null default false,
  qps_limit integer,
  legal_name text,
  tax_id text,
  billing_address text,
  billing_email text,
  tags text[] not null default '{}'::text[],
  version bigint not null default 1,
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  test_offset_ms bigint not null default 0,
  test_time timestamp with time zone,
  sells_through text not null default 'API'::text,
  constraint tenants_pkey PRIMARY KEY (tenant_id),
  constraint tenants_app_key_key UNIQUE (app_key),
  constraint tenants_currency_code_check CHECK ((currency_code ~ '^[A-Z]{3}$'::text)),
  constraint tenants_qps_limit_check CHECK (((qps_limit >= 1) AND (qps_limit <= 100000))),
  constraint tenants_sells_through_check CHECK ((sells_through = ANY (ARRAY['PORTAL'::text, 'API'::text]))),
  constraint tenants_status_check CHECK ((status = ANY (ARRAY['ACTIVE'::text, 'SUSPENDED'::text]))),
  constraint tenants_test_offset_ms_check CHECK (((test_offset_ms >= 0) AND (test_offset_ms <= '316224000000'::bigint)))
);
CREATE INDEX tenants_test_time ON tenants USING btree (tenant_id) WHERE (test_offset_ms > 0);

create table top_up_receipts (
  tenant_id uuid not null,
  request_id uuid not null,
  file_name text not null,
  media_type text not null,
  content bytea not null,
  constraint top_up_receipts_pkey PRIMARY KEY (tenant_id, request_id),
  constraint top_up_receipts_tenant_id_request_id_fkey FOREIGN KEY (tenant_id, request_id) REFERENCES top_up_requests(tenant_id, request_id),
  constraint top_up_receipts_media_type_check CHECK ((media_type = ANY (ARRAY['application/pdf'::text, 'image/png'::text, 'image/jpeg'::text])))
);

create table top_up_requests (
  tenant_id uuid not null,
  request_id uuid not null,
  amount bigint not null,
  reference text not null,
  request_status text not null default 'REQUESTED'::text,
  requested_by text not null,
  confirmed_by text,
  confirmed_at timestamp with time zone,
  decided_by text,
  decided_at timestamp with time zone,
  decline_reason text,
  wallet_version bigint,
  created_at timestamp with time zone not null,
  constraint top_up_requests_pkey PRIMARY KEY (tenant_id, request_id),
  constraint top_up_requests_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(tenant_id),
  constraint top_up_requests_amount_check CHECK (((amount >= 1) AND (amount <= '9007199254740991'::bigint))),
  constraint top_up_requests_check CHECK (((request_status = 'PAID'::text) = (wallet_version IS NOT NULL))),
  constraint top_up_requests_check1 CHECK (((request_status = 'DECLINED'::text) = (decline_reason IS NOT NULL))),
  constraint top_up_requests_check2 CHECK (((request_status = 'REQUESTED'::text) = (decided_by IS NULL))),
  constraint top_up_requests_check3 CHECK (((request_status <> 'PAID'::text) OR (confirmed_by IS NULL) OR (confirmed_by <> decided_by))),
  constraint top_up_requests_request_status_check CHECK ((request_status = ANY (ARRAY['REQUESTED'::text, 'PAID'::text, 'DECLINED'::text])))
);
CREATE INDEX top_up_requests_newest ON top_up_requests USING btree (request_id);
CREATE INDEX top_up_requests_open ON top_up_requests USING btree (request_id) WHERE (request_status = 'REQUESTED'::text);
CREATE UNIQUE INDEX top_up_requests_reference ON top_up_requests USING btree (tenant_id, reference) WHERE (request_status = ANY (ARRAY['REQUESTED'::text, 'PAID'::text]));
CREATE UNIQUE INDEX top_up_requests_transfer ON top_up_requests USING btree (tenant_id, wallet_version);

create table transfers (
  tenant_id uuid not null,
  wallet_version bigint not null,
  kind text not null,
  from_account text not null,
  to_account text not null,
  amount bigint not null,
  balance_after bigint not null,
  order_id uuid,
  item_no smallint,
  reference text,
  reason text,
  actor text,
  created_at timestamp with time zone not null,
  constraint transfers_pkey PRIMARY KEY (tenant_id, wallet_version),
  constraint transfers_amount_check CHECK ((amount >= 0)),
  constraint transfers_check CHECK (((from_account = 'WALLET'::text) <> (to_account = 'WALLET'::text))),
  constraint transfers_check1 CHECK (((kind = ANY (ARRAY['ORDER'::text, 'ESIM_TOPUP'::text])) = ((order_id IS NOT NULL) AND (item_no IS NULL)))),
  constraint transfers_check2 CHECK (((kind = 'REFUND'::text) = (item_no IS NOT NULL))),
  constraint transfers_check3 CHECK (((kind = ANY (ARRAY['TOP_UP'::text, 'ADJUSTMENT'::text])) = (reference IS NOT NULL))),
  constraint transfers_from_account_check CHECK ((from_account = ANY (ARRAY['WALLET'::text, 'SALES'::text, 'TOP_UPS'::text, 'REFUNDS'::text, 'ADJUSTMENTS'::text]))),
  constraint transfers_kind_check CHECK ((kind = ANY (ARRAY['ORDER'::text, 'ESIM_TOPUP'::text, 'REFUND'::text, 'TOP_UP'::text, 'ADJUSTMENT'::text]))),
  constraint transfers_to_account_check CHECK ((to_account = ANY (ARRAY['WALLET'::text, 'SALES'::text, 'TOP_UPS'::text, 'REFUNDS'::text, 'ADJUSTMENTS'::text])))
) with (autovacuum_vacuum_cost_delay=0);
CREATE INDEX transfers_kind ON transfers USING btree (tenant_id, kind, wallet_version) WHERE (kind <> 'ORDER'::text);
CREATE UNIQUE INDEX transfers_reference ON transfers USING btree (tenant_id, kind, reference) WHERE (reference IS NOT NULL);
CREATE UNIQUE INDEX transfers_refund ON transfers USING btree (tenant_id, order_id, item_no) WHERE (kind = 'REFUND'::text);

create table trial_dealers (
  tenant_id uuid not null,
  steps_done smallint not null default 0,
  constraint trial_dealers_pkey PRIMARY KEY (tenant_id),
  constraint trial_dealers_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(tenant_id)
);

create table twins (
  tenant_id uuid not null,
  live_tenant_id uuid not null,
  resets integer not null default 0,
  created_at timestamp with time zone not null default now(),
  constraint twins_pkey PRIMARY KEY (tenant_id),
  constraint twins_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(tenant_id)
);
CREATE UNIQUE INDEX twins_live_tenant ON twins USING btree (live_tenant_id);

create table unclaimed_esims (
  supplier text not null,
  key text not null,
  iccid text not null,
  found_at timestamp with time zone not null default now(),
  settled_at timestamp with time zone,
  evidence text,
  constraint unclaimed_esims_pkey PRIMARY KEY (supplier, key, iccid),
  constraint unclaimed_esims_supplier_fkey FOREIGN KEY (supplier) REFERENCES suppliers(supplier)
);

create table wallet_adjustments (
  tenant_id uuid not null,
  adjustment_id uuid not null,
  amount bigint not null,
  reference text not null,
  reason text not null,
  adjustment_status text not null default 'PROPOSED'::text,
  proposed_by text not null,
  expires_at timestamp with time zone not null,
  decided_by text,
  decided_at timestamp with time zone,
  wallet_version bigint,
  created_at timestamp with time zone not null,
  constraint wallet_adjustments_pkey PRIMARY KEY (tenant_id, adjustment_id),
  constraint wallet_adjustments_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(tenant_id),
  constraint wallet_adjustments_adjustment_status_check CHECK ((adjustment_status = ANY (ARRAY['PROPOSED'::text, 'APPROVED'::text, 'REJECTED'::text, 'EXPIRED'::text]))),
  constraint wallet_adjustments_amount_check CHECK ((((amount >= '-9007199254740991'::bigint) AND (amount <= '9007199254740991'::bigint)) AND (amount <> 0))),
  constraint wallet_adjustments_check CHECK (((adjustment_status = 'APPROVED'::text) = (wallet_version IS NOT NULL))),
  constraint wallet_adjustments_check1 CHECK (((adjustment_status <> 'APPROVED'::text) OR ((decided_by IS NOT NULL) AND (decided_by <> proposed_by))))
);
CREATE INDEX wallet_adjustments_newest ON wallet_adjustments USING btree (adjustment_id);
CREATE INDEX wallet_adjustments_open ON wallet_adjustments USING btree (adjustment_id) WHERE (adjustment_status = 'PROPOSED'::text);
CREATE UNIQUE INDEX wallet_adjustments_reference ON wallet_adjustments USING btree (tenant_id, reference) WHERE (adjustment_status = ANY (ARRAY['PROPOSED'::text, 'APPROVED'::text]));

create table wallets (
  tenant_id uuid not null,
  currency_code text not null,
  balance bigint not null default 0,
  credit_limit bigint not null default 0,
  daily_spend_limit bigint,
  low_balance_threshold bigint,
  low_balance_alerted_percent smallint not null default 0,
  spent_on date not null default '1970-01-01'::date,
  spent bigint not null default 0,
  version bigint not null default 0,
  updated_at timestamp with time zone not null default now(),
  constraint wallets_pkey PRIMARY KEY (tenant_id),
  constraint wallets_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(tenant_id),
  constraint wallets_balance_check CHECK (((balance >= '-9007199254740991'::bigint) AND (balance <= '9007199254740991'::bigint))),
  constraint wallets_credit_limit_check CHECK (((credit_limit >= 0) AND (credit_limit <= '9007199254740991'::bigint))),
  constraint wallets_daily_spend_limit_check CHECK (((daily_spend_limit >= 0) AND (daily_spend_limit <= '9007199254740991'::bigint))),
  constraint wallets_low_balance_threshold_check CHECK (((low_balance_threshold >= 0) AND (low_balance_threshold <= '9007199254740991'::bigint)))
) with (fillfactor=50);

create table watched_items (
  tenant_id uuid not null,
  order_id uuid not null,
  item_no smallint not null,
  purpose text not null,
  due_at timestamp with time zone not null,
  give_up_at timestamp with time zone not null,
  attempts integer not null default 0,
  supplier text not null,
  product_code text,
  other_suppliers jsonb,
  constraint watched_items_pkey PRIMARY KEY (tenant_id, order_id, item_no, purpose),
  constraint watched_items_purpose_check CHECK ((purpose = ANY (ARRAY['REFUNDED_IN_DOUBT'::text, 'DELIVERED_IN_DOUBT'::text])))
);
CREATE INDEX watched_items_due ON watched_items USING btree (due_at);
CREATE INDEX watched_items_give_up ON watched_items USING btree (give_up_at);

create table webhook_checks (
  tenant_id uuid not null,
  lease_token uuid not null,
  lease_until timestamp with time zone not null,
  started_at timestamp with time zone[] not null,
  constraint webhook_checks_pkey PRIMARY KEY (tenant_id),
  constraint webhook_checks_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(tenant_id)
);

create table webhook_endpoints (
  tenant_id uuid not null,
  callback_url bytea,
  event_types text[] not null default '{ORDER_PAID,DELIVERY_UPDATED}'::text[],
  event_format text not null default 'DEALER'::text,
  usage_thresholds smallint[] not null default '{50,80,100}'::smallint[],
  expiry_notice_hours smallint[] not null default '{24,72}'::smallint[],
  expiry_rescan_from timestamp with time zone,
  enabled boolean not null default true,
  disabled_reason text,
  failing_since timestamp with time zone,
  alerted_percent smallint not null default 0,
  updated_at timestamp with time zone not null default now(),
  constraint webhook_endpoints_pkey PRIMARY KEY (tenant_id),
  constraint webhook_endpoints_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(tenant_id),
  constraint webhook_endpoints_event_format_check CHECK ((event_format = ANY (ARRAY['DEALER'::text, 'RT'::text])))
);
CREATE INDEX webhook_endpoints_rescan ON webhook_endpoints USING btree (tenant_id) WHERE (expiry_rescan_from IS NOT NULL);

create table webhook_replays (
  tenant_id uuid not null,
  replay_id uuid not null,
  notify_types text[] not null,
  delivery_states text[] not null,
  from_id uuid not null,
  to_id uuid not null,
  cursor_id uuid not null,
  rate_per_s integer not null,
  matched integer not null,
  replayed integer not null default 0,
  replay_state text not null default 'RUNNING'::text,
  stepped_at timestamp with time zone not null,
  actor text not null,
  created_at timestamp with time zone not null,
  finished_at timestamp with time zone,
  constraint webhook_replays_pkey PRIMARY KEY (tenant_id, replay_id),
  constraint webhook_replays_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(tenant_id),
  constraint webhook_replays_delivery_states_check CHECK ((delivery_states <@ '{DELIVERED,DEAD,UNSENT}'::text[])),
  constraint webhook_replays_rate_per_s_check CHECK (((rate_per_s >= 1) AND (rate_per_s <= 1000))),
  constraint webhook_replays_replay_state_check CHECK ((replay_state = ANY (ARRAY['RUNNING'::text, 'DONE'::text, 'CANCELLED'::text])))
);
CREATE INDEX webhook_replays_running ON webhook_replays USING btree (tenant_id, replay_id) WHERE (replay_state = 'RUNNING'::text);

CREATE OR REPLACE FUNCTION guard_moved_tenant()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
declare
  move tenant_moves;
  changed jsonb;
begin
  if current_setting('dealer_esim.moved_tenant', true) = tg_argv[0] then
    return null;
  end if;
  if tg_argv[1] = 'request_ids' then
    select * into move from tenant_moves where tenant_id = tg_argv[0]::uuid;
  else
    select * into move from tenant_moves where tenant_id = tg_argv[0]::uuid for share;
    if move.fenced_until > clock_timestamp() then
      raise exception using errcode = 'lock_not_available',
        message = format('tenant %s is being moved to or from cell %s', tg_argv[0], move.other_cell);
    end if;
  end if;
  if move.direction = 'OUT' then
    if tg_op = 'DELETE' then
      changed := to_jsonb(old);
    else
      changed := to_jsonb(new);
    end if;
    insert into tenant_move_changes (tenant_id, table_name, key)
    select tg_argv[0]::uuid, tg_argv[1], jsonb_object_agg(name, changed -> name) from unnest(tg_argv[2:]) as name;
  end if;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION qps_refilled(tokens double precision, refilled_at timestamp with time zone, qps_limit integer, at timestamp with time zone)
 RETURNS double precision
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
RETURN LEAST((qps_limit)::double precision, (tokens + (GREATEST((0)::double precision, (EXTRACT(epoch FROM (at - refilled_at)))::double precision) * (qps_limit)::double precision)));
