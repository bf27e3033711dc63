import type { Command } from 'commander'
import { cancelEsim } from '../../fulfilment/cancelling/cancel-esim.ts'
import { resolveCancellation } from '../../fulfilment/review/resolve-cancellation.ts'
import { Refusal } from '../../lib/refusal.ts'
import { getProfileOwner } from '../../profiles/search.ts'
import type { AdminContext } from '../context.ts'
import { UsageError } from '../failure.ts'
import { withSuppliers } from './suppliers.ts'

export function esimCommands(esim: Command, context: AdminContext): void {
  esim
    .command('cancel <esim-tran-no>')
    .description('Cancel an eSIM that was not used: refunded once its supplier has cancelled it.')
    .requiredOption('--reason <text>', 'for whoever asks later: audited')
    .action((profileId: string, { reason }: { reason: string }) =>
      context.withDeps(async (deps) => {
        const found = await getProfileOwner(deps.db, profileId)
        const outcome = await withSuppliers(deps, (suppliers) =>
          cancelEsim({ ...deps, suppliers }, { ...found, reason }, context.by),
        )
        if (outcome.kind === 'refused') {
          const words = `The supplier did not cancel it: ${outcome.message}. Nothing is refunded.`
          throw new Refusal(409, 'CANCEL_REFUSED', words)
        }
        const human =
          outcome.kind === 'cancelled'
            ? 'The supplier has cancelled it, and it is refunded.'
            : `The supplier did not say whether it cancelled it (${outcome.message}). It is asked again; nothing is refunded until it has.`
        context.print(human, { esimTranNo: profileId, outcome: outcome.kind })
      }),
    )
  esim
    .command('settle <esim-tran-no>')
    .description('Record what the supplier said of a cancel that it never answered.')
    .option('--cancelled', 'it was cancelled unused: it is refunded')
    .option('--kept', 'it was not cancelled')
    .requiredOption('--evidence <text>', 'what the supplier said, when, and who: audited')
    .action(async (profileId: string, options: { cancelled?: boolean; kept?: boolean; evidence: string }) => {
      if (options.cancelled === options.kept) throw new UsageError('Say one of --cancelled and --kept.')
      const verdict = options.cancelled ? 'cancelled' : 'kept'
      await context.withDeps(async (deps) => {
        const found = await getProfileOwner(deps.db, profileId)
        await resolveCancellation(deps, { ...found, verdict, evidence: options.evidence }, context.by)
        const human = verdict === 'cancelled' ? 'It is cancelled and refunded.' : 'It stays as it is.'
        context.print(human, { esimTranNo: profileId, verdict })
      })
    })
}
