import type { EndpointView } from '#webhooks/endpoint/endpoint.ts'
import { WAITING_COUNTED } from '#webhooks/endpoint/endpoint.ts'
import type { AttemptView, EventView } from '#webhooks/list-events.ts'
import type { Replay, StartedReplay } from '#webhooks/replay/replay.ts'
import { fields, table, timeText } from '../kernel/text-table.ts'

export function endpointTable(endpoints: EndpointView[]): string {
  return table(
    endpoints,
    [
      { title: 'TENANT', value: (one) => one.tenantId },
      { title: 'NAME', value: (one) => one.clientName },
      { title: 'CALLBACK URL', value: (one) => one.callbackUrl ?? '' },
      { title: 'STATE', value: stateText },
      { title: 'FAILING SINCE (UTC)', value: (one) => timeText(one.failingSince) },
      {
        title: 'WAITING',
        value: (one) => (one.waiting === WAITING_COUNTED ? `${WAITING_COUNTED}+` : String(one.waiting)),
        right: true,
      },
    ],
    'No tenant has a callback URL.',
  )
}

function stateText({ callbackUrl, enabled, disabledReason, failingSince }: EndpointView): string {
  if (callbackUrl === null) return 'none'
  if (!enabled) return disabledReason === null ? 'disabled' : `disabled (${disabledReason.toLowerCase()})`
  return failingSince === null ? 'healthy' : 'failing'
}

export function eventTable(events: EventView[]): string {
  return table(
    events,
    [
      { title: 'EVENT', value: (event) => event.notifyId },
      { title: 'RECORDED (UTC)', value: (event) => timeText(event.createdAt) },
      { title: 'TYPE', value: (event) => event.notifyType },
      { title: 'ORDER', value: (event) => event.orderNo ?? '' },
      { title: 'STATE', value: (event) => event.deliveryState },
      { title: 'ATTEMPTS', value: (event) => String(event.attempts ?? ''), right: true },
      { title: 'NEXT (UTC)', value: (event) => timeText(event.dueAt) },
    ],
    'No event was found.',
  )
}

export function eventText(event: EventView & { content: unknown; attemptList: AttemptView[] }): string {
  const head = fields([
    ['Event', event.notifyId],
    ['Type', event.notifyType],
    ['Order', event.orderNo ?? ''],
    ['Recorded', timeText(event.createdAt)],
    ['State', event.deliveryState],
    ['Next attempt', timeText(event.dueAt)],
    ['Delivery ended', timeText(event.settledAt)],
    ['Content', JSON.stringify(event.content, null, 2)],
  ])
  const attempts = table(
    event.attemptList,
    [
      { title: 'ATTEMPT', value: (attempt) => attempt.attemptId },
      { title: 'STARTED (UTC)', value: (attempt) => timeText(attempt.startedAt) },
      { title: 'MS', value: (attempt) => String(attempt.durationMs), right: true },
      { title: 'ADDRESS', value: (attempt) => attempt.address ?? '' },
      { title: 'OUTCOME', value: (attempt) => attempt.outcome },
      { title: 'ANSWER', value: (attempt) => firstLine(attempt.answer ?? '') },
    ],
    wasAttempted(event) ? 'Its attempts are no longer in the log.' : 'Delivery was not attempted.',
  )
  return `${head}\n\n${attempts}`
}

/** True if the event was sent, even if the log no longer contains the attempts, which are deleted before the event. */
function wasAttempted({ deliveryState, attempts }: EventView): boolean {
  return deliveryState === 'DELIVERED' || (attempts ?? 0) > 0
}

const LINE_SHOWN = 80

function firstLine(text: string): string {
  const [line = ''] = text.split('\n', 1)
  return line.slice(0, LINE_SHOWN).replaceAll(/\p{Cc}/gu, ' ')
}

export function replayText(replay: Replay & Partial<StartedReplay>): string {
  const unsubscribed = (replay.unsubscribed ?? []).map(({ notifyType, count }) => `${count} ${notifyType}`)
  return fields([
    ['Replay', replay.replayId],
    ['State', replay.replayState],
    ['Events from', timeText(replay.from)],
    ['Events before', timeText(replay.to)],
    ['Types', replay.notifyTypes.join(', ')],
    ['Outcomes', replay.outcomes.join(', ')],
    ['Progress', `${replay.replayed} of ${replay.matched}, ${replay.ratePerS} per second`],
    ...(unsubscribed.length === 0
      ? []
      : [['Left out', `${unsubscribed.join(', ')}: the endpoint is not subscribed to them`] as [string, string]]),
  ])
}

export function replayTable(replays: Replay[]): string {
  return table(
    replays,
    [
      { title: 'REPLAY', value: (replay) => replay.replayId },
      { title: 'STATE', value: (replay) => replay.replayState },
      { title: 'FROM (UTC)', value: (replay) => timeText(replay.from) },
      { title: 'TO (UTC)', value: (replay) => timeText(replay.to) },
      { title: 'OUTCOMES', value: (replay) => replay.outcomes.join(',') },
      { title: 'DONE', value: (replay) => String(replay.replayed), right: true },
      { title: 'OF', value: (replay) => String(replay.matched), right: true },
      { title: 'BY', value: (replay) => replay.actor },
    ],
    'There were no replays.',
  )
}
