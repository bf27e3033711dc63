import { requireUuid } from '@dealer-esim/lib/refusal.ts'
import type { Command } from 'commander'
import { invalidField } from '#catalogue/catalogue-checks.ts'
import {
  createGroup,
  type GroupDetails,
  listGroups,
  setGroupPlan,
  setTenantGroup,
} from '#catalogue/prices/price-assignments.ts'
import { deleteGroup, renameGroup } from '#catalogue/prices/rename-delete.ts'
import { type AdminDeps, inTransaction } from '../kernel/cli-deps.ts'
import type { AdminContext } from '../kernel/context.ts'
import { fields, table } from '../kernel/text-table.ts'

/** Price groups: tenants that share a price plan. */
export function priceGroupCommands(noun: Command, context: AdminContext): void {
  const group = noun
    .command('group')
    .description('Price groups: tenants that share a plan. A tenant is in at most one group.')
  group
    .command('create <group>')
    .description('Create a group.')
    .option('--plan <name>', 'the plan of its tenants')
    .action((groupName: string, options: { plan?: string }) =>
      context.withDeps(async (deps) => {
        await inTransaction(deps, async (joined) => {
          await createGroup(joined, groupName, context.by)
          if (options.plan !== undefined) await setGroupPlan(joined, groupName, options.plan, context.by)
        })
        await show(deps, context, groupName)
      }),
    )
  members(group, context)
  renameAndDelete(group, context)
  group
    .command('list')
    .description('List the groups.')
    .action(() =>
      context.withDeps(async (deps) => {
        const groups = await listGroups(deps.db)
        context.print(groupTable(groups), groups)
      }),
    )
  group
    .command('show <group>')
    .description('Show a group with its plan and its tenants.')
    .action((groupName: string) => context.withDeps((deps) => show(deps, context, groupName)))
}

async function show(deps: AdminDeps, context: AdminContext, groupName: string): Promise<void> {
  const [shown] = await listGroups(deps.db, groupName)
  context.print(groupText(shown!), shown)
}

function members(group: Command, context: AdminContext): void {
  group
    .command('add <group> <tenant-ids...>')
    .description('Move tenants into a group.')
    .action((groupName: string, tenantIds: string[]) =>
      context.withDeps(async (deps) => {
        await inTransaction(deps, async (joined) => {
          for (const tenantId of tenantIds) await setTenantGroup(joined, tenantId, groupName, context.by)
        })
        await show(deps, context, groupName)
      }),
    )
  group
    .command('remove <group> <tenant-ids...>')
    .description('Remove tenants from a group.')
    .action((groupName: string, tenantIds: string[]) =>
      context.withDeps(async (deps) => {
        const [before] = await listGroups(deps.db, groupName)
        const stranger = tenantIds.find((typedId) => !before!.tenantIds.includes(requireUuid(typedId, 'tenant')))
        if (stranger !== undefined) throw invalidField('tenantId', `${stranger} is not in the group ${groupName}.`)
        await inTransaction(deps, async (joined) => {
          for (const tenantId of tenantIds) await setTenantGroup(joined, tenantId, null, context.by)
        })
        await show(deps, context, groupName)
      }),
    )
}

function renameAndDelete(group: Command, context: AdminContext): void {
  group
    .command('rename <group> <new-name>')
    .description('Rename a group. Prices do not change.')
    .action((groupName: string, newName: string) =>
      context.withDeps(async (deps) => {
        await renameGroup(deps, groupName, newName, context.by)
        await show(deps, context, newName)
      }),
    )
  group
    .command('delete <group>')
    .description('Delete an empty group.')
    .action((groupName: string) =>
      context.withDeps(async (deps) => {
        await deleteGroup(deps, groupName, context.by)
        context.print(`Deleted. The name ${groupName} can be used again.`, { groupName, deleted: true })
      }),
    )
}

function groupTable(groups: readonly GroupDetails[]): string {
  return table(
    groups,
    [
      { title: 'GROUP', value: (group) => group.groupName },
      { title: 'PLAN', value: (group) => group.planName ?? 'none' },
      { title: 'TENANTS', right: true, value: (group) => String(group.tenantIds.length) },
    ],
    'There are no price groups. Create one with: price group create NAME',
  )
}

function groupText({ groupName, planName, tenantIds }: GroupDetails): string {
  return fields([
    ['Group', groupName],
    ['Plan', planName ?? 'none, so its tenants pay the list price'],
    ['Tenants', tenantIds.join('\n') || 'none'],
  ])
}
