import { EVENT_TYPES, type EventType } from '@dealer-esim/contract'
import type { Command } from 'commander'
import { DELIVERY_STATES, type DeliveryState } from '#webhooks/delivery-state.ts'
import type { EventFilter } from '#webhooks/list-events.ts'
import { REPLAYABLE, type ReplayInput } from '#webhooks/replay/replay.ts'
import { UsageError } from '../kernel/cli-failure.ts'
import { parseNames, parseTime, parseWholeNumber } from '../kernel/parse-options.ts'

export interface FilterOptions {
  from?: string
  to?: string
  type?: string
  outcome?: string
}

export interface ReplayOptions extends FilterOptions {
  rate: string
}

/** @param defaultOutcome absent: any outcome */
export function filterOptions(command: Command, states: readonly DeliveryState[], defaultOutcome?: string): Command {
  return command
    .option('--from <time>', 'only events recorded at or after this time, RFC 3339 or a date (UTC)')
    .option('--to <time>', 'only events recorded before this time')
    .option('--type <types>', EVENT_TYPES.join(', '))
    .option('--outcome <states>', `${states.join(', ')}, separated by commas`, defaultOutcome)
}

export function eventFilter({ from, to, type, outcome }: FilterOptions): Omit<EventFilter, 'tenantId' | 'orderId'> {
  return {
    from: from === undefined ? undefined : parseTime(from, '--from'),
    to: to === undefined ? undefined : parseTime(to, '--to'),
    notifyTypes: type === undefined ? undefined : parseNames<EventType>(type, EVENT_TYPES, '--type'),
    deliveryStates: outcome === undefined ? undefined : parseNames(outcome, DELIVERY_STATES, '--outcome'),
  }
}

export function replayInput(options: ReplayOptions): ReplayInput {
  const { outcome, rate, ...range } = options
  const { from, to, notifyTypes } = eventFilter(range)
  if (from === undefined) throw new UsageError('Add --from, such as --from 2026-11-20T08:00:00Z.')
  const outcomes = outcome === undefined ? undefined : parseNames(outcome, REPLAYABLE, '--outcome')
  return { from, to, notifyTypes, outcomes, ratePerS: parseWholeNumber(rate, '--rate') }
}
