import { EVENT_TYPES, type EventType } from '@dealer-esim/contract'
import type { Command } from 'commander'
import { DELIVERY_STATES, type DeliveryState } from '../../webhooks/delivery.ts'
import type { EventFilter } from '../../webhooks/list-events.ts'
import { REPLAYABLE, type ReplayInput } from '../../webhooks/replay/replay.ts'
import { UsageError } from '../failure.ts'
import { namesOf, timeOf, whole } from '../typed.ts'

export interface FilterOptions {
  from?: string
  to?: string
  type?: string
  outcome?: string
}

export interface ReplayOptions extends FilterOptions {
  rate: string
}

/** @param standard taken where no outcome is said; absent: any */
export function filterOptions(command: Command, states: readonly DeliveryState[], standard?: string): Command {
  return command
    .option('--from <time>', 'events recorded from then on, RFC 3339 or a date (UTC)')
    .option('--to <time>', 'events recorded before then')
    .option('--type <types>', EVENT_TYPES.join(', '))
    .option('--outcome <states>', `${states.join(', ')}, separated by commas`, standard)
}

export function eventFilter({ from, to, type, outcome }: FilterOptions): Omit<EventFilter, 'tenantId' | 'orderId'> {
  return {
    from: from === undefined ? undefined : timeOf(from, '--from'),
    to: to === undefined ? undefined : timeOf(to, '--to'),
    notifyTypes: type === undefined ? undefined : namesOf<EventType>(type, EVENT_TYPES, '--type'),
    deliveryStates: outcome === undefined ? undefined : namesOf(outcome, DELIVERY_STATES, '--outcome'),
  }
}

export function replayWish(options: ReplayOptions): ReplayInput {
  const { outcome, rate, ...range } = options
  const { from, to, notifyTypes } = eventFilter(range)
  if (from === undefined) throw new UsageError('Say from when: --from 2026-11-20T08:00:00Z.')
  const outcomes = outcome === undefined ? undefined : namesOf(outcome, REPLAYABLE, '--outcome')
  return { from, to, notifyTypes, outcomes, ratePerS: whole(rate, '--rate') }
}
