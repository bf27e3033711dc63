import { ESIM_ACTIONS } from '@dealer-esim/contract'
import type { Command } from 'commander'
import { actForOperator } from '../../actions/operator.ts'
import { resolveAction } from '../../actions/resolve.ts'
import { Refusal } from '../../lib/refusal.ts'
import { getProfileOwner } from '../../profiles/search.ts'
import type { AdminContext } from '../context.ts'
import { UsageError } from '../failure.ts'
import { withSuppliers } from './suppliers.ts'

/** `cancel`, `suspend`, `unsuspend`, `revoke`: the last three read alike. */
const ACTION_COMMANDS = {
  CANCEL: {
    description: 'Cancel an eSIM that was not used: refunded once its supplier has cancelled it.',
    done: 'The supplier has cancelled it, and it is refunded.',
  },
  SUSPEND: { description: 'Interrupt the service of an eSIM in use.', done: 'The supplier has suspended it.' },
  UNSUSPEND: { description: 'Resume the service of a suspended eSIM.', done: 'The supplier has resumed its service.' },
  REVOKE: {
    description: 'End the service of an eSIM for good, without a refund.',
    done: 'The supplier has revoked it. Nothing is refunded.',
  },
} as const

export function esimCommands(esim: Command, context: AdminContext): void {
  for (const action of ESIM_ACTIONS) actionCommand(esim, context, action)
  esim
    .command('settle <esim-tran-no>')
    .description('Record what the supplier said of a cancel, or another action, that it did not answer.')
    .option('--cancelled', 'it was cancelled unused: it is refunded')
    .option('--done', 'it did what was asked, whichever action it was')
    .option('--kept', 'it changed nothing')
    .requiredOption('--evidence <text>', 'what the supplier said, when, and who: audited')
    .action(async (profileId: string, options: SettleOptions) => {
      const verdict = verdictOf(options)
      await context.withDeps(async (deps) => {
        const found = await getProfileOwner(deps.db, profileId)
        await resolveAction(deps, { ...found, verdict, evidence: options.evidence }, context.by)
        const human = { cancelled: 'It is cancelled and refunded.', done: 'It is done.', kept: 'It stays as it is.' }
        context.print(human[verdict], { esimTranNo: profileId, verdict })
      })
    })
}

function actionCommand(esim: Command, context: AdminContext, action: keyof typeof ACTION_COMMANDS): void {
  const { description, done } = ACTION_COMMANDS[action]
  const isCancel = action === 'CANCEL'
  esim
    .command(`${action.toLowerCase()} <esim-tran-no>`)
    .description(description)
    .requiredOption('--reason <text>', 'for whoever asks later: audited')
    .action((profileId: string, { reason }: { reason: string }) =>
      context.withDeps(async (deps) => {
        const found = await getProfileOwner(deps.db, profileId)
        const outcome = await withSuppliers(deps, (suppliers) =>
          actForOperator({ ...deps, suppliers }, { ...found, action, reason }, context.by),
        )
        if (outcome.kind === 'refused') {
          const words = isCancel ? 'The supplier did not cancel it' : 'The supplier did not do it'
          throw new Refusal(409, `${action}_REFUSED`, `${words}: ${outcome.message}. Nothing is refunded.`)
        }
        const human =
          outcome.kind === 'done'
            ? done
            : `The supplier did not say whether it did it (${outcome.message}). It is asked again; nothing is refunded until it has.`
        const name = outcome.kind === 'done' && isCancel ? 'cancelled' : outcome.kind
        context.print(human, { esimTranNo: profileId, outcome: name })
      }),
    )
}

interface SettleOptions {
  cancelled?: boolean
  done?: boolean
  kept?: boolean
  evidence: string
}

/** @throws UsageError unless exactly one is chosen */
function verdictOf(options: SettleOptions): 'cancelled' | 'done' | 'kept' {
  const [verdict, ...others] = (['cancelled', 'done', 'kept'] as const).filter((name) => options[name])
  if (verdict === undefined || others.length > 0) throw new UsageError('Say one of --cancelled and --kept.')
  return verdict
}
