import type { EventType, WebhookSetRequest } from '@dealer-esim/contract'
import type { Command } from 'commander'
import { list } from '../arguments.ts'
import type { Context } from '../context.ts'
import { pairs, time } from '../output.ts'

/** `webhook`: where events go. */
export function webhookCommands(program: Command, context: () => Context): void {
  const webhook = program
    .command('webhook')
    .description('show or choose where events go')
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
    .description('set the URL, or which events are sent; the URL must answer a test event first')
    .argument('[url]', 'where events are posted')
    .option('--events <types>', 'ORDER_PAID, DELIVERY_UPDATED or both, separated by a comma', list)
    .action((callbackUrl: string | undefined, { events }: { events?: EventType[] }) =>
      send({
        ...(callbackUrl === undefined ? {} : { callbackUrl, enabled: true }),
        ...(events === undefined ? {} : { eventTypes: events }),
      }),
    )
  webhook
    .command('enable')
    .description(
      'send events from now on, after a test event; what was UNSENT meanwhile has to be replayed on the console',
    )
    .action(() => send({ enabled: true }))
  webhook
    .command('disable')
    .description('send no events; they are recorded as UNSENT')
    .action(() => send({ enabled: false }))
  webhook
    .command('remove')
    .description('forget the URL')
    .action(() => send({ callbackUrl: null }))
}
