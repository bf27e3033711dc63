import type { Db, Tx } from '@dealer-esim/lib/postgres/db.ts'
import { notFound, requireUuid } from '@dealer-esim/lib/refusal.ts'
import sql from 'sql-template-tag'
import { type AuditEntry, audit, type By } from '#platform/audit/audit.ts'
import { alreadyExists, checkExists, checkName, insertName } from '../catalogue-checks.ts'
import { changeCatalogue } from '../catalogue-version.ts'
import type { ChangeDeps } from '../packages/put-packages.ts'

/** Creates a group of tenants that share a plan. */
export async function createGroup(deps: ChangeDeps, groupName: string, by: By): Promise<void> {
  checkName('groupName', groupName)
  await changeCatalogue(deps.db, async (tx) => {
    if (!(await insertName(tx, 'group', groupName))) throw alreadyExists('price group', groupName)
    audit(tx, deps.ids, { tenantId: null, ...by, action: 'price_group.create', subject: groupName })
  })
}

/** Sets a tenant's own plan; null removes it. The previous plan ends. */
export async function setTenantPlan(
  deps: ChangeDeps,
  tenantId: string,
  planName: string | null,
  by: By,
): Promise<void> {
  await assign(deps, TENANT_PLAN, requireUuid(tenantId, 'tenant'), planName, by)
}

/** Sets the plan for the tenants of a group that have no plan of their own. */
export async function setGroupPlan(
  deps: ChangeDeps,
  groupName: string,
  planName: string | null,
  by: By,
): Promise<void> {
  await assign(deps, GROUP_PLAN, groupName, planName, by)
}

/** Sets the group of a tenant; null removes the tenant from its group. */
export async function setTenantGroup(
  deps: ChangeDeps,
  tenantId: string,
  groupName: string | null,
  by: By,
): Promise<void> {
  await assign(deps, TENANT_GROUP, requireUuid(tenantId, 'tenant'), groupName, by)
}

interface Kind {
  readonly table: string
  readonly owner: { readonly kind: 'tenant' | 'group'; readonly column: string }
  readonly target: { readonly kind: 'plan' | 'group'; readonly column: string; readonly member: string }
  readonly action: AuditEntry['action']
}

const PLAN = { kind: 'plan', column: 'plan_name', member: 'planName' } as const
const GROUP = { kind: 'group', column: 'group_name', member: 'groupName' } as const
const TENANT = { kind: 'tenant', column: 'tenant_id' } as const
const TENANT_PLAN: Kind = { table: 'tenant_price_plans', owner: TENANT, target: PLAN, action: 'price_plan.assign' }
const GROUP_PLAN: Kind = { table: 'price_group_plans', owner: GROUP, target: PLAN, action: 'price_plan.assign' }
const TENANT_GROUP: Kind = { table: 'tenant_price_groups', owner: TENANT, target: GROUP, action: 'price_group.assign' }

async function assign(deps: ChangeDeps, kind: Kind, owner: string, target: string | null, by: By): Promise<void> {
  await changeCatalogue(deps.db, async (tx, stamp) => {
    await checkExists(tx, kind.owner.kind, owner)
    if (target !== null) await checkExists(tx, kind.target.kind, target)
    const before = await findTarget(tx, kind, owner)
    if (before === target) return
    const at = await stamp()
    tx.send({
      text: `update ${kind.table} set removed = true, updated_at = $2 where ${kind.owner.column} = $1 and not removed`,
      values: [owner, at],
    })
    if (target !== null) {
      tx.send({
        text: `insert into ${kind.table} (${kind.owner.column}, ${kind.target.column}, removed, first_set_at, updated_at)
               values ($1, $2, false, $3, $3)
               on conflict (${kind.owner.column}, ${kind.target.column})
               do update set removed = false, updated_at = excluded.updated_at`,
        values: [owner, target, at],
      })
    }
    audit(tx, deps.ids, {
      tenantId: kind.owner.kind === 'tenant' ? owner : null,
      ...by,
      action: kind.action,
      subject: owner,
      before: { [kind.target.member]: before },
      after: { [kind.target.member]: target },
    })
  })
}

async function findTarget(tx: Tx, kind: Kind, owner: string): Promise<string | null> {
  const [row] = await tx.query<{ target: string }>({
    text: `select ${kind.target.column} as target from ${kind.table} where ${kind.owner.column} = $1 and not removed`,
    values: [owner],
  })
  return row?.target ?? null
}

/** The plans and the group that decide a tenant's prices. */
export interface AssignmentDetails {
  readonly planName: string | null
  readonly groupName: string | null
  /** Applies if the tenant has no plan of its own, or that plan has no rule for the package. */
  readonly groupPlanName: string | null
}

/** @throws Refusal if the tenant does not exist */
export async function getAssignment(db: Db, typedId: string): Promise<AssignmentDetails> {
  const tenantId = requireUuid(typedId, 'tenant')
  const [row] = await db.query<AssignmentDetails>(sql`
    select p.plan_name, g.group_name, gp.plan_name as group_plan_name
    from tenants t
    left join tenant_price_plans p on p.tenant_id = t.tenant_id and not p.removed
    left join tenant_price_groups g on g.tenant_id = t.tenant_id and not g.removed
    left join price_group_plans gp on gp.group_name = g.group_name and not gp.removed
    where t.tenant_id = ${tenantId}`)
  if (!row) throw notFound('tenant', tenantId)
  return row
}

export interface GroupDetails {
  readonly groupName: string
  readonly planName: string | null
  readonly tenantIds: readonly string[]
}

/** Lists all groups, or only the given one, with their plans and tenants. @throws Refusal if the given one does not exist */
export async function listGroups(db: Db, groupName?: string): Promise<GroupDetails[]> {
  const groups = await db.query<GroupDetails>({
    text: `select group_name,
             (select plan_name from price_group_plans p where p.group_name = g.group_name and not removed) as plan_name,
             array(select tenant_id::text from tenant_price_groups t
                   where t.group_name = g.group_name and not removed order by 1) as tenant_ids
           from price_groups g where not removed and ($1::text is null or group_name = $1) order by group_name`,
    values: [groupName ?? null],
  })
  if (groupName !== undefined && groups.length === 0) throw notFound('price group', groupName)
  return groups
}
