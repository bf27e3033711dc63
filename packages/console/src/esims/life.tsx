import type { LifeStepView } from '@dealer-esim/gateway/http/console/esims/esim-life.ts'
import { Button, Group, Timeline } from '@mantine/core'
import { useApi, useChange } from '#api/use-api.ts'
import { formatPercent } from '#parts/format.ts'
import { Card } from '#parts/page.tsx'
import { Hint, Timestamp, TimeZone } from '#parts/values.tsx'
import { formatMessage, t } from '#strings/strings.ts'

const REFRESH_MS = 10_000

/** An eSIM's life as a timeline: past events, with planned ones below. */
export function EsimLife({ path }: { path: string }) {
  const { data } = useApi<{ steps: LifeStepView[] }>(`${path}/life`, {}, { refreshMs: REFRESH_MS })
  if (!data) return null
  const past = data.steps.filter(({ at }) => Date.parse(at) <= Date.now())
  return (
    <Card title={t.esims.life} actions={<TimeZone />}>
      <Timeline active={past.length - 1} bulletSize={14} lineWidth={2} color="teal">
        {data.steps.map((step) => (
          <Timeline.Item
            key={`${step.kind} ${step.status} ${step.percent} ${step.at}`}
            title={stepText(step)}
            data-step={step.status ?? step.kind}
          >
            <Hint size="xs">
              <Timestamp time={step.at} />
            </Hint>
          </Timeline.Item>
        ))}
      </Timeline>
    </Card>
  )
}

function stepText({ kind, status, percent, at }: LifeStepView): string {
  if (kind === 'STATUS') return t.statuses[status ?? 'RELEASED']
  if (kind === 'USAGE') return formatMessage(t.esims.usagePassed, { percent: formatPercent((percent ?? 0) / 100) })
  if (kind === 'EXPIRES' && Date.parse(at) <= Date.now()) return t.statuses.EXPIRED
  return t.esims.lifeSteps[kind]
}

interface UnreadableEntry {
  entry: string
  reason: string
}

function unreadableText({ entry, reason }: UnreadableEntry): string {
  return formatMessage(t.esims.pollUnreadable, { entry, reason })
}

/** Queries the supplier for the state and usage now. */
export function PollButton({ path }: { path: string }) {
  const poll = useChange<{ outcome: keyof typeof t.esims.pollOutcomes; unreadable: UnreadableEntry[] }>({
    success: ({ outcome, unreadable }) => [t.esims.pollOutcomes[outcome], ...unreadable.map(unreadableText)].join(' '),
  })
  return (
    <Group>
      <Button
        size="xs"
        variant="default"
        loading={poll.isPending}
        onClick={() => poll.mutate({ method: 'POST', path: `${path}/poll` })}
      >
        {t.esims.poll}
      </Button>
    </Group>
  )
}
