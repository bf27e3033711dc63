import type { Command } from 'commander'
import { cancelEsim } from '../../fulfilment/cancelling/cancel-esim.ts'
import { resolveCancellation } from '../../fulfilment/review/resolve-cancellation.ts'
import { Refusal } from '../../lib/refusal.ts'
import { getProfileOwner } from '../../profiles/search.ts'
import type { AdminContext } from '../context.ts'
import { UsageError } from '../failure.ts'
import { withSuppliers } from '../outbound.ts'

export function esimCommands(esim: Command, context: AdminContext): void {
  esim
    .command('cancel <esim-tran-no>')
    .description('Cancel an unused eSIM. It is refunded when its supplier has cancelled it.')
    .requiredOption('--reason <text>', 'recorded in the audit log')
    .action((profileId: string, { reason }: { reason: string }) =>
      context.withDeps(async (deps) => {
        const found = await getProfileOwner(deps.db, profileId)
        const outcome = await withSuppliers(deps, (suppliers) =>
          cancelEsim({ ...deps, suppliers }, { ...found, reason }, context.by),
        )
        if (outcome.kind === 'refused') {
          const message = `The supplier did not cancel the eSIM: ${outcome.message}. Nothing is refunded.`
          throw new Refusal(409, 'CANCEL_REFUSED', message)
        }
        const human =
          outcome.kind === 'cancelled'
            ? 'The supplier has cancelled the eSIM. It is refunded.'
            : `The supplier did not report whether it cancelled the eSIM (${outcome.message}). It is queried again; nothing is refunded until it confirms the cancellation.`
        context.print(human, { esimTranNo: profileId, outcome: outcome.kind })
      }),
    )
  esim
    .command('settle <esim-tran-no>')
    .description('Resolve a pending cancellation with the supplier’s statement.')
    .option('--cancelled', 'the supplier cancelled it unused: refund it')
    .option('--kept', 'the supplier did not cancel it')
    .requiredOption('--evidence <text>', 'the supplier’s statement, its author and time: audited')
    .action(async (profileId: string, options: { cancelled?: boolean; kept?: boolean; evidence: string }) => {
      if (options.cancelled === options.kept) throw new UsageError('Give one of --cancelled and --kept.')
      const verdict = options.cancelled ? 'cancelled' : 'kept'
      await context.withDeps(async (deps) => {
        const found = await getProfileOwner(deps.db, profileId)
        await resolveCancellation(deps, { ...found, verdict, evidence: options.evidence }, context.by)
        const human = verdict === 'cancelled' ? 'The eSIM is cancelled and refunded.' : 'The eSIM remains valid.'
        context.print(human, { esimTranNo: profileId, verdict })
      })
    })
}
