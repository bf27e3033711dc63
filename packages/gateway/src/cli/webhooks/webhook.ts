import type { WebhookSetRequest } from '@dealer-esim/contract'
import type { Command } from 'commander'
import { getTenantId } from '#tenants/tenant-views.ts'
import { DELIVERY_STATES } from '#webhooks/delivery-state.ts'
import { listEndpoints } from '#webhooks/endpoint/endpoint.ts'
import { getEvent, listEvents } from '#webhooks/list-events.ts'
import {
  cancelReplay,
  listReplays,
  REPLAY_RATE_DEFAULT_PER_S,
  REPLAYABLE,
  REPLAYED_BY_DEFAULT,
  startReplay,
} from '#webhooks/replay/replay.ts'
import { resendEvent } from '#webhooks/replay/resend-event.ts'
import { SENDABLE_DAYS } from '#webhooks/webhook-limits.ts'
import { UsageError } from '../kernel/cli-failure.ts'
import { setWebhookHere } from '../kernel/cli-outbound.ts'
import type { AdminContext } from '../kernel/context.ts'
import { parseWholeNumber } from '../kernel/parse-options.ts'
import { eventFilter, type FilterOptions, filterOptions, type ReplayOptions, replayInput } from './webhook-options.ts'
import { endpointTable, eventTable, eventText, replayTable, replayText } from './webhook-text.ts'

export function webhookCommands(webhook: Command, context: AdminContext): void {
  list(webhook, context)
  show(webhook, context)
  resend(webhook, context)
  replay(webhook, context)
  replays(webhook, context)
  enable(webhook, context)
}

function list(webhook: Command, context: AdminContext): void {
  const command = webhook
    .command('list [tenant-id]')
    .description("List the endpoints, longest failing first; with a tenant, list the tenant's events, newest first.")
    .option('--unwell', 'without a tenant: only endpoints that fail or were disabled by the gateway')
    .option('--limit <n>', 'how many at most', '50')
    .option('--before <notify-id>', 'with a tenant: only events before this one')
  filterOptions(command, DELIVERY_STATES)
    .addHelpText('after', '\nExample:\n  npm run -s admin -- webhook list ID --outcome DEAD,UNSENT --from 2026-11-20')
    .action(async (tenantId: string | undefined, options: FilterOptions & ListOptions) => {
      const limit = parseWholeNumber(options.limit, '--limit')
      checkListOptions(tenantId, options)
      const filter = eventFilter(options)
      await context.withDeps(async ({ db, cipher }) => {
        if (tenantId === undefined) {
          const endpoints = await listEndpoints({ db, cipher }, { unwell: options.unwell }, limit)
          return context.print(endpointTable(endpoints), endpoints)
        }
        const ofTenant = { ...filter, tenantId: await getTenantId(db, tenantId) }
        const events = await listEvents(db, ofTenant, { limit, before: options.before })
        context.print(eventTable(events), events)
      })
    })
}

interface ListOptions {
  unwell?: boolean
  limit: string
  before?: string
}

/** @throws UsageError for an option that the list would ignore */
function checkListOptions(tenantId: string | undefined, options: FilterOptions & ListOptions): void {
  const { from, to, type, outcome, before, unwell } = options
  if (tenantId === undefined && [from, to, type, outcome, before].some((option) => option !== undefined))
    throw new UsageError('--from, --to, --type, --outcome and --before select events: specify a tenant with them.')
  if (tenantId !== undefined && unwell)
    throw new UsageError('--unwell selects endpoints: leave out either the tenant or --unwell.')
}

function show(webhook: Command, context: AdminContext): void {
  webhook
    .command('show <tenant-id> <notify-id>')
    .description('Show an event with its content and every attempt to deliver it.')
    .action((tenantId: string, notifyId: string) =>
      context.withDeps(async ({ db }) => {
        const event = await getEvent(db, await getTenantId(db, tenantId), notifyId)
        context.print(eventText(event), event)
      }),
    )
}

function resend(webhook: Command, context: AdminContext): void {
  webhook
    .command('resend <tenant-id> <notify-id>')
    .description(
      `Send one event again now, with the same notifyId, even if it was delivered, until ${SENDABLE_DAYS} days after it was recorded.`,
    )
    .action((tenantId: string, notifyId: string) =>
      context.withDeps(async (deps) => {
        await resendEvent(deps, await getTenantId(deps.db, tenantId), notifyId, context.by)
        context.print('A worker sends it as soon as possible.', { notifyId, deliveryState: 'PENDING' })
      }),
    )
}

function replay(webhook: Command, context: AdminContext): void {
  const command = webhook
    .command('replay <tenant-id>')
    .description(
      'Send a range of events again, oldest first, with the same notifyIds. The job survives restarts. Events older than ' +
        `${SENDABLE_DAYS} days are left out.`,
    )
    .option('--rate <n>', 'events per second', String(REPLAY_RATE_DEFAULT_PER_S))
  filterOptions(command, REPLAYABLE, REPLAYED_BY_DEFAULT.join(','))
    .addHelpText(
      'after',
      '\nExample:\n  npm run -s admin -- webhook replay ID --from 2026-11-20T08:00:00Z --outcome UNSENT',
    )
    .action(async (tenantId: string, options: ReplayOptions) => {
      const input = replayInput(options)
      await context.withDeps(async (deps) => {
        const started = await startReplay(deps, await getTenantId(deps.db, tenantId), input, context.by)
        context.print(replayText(started), started)
      })
    })
}

function replays(webhook: Command, context: AdminContext): void {
  webhook
    .command('replays <tenant-id>')
    .description("List a tenant's replays with their progress, newest first, or cancel one.")
    .option('--cancel <replay-id>', 'cancel this replay; events that are already due are still sent')
    .option('--limit <n>', 'how many at most', '20')
    .action(async (typedId: string, options: { cancel?: string; limit: string }) => {
      const limit = parseWholeNumber(options.limit, '--limit')
      await context.withDeps(async (deps) => {
        const tenantId = await getTenantId(deps.db, typedId)
        if (options.cancel !== undefined) {
          const cancelled = await cancelReplay(deps, tenantId, options.cancel, context.by)
          return context.print(replayText(cancelled), cancelled)
        }
        const found = await listReplays(deps.db, tenantId, limit)
        context.print(replayTable(found), found)
      })
    })
}

function enable(webhook: Command, context: AdminContext): void {
  const set = (tenantId: string, request: WebhookSetRequest) =>
    context.withDeps(async (deps) => {
      const setting = await setWebhookHere(deps, await getTenantId(deps.db, tenantId), request, context.by)
      context.print(setting.enabled ? 'Enabled: it passed its health check.' : 'Disabled.', setting)
    })
  webhook
    .command('enable <tenant-id>')
    .description('Enable an endpoint again. It must pass a health check.')
    .action((tenantId: string) => set(tenantId, { enabled: true }))
  webhook
    .command('disable <tenant-id>')
    .description('Disable an endpoint. Waiting events become UNSENT; events are still recorded and can be replayed.')
    .action((tenantId: string) => set(tenantId, { enabled: false }))
}
