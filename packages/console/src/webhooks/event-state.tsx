import type { EventRow } from '@dealer-esim/gateway/http/console/webhooks.ts'
import { Group } from '@mantine/core'
import { formatDuration, formatPercent, formatRelativeTime } from '#parts/format.ts'
import { Status } from '#parts/values.tsx'
import { formatMessage, t } from '#strings/strings.ts'

/** The delivery state of an event, and the time of the next attempt if the last one failed. */
export function EventState({ event: { deliveryState, attempts, dueAt } }: { event: EventRow }) {
  const isWaiting =
    deliveryState === 'PENDING' && (attempts ?? 0) > 0 && dueAt !== null && Date.parse(dueAt) > Date.now()
  if (!isWaiting) return <Status status={deliveryState} labels={t.webhooks.states} />
  const text = formatMessage(t.webhooks.waiting, { time: formatRelativeTime(dueAt) })
  return <Status status="RETRYING" labels={{ RETRYING: text }} />
}

/** The statuses that an event reports, or its threshold. */
export function EventStatuses({ event: { statuses, level } }: { event: EventRow }) {
  if (statuses.length === 0 && level === null) return <>–</>
  return (
    <Group gap={4} component="span" display="inline-flex">
      {statuses.map((status) => (
        <Status key={status} status={status} />
      ))}
      {level && (level.unit === 'PERCENT' ? formatPercent(level.value / 100) : formatDuration(level.value * HOUR_MS))}
    </Group>
  )
}

const HOUR_MS = 3_600_000
