import { EVENT_TYPES, type EventType, type WebhookSetRequest } from '@dealer-esim/contract'
import { Argument, type Command } from 'commander'
import { list } from '../arguments.ts'
import type { Context } from '../context.ts'
import { AlreadyReported, EXIT } from '../exit-codes.ts'
import { pairs, time } from '../output.ts'

/** `webhook`: shows and changes the webhook setting. */
export function webhookCommands(program: Command, context: () => Context): void {
  const webhook = program
    .command('webhook')
    .description('show or set where events are sent')
    .addHelpText(
      'after',
      '\nExamples:\n  $ dealer-esim webhook\n  $ dealer-esim webhook set https://dealer.example.com/esim-events\n  $ dealer-esim webhook test ESIM_USAGE\n  $ dealer-esim webhook set --events ORDER_PAID,ESIM_USAGE --usage-thresholds 80,100',
    )

  const send = async (request: WebhookSetRequest) => {
    const { client, print } = context()
    const setting = await client().setWebhook(request)
    const rows = pairs([
      ['Callback URL', setting.callbackUrl ?? 'none'],
      ['Events', setting.eventTypes.join(', ') || 'none'],
      ['Usage thresholds', setting.usageThresholds.map((percent) => `${percent} %`).join(', ') || 'none'],
      ['Notice of expiry', setting.expiryNoticeHours.map((hours) => `${hours} h`).join(', ') || 'none'],
      ['Enabled', setting.enabled ? 'yes' : 'no'],
      ['Last change', time(setting.lastUpdateTime)],
    ])
    print(rows, setting)
  }

  webhook
    .command('show', { isDefault: true })
    .description('show the setting')
    .action(() => send({}))
  webhook
    .command('set')
    .description('set the URL, the event types or when they are sent; the URL must answer a test event first')
    .argument('[url]', 'the URL that events are posted to')
    .option('--events <types>', `${EVENT_TYPES.join(', ')}; several are separated by commas`, list)
    .option('--usage-thresholds <percents>', 'when ESIM_USAGE is sent, such as 50,80,100; none: never', numbers)
    .option(
      '--expiry-hours <hours>',
      'how long before the expiry ESIM_EXPIRING is sent, such as 24,72; none: never',
      numbers,
    )
    .action((callbackUrl: string | undefined, { events, usageThresholds, expiryHours }: SetOptions) =>
      send({
        ...(callbackUrl === undefined ? {} : { callbackUrl, enabled: true }),
        ...(events === undefined ? {} : { eventTypes: events }),
        ...(usageThresholds === undefined ? {} : { usageThresholds }),
        ...(expiryHours === undefined ? {} : { expiryNoticeHours: expiryHours }),
      }),
    )
  webhook
    .command('enable')
    .description('send events from now on, after a test event; replay events recorded as UNSENT on the console')
    .action(() => send({ enabled: true }))
  webhook
    .command('disable')
    .description('stop sending events; they are recorded as UNSENT')
    .action(() => send({ enabled: false }))
  webhook
    .command('test')
    .description('send one event with sample content to the URL; exits 1 if the receiver does not acknowledge it')
    .addArgument(new Argument('[type]', 'the type of the event').choices(EVENT_TYPES).default('ORDER_PAID'))
    .action(async (notifyType: EventType) => {
      const { client, print } = context()
      const answer = await client().testWebhook({ notifyType })
      const rows = pairs([
        ['Acknowledged', answer.acknowledged ? 'yes' : 'no'],
        ['HTTP status', answer.httpStatus],
        ['Time', `${answer.durationMs} ms`],
        ['Failure', answer.failure],
      ])
      print(rows, answer)
      if (!answer.acknowledged) throw new AlreadyReported(EXIT.REFUSED)
    })
  webhook
    .command('remove')
    .description('remove the URL')
    .action(() => send({ callbackUrl: null }))
}

interface SetOptions {
  events?: EventType[]
  usageThresholds?: number[]
  expiryHours?: number[]
}

/** `80,100`, or `none` for an empty list. The gateway refuses entries that are not numbers. */
function numbers(text: string): number[] {
  return text === 'none' ? [] : list(text).map(Number)
}
