import { recordset } from '@dealer-esim/lib/postgres/columns.ts'
import type { Statement, Tx } from '@dealer-esim/lib/postgres/db.ts'
import { coverageId } from '../coverage.ts'
import { differingMembers, differingPrices, type Member, type PackageChange } from './package-difference.ts'
import { VISIBLE_MEMBERS } from './package-document.ts'

/**
 * Writes changed packages with their prices and suppliers and the timestamp of the new version. The caller holds the
 * catalogue's lock and has read `before` under it. At most five statements for any number of packages.
 */
export function writePackages(tx: Tx, changes: readonly PackageChange[], at: Date): void {
  const rows = changes.map((change) => ({ change, members: new Set<Member>(differingMembers(change)) }))
  const documents = changes.map(({ after }) => ({
    ...after,
    onSale: after.status === 'ON_SALE',
    coverageId: coverageId(after.locationCodes, after.locationNetworkList),
  }))
  const coverages = new Map(documents.map((document) => [document.coverageId, document]))
  tx.send(insertCoverages([...coverages.values()]))
  tx.send(
    upsertPackages(
      documents.map(({ locationCodes: _, locationNetworkList: __, prices: ___, suppliers: ____, ...row }, i) => ({
        ...row,
        cancellable: row.cancelPolicy.cancellable,
        cancelWithinDays: row.cancelPolicy.withinDays,
        cancelFeePercent: row.cancelPolicy.feePercent,
        visible: VISIBLE_MEMBERS.some((member) => rows[i]!.members.has(member)) || hasOtherSuppliers(changes[i]!),
      })),
      at,
    ),
  )
  const withNewSuppliers = changes.filter((_, i) => rows[i]!.members.has('suppliers')).map(({ after }) => after)
  if (withNewSuppliers.length > 0) {
    tx.send({
      text: 'delete from package_suppliers where package_code = any ($1)',
      values: [withNewSuppliers.map((document) => document.packageCode)],
    })
    tx.send(insertSuppliers(withNewSuppliers.flatMap(withPositions)))
  }
  const prices = changes.flatMap((change) =>
    differingPrices(change).map((price) => ({ packageCode: change.after.packageCode, ...price })),
  )
  if (prices.length > 0) tx.send(upsertListPrices(prices, at))
}

/**
 * Compares only suppliers' names, because dealers see only whether a package can be topped up, which does not depend on
 * order or cost.
 */
function hasOtherSuppliers({ before, after }: PackageChange): boolean {
  const names = ({ suppliers }: PackageChange['after']) =>
    [...new Set(suppliers.map(({ supplier }) => supplier))].sort()
  return before !== undefined && names(before).join('\n') !== names(after).join('\n')
}

function withPositions({ packageCode, suppliers }: PackageChange['after']) {
  return suppliers.map((supplier, position) => ({ packageCode, position, ...supplier }))
}

function insertCoverages(rows: readonly object[]): Statement {
  return {
    text: `insert into coverages (coverage_id, location_codes, location_networks)
           select coverage_id, location_codes, location_network_list
           from json_to_recordset($1) as r (coverage_id text, location_codes text[], location_network_list json)
           on conflict do nothing`,
    values: [recordset(rows)],
  }
}

function upsertPackages(rows: readonly object[], at: Date): Statement {
  return {
    text: `insert into packages as p (package_code, slug, package_type, product_family, name, description, data_type, volume,
             duration, duration_unit, period_num_min, period_num_max, unused_valid_time, activation_policy, ekyc_required, coverage_id, speed, fup_policy, sms_status, allow_loss,
             cancellable, cancel_within_days, cancel_fee_percent, on_sale, ever_on_sale, first_on_sale_at, sale_changed_at, created_at, updated_at, touched_at)
           select package_code, slug, package_type, product_family, name, description, data_type, volume, duration,
             duration_unit, period_num_min, period_num_max, unused_valid_time, activation_policy, ekyc_required, coverage_id, speed, fup_policy, sms_status,
             allow_loss, cancellable, cancel_within_days, cancel_fee_percent, on_sale, on_sale, case when on_sale then $2::timestamptz end, $2, $2,
             case when visible then $2::timestamptz else '-infinity' end, $2
           from json_to_recordset($1) as r (package_code text, slug text, package_type text, product_family text, name text, description text, data_type text,
             volume bigint, duration integer, duration_unit text, period_num_min smallint,
             period_num_max smallint, unused_valid_time integer, activation_policy text,
             ekyc_required boolean, coverage_id text, speed text, fup_policy text, sms_status smallint,
             allow_loss boolean, cancellable boolean, cancel_within_days integer, cancel_fee_percent smallint,
             on_sale boolean, visible boolean)
           on conflict (package_code) do update set
             slug = excluded.slug, product_family = excluded.product_family, name = excluded.name, description = excluded.description,
             data_type = excluded.data_type, volume = excluded.volume, duration = excluded.duration,
             duration_unit = excluded.duration_unit,
             period_num_min = excluded.period_num_min, period_num_max = excluded.period_num_max, unused_valid_time = excluded.unused_valid_time,
             activation_policy = excluded.activation_policy, ekyc_required = excluded.ekyc_required,
             coverage_id = excluded.coverage_id, speed = excluded.speed, fup_policy = excluded.fup_policy,
             sms_status = excluded.sms_status, allow_loss = excluded.allow_loss,
             cancellable = excluded.cancellable, cancel_within_days = excluded.cancel_within_days,
             cancel_fee_percent = excluded.cancel_fee_percent, on_sale = excluded.on_sale,
             ever_on_sale = p.ever_on_sale or excluded.on_sale,
             first_on_sale_at = case when p.ever_on_sale then p.first_on_sale_at else excluded.first_on_sale_at end,
             sale_changed_at = case when p.on_sale = excluded.on_sale then p.sale_changed_at else excluded.sale_changed_at end,
             updated_at = greatest(p.updated_at, excluded.updated_at), touched_at = excluded.touched_at`,
    values: [recordset(rows), at],
  }
}

function insertSuppliers(rows: readonly object[]): Statement {
  return {
    text: `insert into package_suppliers (package_code, position, supplier, product_code, cost_price, cost_currency)
           select package_code, position, supplier, product_code, cost_price, cost_currency
           from json_to_recordset($1) as r (package_code text, position smallint, supplier text, product_code text,
             cost_price bigint, cost_currency text)`,
    values: [recordset(rows)],
  }
}

function upsertListPrices(rows: readonly object[], at: Date): Statement {
  return {
    text: `insert into list_prices (package_code, currency_code, price, retail_price, removed, first_set_at, updated_at)
           select package_code, currency_code, price, retail_price, removed, $2, $2
           from json_to_recordset($1) as r (package_code text, currency_code text, price bigint, retail_price bigint,
             removed boolean)
           on conflict (package_code, currency_code) do update set
             price = excluded.price, retail_price = excluded.retail_price, removed = excluded.removed, updated_at = excluded.updated_at`,
    values: [recordset(rows), at],
  }
}
