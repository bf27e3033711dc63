import type { Tx } from '@dealer-esim/lib/postgres/db.ts'
import { Refusal } from '@dealer-esim/lib/refusal.ts'
import sql from 'sql-template-tag'
import { audit, type By } from '#platform/audit/audit.ts'
import { alreadyExists, checkExists, checkName, insertName } from '../catalogue-checks.ts'
import { changeCatalogue } from '../catalogue-version.ts'
import type { ChangeDeps } from '../packages/put-packages.ts'

/*
 * Deletes and renames plans and groups. Rows are never deleted, because the change feed reports past states
 * (docs/decisions/0018): a deleted plan is marked as removed, and its name can be used again. Renaming creates a plan that
 * replaces the old one in the same version of the catalogue: no price changes, and the feed reports the packages of its
 * tenants once.
 */

type Kind = 'plan' | 'group'

const NAMES = { plan: 'price plan', group: 'price group' } as const

/** @throws Refusal if a tenant or a group has the plan */
export async function deletePlan(deps: ChangeDeps, planName: string, by: By): Promise<void> {
  await changeCatalogue(deps.db, async (tx, stamp) => {
    await checkExists(tx, 'plan', planName)
    await checkUnused(tx, planName)
    endPlan(tx, planName, await stamp())
    audit(tx, deps.ids, { tenantId: null, ...by, action: 'price_plan.delete', subject: planName })
  })
}

/** @throws Refusal if the group has tenants */
export async function deleteGroup(deps: ChangeDeps, groupName: string, by: By): Promise<void> {
  await changeCatalogue(deps.db, async (tx, stamp) => {
    await checkExists(tx, 'group', groupName)
    const [row] = await tx.query<{ tenants: number }>(sql`
      select count(*)::int as tenants from tenant_price_groups where group_name = ${groupName} and not removed`)
    if (row!.tenants > 0) {
      throw inUse(`${tenants(row!.tenants)} in ${groupName}. Remove them first, or move them to another group.`)
    }
    endGroup(tx, groupName, await stamp())
    audit(tx, deps.ids, { tenantId: null, ...by, action: 'price_group.delete', subject: groupName })
  })
}

/** @throws Refusal when the new name is taken or cannot be one */
export async function renamePlan(deps: ChangeDeps, planName: string, newName: string, by: By): Promise<void> {
  await changeCatalogue(deps.db, async (tx, stamp) => {
    await reserveName(tx, 'plan', planName, newName)
    const at = await stamp()
    tx.send({
      text: `insert into price_plan_rules (plan_name, scope, target, currency_code, valid_from, valid_until, percent, basis,
               rounding, price, removed, first_set_at, updated_at)
             select $2, scope, target, currency_code, valid_from, valid_until, percent, basis, rounding, price, false, $3, $3
             from price_plan_rules where plan_name = $1 and not removed
             on conflict (plan_name, scope, target, currency_code, valid_from) do update
             set percent = excluded.percent, basis = excluded.basis, rounding = excluded.rounding, price = excluded.price,
               valid_until = excluded.valid_until, removed = false, updated_at = excluded.updated_at`,
      values: [planName, newName, at],
    })
    tx.send(sql`
      update price_plans n set display_name = o.display_name from price_plans o
      where n.plan_name = ${newName} and o.plan_name = ${planName}`)
    moveAssignments(tx, { table: 'tenant_price_plans', owner: 'tenant_id', target: 'plan_name' }, planName, newName, at)
    moveAssignments(tx, { table: 'price_group_plans', owner: 'group_name', target: 'plan_name' }, planName, newName, at)
    endPlan(tx, planName, at)
    const names = { before: { name: planName }, after: { name: newName } }
    audit(tx, deps.ids, { tenantId: null, ...by, action: 'price_plan.rename', subject: newName, ...names })
  })
}

/** @throws Refusal when the new name is taken or cannot be one */
export async function renameGroup(deps: ChangeDeps, groupName: string, newName: string, by: By): Promise<void> {
  await changeCatalogue(deps.db, async (tx, stamp) => {
    await reserveName(tx, 'group', groupName, newName)
    const at = await stamp()
    tx.send({
      text: `insert into price_group_plans (group_name, plan_name, removed, first_set_at, updated_at)
             select $2, plan_name, false, $3, $3 from price_group_plans where group_name = $1 and not removed
             on conflict (group_name, plan_name) do update set removed = false, updated_at = excluded.updated_at`,
      values: [groupName, newName, at],
    })
    moveAssignments(
      tx,
      { table: 'tenant_price_groups', owner: 'tenant_id', target: 'group_name' },
      groupName,
      newName,
      at,
    )
    endGroup(tx, groupName, at)
    const names = { before: { name: groupName }, after: { name: newName } }
    audit(tx, deps.ids, { tenantId: null, ...by, action: 'price_group.rename', subject: newName, ...names })
  })
}

async function checkUnused(tx: Tx, planName: string): Promise<void> {
  const [row] = await tx.query<{ tenants: number; groups: string[] }>({
    text: `select (select count(*)::int from tenant_price_plans where plan_name = $1 and not removed) as tenants,
                  array(select group_name from price_group_plans where plan_name = $1 and not removed
                        order by 1) as groups`,
    values: [planName],
  })
  const users = [
    ...(row!.tenants > 0 ? [`${tenants(row!.tenants)} on ${planName}`] : []),
    ...row!.groups.map((group) => `the group ${group} has it`),
  ]
  if (users.length > 0) throw inUse(`${users.join(', and ')}. Give them a different plan first, or unassign this one.`)
}

function tenants(count: number): string {
  return count === 1 ? '1 tenant is' : `${count} tenants are`
}

function inUse(message: string): Refusal {
  return new Refusal(409, 'IN_USE', message[0]!.toUpperCase() + message.slice(1))
}

async function reserveName(tx: Tx, kind: Kind, name: string, newName: string): Promise<void> {
  checkName(`${kind}Name`, newName)
  await checkExists(tx, kind, name)
  if (!(await insertName(tx, kind, newName))) throw alreadyExists(NAMES[kind], newName)
}

interface AssignmentTable {
  table: string
  owner: string
  target: string
}

/**
 * Ends the assignments of the old name and starts the same ones under the new name. `at` is unique, so it identifies them.
 */
function moveAssignments(tx: Tx, { table, owner, target }: AssignmentTable, from: string, to: string, at: Date): void {
  tx.send({
    text: `update ${table} set removed = true, updated_at = $2 where ${target} = $1 and not removed`,
    values: [from, at],
  })
  tx.send({
    text: `insert into ${table} (${owner}, ${target}, removed, first_set_at, updated_at)
           select ${owner}, $2, false, $3::timestamptz, $3 from ${table} where ${target} = $1 and removed and updated_at = $3
           on conflict (${owner}, ${target}) do update set removed = false, updated_at = excluded.updated_at`,
    values: [from, to, at],
  })
}

function endPlan(tx: Tx, planName: string, at: Date): void {
  tx.send({ text: 'update price_plans set removed = true where plan_name = $1', values: [planName] })
  tx.send(sql`
    update price_plan_rules set removed = true, updated_at = ${at} where plan_name = ${planName} and not removed`)
}

function endGroup(tx: Tx, groupName: string, at: Date): void {
  tx.send({ text: 'update price_groups set removed = true where group_name = $1', values: [groupName] })
  tx.send(sql`
    update price_group_plans set removed = true, updated_at = ${at} where group_name = ${groupName} and not removed`)
}
