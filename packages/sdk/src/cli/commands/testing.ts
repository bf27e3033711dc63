import {
  SMDP_STATUSES,
  type SmdpStatus,
  TEST_OUTCOMES,
  type TestOutcome,
  USED_PERCENT_MAX,
} from '@dealer-esim/contract'
import { Argument, type Command, InvalidArgumentError } from 'commander'
import { amount, hours } from '../arguments.ts'
import type { Context } from '../context.ts'
import { money, pairs, time } from '../output.ts'
import { profileRows } from './profiles.ts'

/** `test`: states, usage and time of a test account. */
export function testCommands(program: Command, context: () => Context): void {
  const test = program
    .command('test')
    .description('change states, usage and time of a test account')
    .addHelpText('after', HELP)

  test
    .command('balance')
    .description('set the balance; the difference is posted as an adjustment')
    .argument('<amount>', 'the balance afterwards, such as 25.00', amount)
    .action(async (balance: number) => {
      const { client, print } = context()
      const answer = await client().test.setBalance({ balance })
      print(pairs([['Balance', money(answer.balance, answer.currencyCode)]]), answer)
    })
  test
    .command('usage')
    .description('report usage of an eSIM, as its supplier would')
    .argument('<esim>', 'esimTranNo')
    .argument('<usage>', 'bytes, or a percentage of its volume, such as 80%', usage)
    .action((esimTranNo: string, reported: Usage) => report({ esimTranNo, ...reported }))
  test
    .command('state')
    .description('report the state of an eSIM, as its supplier would')
    .argument('<esim>', 'esimTranNo')
    .addArgument(new Argument('<status>', 'the status of the profile').choices(SMDP_STATUSES))
    .action((esimTranNo: string, smdpStatus: SmdpStatus) => report({ esimTranNo, smdpStatus }))
  test
    .command('advance')
    .description('move the time of the account forward, once, even if an answer is lost')
    .argument('<time>', 'such as 24h or 7d', hours)
    .action(async (ahead: number) => {
      const { client, print } = context()
      const answer = await client().test.advanceClock({ hours: ahead })
      const rows = pairs([
        ['Test time', time(answer.testTime)],
        ['Advanced', `${answer.advancedHours} h`],
        ['Changed eSIMs', answer.changedEsims],
      ])
      print(rows, answer)
    })
  test
    .command('resolve')
    .description('end an order that a sandbox package has left open')
    .argument('<orderNo>', 'the order')
    .addArgument(new Argument('<outcome>', 'what its supplier says at last').choices(TEST_OUTCOMES))
    .action(async (orderNo: string, outcome: TestOutcome) => {
      const { client, print } = context()
      const order = await client().test.resolveOrder({ orderNo, outcome })
      const rows = pairs([
        ['Order', order.orderNo],
        ['Status', order.orderStatus],
        ['Refunded', money(order.refundedAmount, order.currencyCode)],
      ])
      print(rows, order)
    })

  async function report(request: { esimTranNo: string; smdpStatus?: SmdpStatus } & Partial<Usage>): Promise<void> {
    const { client, print, paint } = context()
    const profile = await client().test.updateEsim(request)
    print(profileRows([profile], paint), profile)
  }
}

type Usage = { orderUsage: number } | { usedPercent: number }

/** `80%`, or bytes. */
function usage(text: string): Usage {
  const match = /^(\d{1,15})(%)?$/.exec(text)
  const value = Number(match?.[1])
  if (!match || (match[2] && value > USED_PERCENT_MAX)) {
    throw new InvalidArgumentError(`Write bytes, or a percentage up to ${USED_PERCENT_MAX} %, such as 80%.`)
  }
  return match[2] ? { usedPercent: value } : { orderUsage: value }
}

const HELP = `
These operations exist for test accounts only: elsewhere they fail with 000109.

Examples:
  $ dealer-esim test usage 06EQ7X1KCM0RB8Q2N5T3W9Z4GA 80%
  $ dealer-esim test advance 7d`
