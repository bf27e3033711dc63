import type { ActionAnswer } from '@dealer-esim/contract'
import type { Command } from 'commander'
import { type Action, newTransactionId } from '#client.ts'
import type { Context } from '../context.ts'
import { CommandFailed, EXIT } from '../exit-codes.ts'
import { money, pairs, printable, time } from '../output.ts'

interface ActOptions {
  transactionId?: string
  iccid?: string
  reason?: string
}

const DESCRIPTIONS = {
  cancel: 'cancel an eSIM that was not downloaded; it is refunded when its supplier has cancelled it',
  suspend: 'interrupt the service of an eSIM in use',
  unsuspend: 'resume the service of a suspended eSIM',
  revoke: 'end the service of an eSIM for good, without a refund',
} as const

/** `cancel`, `suspend`, `unsuspend` and `revoke` act on an eSIM; `action` shows its status. */
export function actionCommands(program: Command, context: () => Context): void {
  for (const name of ['cancel', 'suspend', 'unsuspend', 'revoke'] as const) {
    program
      .command(name)
      .description(DESCRIPTIONS[name])
      .argument('[esimTranNo]', 'the eSIM, unless you give --iccid')
      .option('--iccid <iccid>', 'the newest eSIM with this ICCID')
      .option('--transaction-id <id>', 'your own key of the action; generated and shown if omitted')
      .option('--reason <text>', 'your own note')
      .addHelpText('after', helpOf(name))
      .action(async (esimTranNo: string | undefined, options: ActOptions) => {
        if (esimTranNo === undefined && options.iccid === undefined) {
          throw new CommandFailed('No eSIM given. Add its esimTranNo or --iccid.', EXIT.USAGE)
        }
        const { client, print, io } = context()
        const esim = client()
        const transactionId = options.transactionId ?? newTransactionId()
        if (options.transactionId === undefined) io.err(`transactionId ${transactionId}\n`)
        const action = await esim[name]({ ...options, transactionId, ...(esimTranNo !== undefined && { esimTranNo }) })
        print(started(action), action)
      })
  }

  program
    .command('action')
    .description('show a cancel, suspend, unsuspend or revoke and its status')
    .argument('[actionNo]', 'the action number, unless you give --transaction-id')
    .option('--transaction-id <id>', 'the action with this transactionId')
    .action(async (actionNo: string | undefined, { transactionId }: { transactionId?: string }) => {
      if (actionNo === undefined && transactionId === undefined) {
        throw new CommandFailed('No action given. Add its number or --transaction-id.', EXIT.USAGE)
      }
      const { client, print } = context()
      const action = await client().action({
        ...(actionNo !== undefined && { actionNo }),
        ...(transactionId !== undefined && { transactionId }),
      })
      print(describe(action), action)
    })
}

function started(action: Action): string {
  const replayed = action.replayed
    ? 'This transactionId has already started the action: nothing was started again.\n'
    : ''
  const next = action.actionStatus === 'PENDING' ? `Next: dealer-esim action ${printable(action.actionNo)}\n` : ''
  return describe(action) + replayed + next
}

function describe(action: ActionAnswer): string {
  const { currencyCode, refundAmount, feeAmount } = action
  return pairs([
    ['Action', action.actionNo],
    ['transactionId', action.transactionId],
    ['Kind', action.action],
    ['eSIM', action.esimTranNo],
    ['ICCID', action.iccid],
    ['Status', action.actionStatus],
    ['Reason', action.failureReason],
    ['Refunded', refundAmount === 0 ? null : money(refundAmount, currencyCode)],
    ['Fee', feeAmount === 0 ? null : money(feeAmount, currencyCode)],
    ['Last change', time(action.lastUpdateTime)],
  ])
}

/** Ends the help of a command that acts on an eSIM. */
const helpOf = (name: keyof typeof DESCRIPTIONS) => `
Repeating an action with the same transactionId does not start it again: after a failure, repeat the same command with the
transactionId that it showed.

Examples:
  $ dealer-esim ${name} 0193f3a4-9c1e-7b60-8a53-0d5c1f7e2b90 --transaction-id A-1
  $ dealer-esim action --transaction-id A-1`
