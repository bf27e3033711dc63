import { formatMoney, parseMoney } from '@dealer-esim/contract'
import type { Db } from '@dealer-esim/lib/postgres/db.ts'
import type { Command } from 'commander'
import { approveAdjustment, proposeAdjustment, rejectAdjustment } from '#wallet/ledger/adjust.ts'
import { type Adjustment, listAdjustments } from '#wallet/ledger/adjustment.ts'
import { FIRST_PERSON_DAYS } from '#wallet/ledger/ledger-checks.ts'
import { listWalletNames } from '#wallet/ledger/wallet-names.ts'
import type { AdminContext } from '../kernel/context.ts'
import { fields, table, timeText } from '../kernel/text-table.ts'

/** An adjustment takes two people: one proposes it and another approves it. */
export function adjustmentCommands(wallet: Command, context: AdminContext): void {
  wallet
    .command('adjust <tenant-id> <amount>')
    .description(
      `Propose a correction of the balance; a negative amount takes money. Another person must approve it within ${FIRST_PERSON_DAYS} days.`,
    )
    .requiredOption('--reference <text>', 'unique among the adjustments of this wallet')
    .requiredOption('--reason <text>', 'shown to the approver and in the statement')
    .addHelpText(
      'after',
      '\nExample:\n  npm run -s admin -- wallet adjust ID -12.50 --reference CASE-311 --reason "credited twice"',
    )
    .action(async (tenantId: string, amountText: string, options: { reference: string; reason: string }) => {
      const input = { tenantId, amount: parseMoney(amountText), ...options }
      await context.withDeps(async (deps) => {
        await show(deps.db, await proposeAdjustment(deps, input, context.by), context)
      })
    })
  decision(wallet, context, 'approve', 'Approve and post an adjustment that another person proposed.')
  decision(wallet, context, 'reject', 'Reject an adjustment, or withdraw one that you proposed.')
  wallet
    .command('adjustments [tenant-id]')
    .description('List adjustments, newest first: a tenant’s, or all that wait for approval.')
    .option('--open', 'only adjustments that wait for approval')
    .action((tenantId: string | undefined, options: { open?: boolean }) =>
      context.withDeps(async (deps) => {
        const open = options.open ?? tenantId === undefined
        const rows = await listAdjustments(deps.db, { open, ...(tenantId === undefined ? {} : { tenantId }) })
        const named = await withNames(deps.db, rows)
        context.print(adjustmentTable(named), named)
      }),
    )
}

function decision(wallet: Command, context: AdminContext, verb: 'approve' | 'reject', description: string): void {
  wallet
    .command(`${verb} <tenant-id> <adjustment-id>`)
    .description(description)
    .action((tenantId: string, adjustmentId: string) =>
      context.withDeps(async (deps) => {
        const decide = verb === 'approve' ? approveAdjustment : rejectAdjustment
        await show(deps.db, await decide(deps, tenantId, adjustmentId, context.by), context)
      }),
    )
}

interface NamedAdjustment extends Adjustment {
  clientName: string
  currencyCode: string
}

async function withNames(db: Db, rows: readonly Adjustment[]): Promise<NamedAdjustment[]> {
  const names = await listWalletNames(
    db,
    rows.map(({ tenantId }) => tenantId),
  )
  return rows.map((row) => ({ ...row, ...names.get(row.tenantId)! }))
}

async function show(db: Db, given: Adjustment, context: AdminContext): Promise<void> {
  const [adjustment] = (await withNames(db, [given])) as [NamedAdjustment]
  const decided = adjustment.decidedBy ? [['Decided by', adjustment.decidedBy] as const] : []
  const human = fields([
    ['Adjustment', adjustment.adjustmentId],
    ['Tenant', `${adjustment.tenantId} ${adjustment.clientName}`],
    ['Amount', `${formatMoney(adjustment.amount)} ${adjustment.currencyCode}`],
    ['Reference', adjustment.reference],
    ['Reason', adjustment.reason],
    ['Status', adjustment.status],
    ['Proposed by', adjustment.proposedBy],
    ...decided,
    ...(adjustment.status === 'PROPOSED' ? [['Expires', timeText(adjustment.expiresAt)] as const] : []),
  ])
  context.print(human, adjustment)
}

function adjustmentTable(rows: NamedAdjustment[]): string {
  return table(
    rows,
    [
      { title: 'ADJUSTMENT', value: (row) => row.adjustmentId },
      { title: 'TENANT', value: (row) => row.tenantId },
      { title: 'NAME', value: (row) => row.clientName },
      { title: 'AMOUNT', value: (row) => `${formatMoney(row.amount)} ${row.currencyCode}`, right: true },
      { title: 'STATUS', value: (row) => row.status },
      { title: 'REFERENCE', value: (row) => row.reference },
      { title: 'PROPOSED BY', value: (row) => row.proposedBy },
      { title: 'REASON', value: (row) => row.reason },
    ],
    'There are no adjustments.',
  )
}
