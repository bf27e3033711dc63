import { ESIM_ACTIONS } from '@dealer-esim/contract'
import { Refusal } from '@dealer-esim/lib/refusal.ts'
import type { Command } from 'commander'
import { actForOperator } from '#esims/actions/operator-action.ts'
import { resolveAction } from '#esims/actions/resolve-action.ts'
import { renewShareLink } from '#esims/qr/share-link.ts'
import { getProfileOwner } from '#esims/search-profiles.ts'
import { UsageError } from './kernel/cli-failure.ts'
import { withSuppliers } from './kernel/cli-outbound.ts'
import type { AdminContext } from './kernel/context.ts'

const ACTION_COMMANDS = {
  CANCEL: {
    description: 'Cancel an unused eSIM. It is refunded when its supplier has cancelled it.',
    verb: 'cancel',
    done: 'The supplier has cancelled the eSIM. It is refunded.',
    confirmation: 'nothing is refunded until it confirms the cancellation',
  },
  SUSPEND: {
    description: 'Interrupt the service of an eSIM in use.',
    verb: 'suspend',
    done: 'The supplier has suspended the eSIM.',
    confirmation: 'nothing changes until it confirms',
  },
  UNSUSPEND: {
    description: 'Resume the service of a suspended eSIM.',
    verb: 'resume',
    done: 'The supplier has resumed the service of the eSIM.',
    confirmation: 'nothing changes until it confirms',
  },
  REVOKE: {
    description: 'End the service of an eSIM for good. It is not refunded.',
    verb: 'revoke',
    done: 'The supplier has revoked the eSIM. It is not refunded.',
    confirmation: 'nothing changes until it confirms',
  },
} as const

export function esimCommands(esim: Command, context: AdminContext): void {
  for (const action of ESIM_ACTIONS) addActionCommand(esim, context, action)
  esim
    .command('settle <esim-tran-no>')
    .description('Resolve a pending cancellation, or another action, with the supplier’s statement.')
    .option('--cancelled', 'the supplier cancelled it unused: refund it')
    .option('--done', 'the supplier did what was asked, whichever action it was')
    .option('--kept', 'the supplier did not cancel it, or changed nothing')
    .requiredOption('--evidence <text>', 'the supplier’s statement, its author and time: audited')
    .action(async (profileId: string, options: ResolveOptions) => {
      const verdict = verdictOf(options)
      await context.withDeps(async (deps) => {
        const found = await getProfileOwner(deps.db, profileId)
        await resolveAction(deps, { ...found, verdict, evidence: options.evidence }, context.by)
        const human = {
          cancelled: 'The eSIM is cancelled and refunded.',
          done: 'The action is done.',
          kept: 'The eSIM remains valid.',
        }
        context.print(human[verdict], { esimTranNo: profileId, verdict })
      })
    })
  esim
    .command('renew-share-link <esim-tran-no>')
    .description('Replace the link to the traveller’s page. The old link ends immediately.')
    .action((profileId: string) =>
      context.withDeps(async (deps) => {
        await renewShareLink(deps, await getProfileOwner(deps.db, profileId), context.by)
        context.print('The share link is renewed. The dealer reads it from esim/profile/list.', {
          esimTranNo: profileId,
        })
      }),
    )
}

function addActionCommand(esim: Command, context: AdminContext, action: keyof typeof ACTION_COMMANDS): void {
  const { description, verb, done, confirmation } = ACTION_COMMANDS[action]
  esim
    .command(`${action.toLowerCase()} <esim-tran-no>`)
    .description(description)
    .requiredOption('--reason <text>', 'recorded in the audit log')
    .action((profileId: string, { reason }: { reason: string }) =>
      context.withDeps(async (deps) => {
        const found = await getProfileOwner(deps.db, profileId)
        const outcome = await withSuppliers(deps, (suppliers) =>
          actForOperator({ ...deps, suppliers }, { ...found, action, reason }, context.by),
        )
        if (outcome.kind === 'refused') {
          const message = `The supplier did not ${verb} the eSIM: ${outcome.message}. Nothing was refunded.`
          throw new Refusal(409, `${action}_REFUSED`, message)
        }
        const human =
          outcome.kind === 'done'
            ? done
            : `The supplier did not report whether it did so (${outcome.message}). The gateway will query it again; ${confirmation}.`
        const name = outcome.kind === 'done' && action === 'CANCEL' ? 'cancelled' : outcome.kind
        context.print(human, { esimTranNo: profileId, outcome: name })
      }),
    )
}

interface ResolveOptions {
  cancelled?: boolean
  done?: boolean
  kept?: boolean
  evidence: string
}

/** @throws UsageError unless exactly one is given */
function verdictOf(options: ResolveOptions): 'cancelled' | 'done' | 'kept' {
  const [verdict, ...others] = (['cancelled', 'done', 'kept'] as const).filter((name) => options[name])
  if (verdict === undefined || others.length > 0)
    throw new UsageError('Use exactly one of --cancelled, --done and --kept.')
  return verdict
}
