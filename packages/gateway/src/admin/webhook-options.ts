import { EVENT_TYPES, type EventType } from '@dealer-esim/contract'
import type { Command } from 'commander'
import type { EventFilter } from '../webhooks/read.ts'
import type { ReplayWish } from '../webhooks/replay.ts'
import { UsageError } from './failure.ts'
import { namesOf, timeOf, whole } from './typed.ts'

export interface FilterOptions {
  from?: string
  to?: string
  type?: string
  outcome?: string
}

export interface ReplayOptions extends FilterOptions {
  rate: string
}

export function filterOptions(command: Command): Command {
  return command
    .option('--from <time>', 'events recorded from then on, RFC 3339 or a date (UTC)')
    .option('--to <time>', 'events recorded before then')
    .option('--type <types>', 'ORDER_PAID, DELIVERY_UPDATED')
    .option('--outcome <states>', 'PENDING, DELIVERED, DEAD, UNSENT, separated by commas')
}

export function eventFilter({ from, to, type, outcome }: FilterOptions): Omit<EventFilter, 'tenantId' | 'orderId'> {
  return {
    from: from === undefined ? undefined : timeOf(from, '--from'),
    to: to === undefined ? undefined : timeOf(to, '--to'),
    notifyTypes: type === undefined ? undefined : namesOf<EventType>(type, EVENT_TYPES, '--type'),
    deliveryStates: outcome === undefined ? undefined : namesOf(outcome, STATES, '--outcome'),
  }
}

export function replayWish(options: ReplayOptions): ReplayWish {
  const { from, to, notifyTypes, deliveryStates } = eventFilter(options)
  if (from === undefined) throw new UsageError('Say from when: --from 2026-11-20T08:00:00Z.')
  const outcomes = deliveryStates?.map((state) => {
    if (state === 'PENDING') throw new UsageError('What is PENDING is sent anyway: replay DELIVERED, DEAD or UNSENT.')
    return state
  })
  return { from, to, notifyTypes, outcomes, rate_per_s: whole(options.rate, '--rate') }
}

const STATES = ['PENDING', 'DELIVERED', 'DEAD', 'UNSENT'] as const
