import type { EventType, WebhookSetRequest } from '@dealer-esim/contract'
import type { Command } from 'commander'
import { list } from '../arguments.ts'
import type { Context } from '../context.ts'
import { pairs, time } from '../output.ts'

/** `webhook`: shows and changes the webhook setting. */
export function webhookCommands(program: Command, context: () => Context): void {
  const webhook = program
    .command('webhook')
    .description('show or set where events are sent')
    .addHelpText(
      'after',
      '\nExamples:\n  $ dealer-esim webhook\n  $ dealer-esim webhook set https://dealer.example.com/esim-events\n  $ dealer-esim webhook set --events ORDER_PAID',
    )

  const send = async (request: WebhookSetRequest) => {
    const { client, print } = context()
    const setting = await client().setWebhook(request)
    const rows = pairs([
      ['Callback URL', setting.callbackUrl ?? 'none'],
      ['Events', setting.eventTypes.join(', ') || 'none'],
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
    .description('set the URL or the event types; the URL must answer a test event first')
    .argument('[url]', 'the URL that events are posted to')
    .option('--events <types>', 'ORDER_PAID, DELIVERY_UPDATED or both, separated by a comma', list)
    .action((callbackUrl: string | undefined, { events }: { events?: EventType[] }) =>
      send({
        ...(callbackUrl === undefined ? {} : { callbackUrl, enabled: true }),
        ...(events === undefined ? {} : { eventTypes: events }),
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
    .command('remove')
    .description('remove the URL')
    .action(() => send({ callbackUrl: null }))
}
