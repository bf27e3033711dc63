import { EVENT_TYPES, type EventType } from '@dealer-esim/contract'
import type { ReplayView } from '@dealer-esim/gateway/http/console/webhook-replays.ts'
import { Button, Checkbox, Group, Progress, Stack, Text, TextInput } from '@mantine/core'
import { useState } from 'react'
import { useApi, useChange } from '#api/use-api.ts'
import { ChangeDialog } from '#parts/dialog.tsx'
import { Card } from '#parts/page.tsx'
import { Hint, Status, Timestamp } from '#parts/values.tsx'
import { canEdit, useSession } from '#people/sign-in/session.ts'
import { formatMessage, t } from '#strings/strings.ts'
import { localTime, momentOf } from '#strings/zone.ts'

const REFRESH_MS = 1_000

/** A dealer's event replays, with the progress of running ones and a button to start one. */
export function Replays({ tenantId }: { tenantId: string }) {
  const me = useSession()
  const path = `/tenants/${tenantId}/replays`
  const first = useApi<{ replays: ReplayView[] }>(path)
  const running = first.data?.replays.some((replay) => replay.replayState === 'RUNNING') ?? false
  const { data } = useApi<{ replays: ReplayView[] }>(path, {}, { refreshMs: running ? REFRESH_MS : undefined })
  const cancel = useChange({ success: t.webhooks.replayStopped })
  const [dialogOpen, setDialogOpen] = useState(false)
  if (!data || (data.replays.length === 0 && !canEdit(me))) return null
  return (
    <Card
      title={t.webhooks.replays}
      actions={
        canEdit(me) && (
          <Button size="xs" variant="default" onClick={() => setDialogOpen(true)}>
            {t.webhooks.replay}
          </Button>
        )
      }
    >
      {data.replays.map((replay) => (
        <Stack key={replay.replayId} gap={4} data-replay={replay.replayState}>
          <Group gap="xs">
            <Status status={replay.replayState} />
            <Text size="sm">
              <Timestamp time={replay.from} /> – <Timestamp time={replay.to} />
            </Text>
            <Hint>
              {formatMessage(t.webhooks.progress, { done: replay.replayed, all: replay.matched })} · {replay.actor}
            </Hint>
            {canEdit(me) && replay.replayState === 'RUNNING' && (
              <Button
                size="compact-xs"
                variant="default"
                onClick={() => cancel.mutate({ method: 'POST', path: `${path}/${replay.replayId}/cancel` })}
              >
                {t.webhooks.stopReplay}
              </Button>
            )}
          </Group>
          {replay.replayState === 'RUNNING' && (
            <Progress
              aria-label={t.webhooks.replays}
              value={replay.matched === 0 ? 100 : (replay.replayed / replay.matched) * 100}
              animated
            />
          )}
        </Stack>
      ))}
      {dialogOpen && <StartReplay path={path} onClose={() => setDialogOpen(false)} />}
    </Card>
  )
}

const OUTCOMES = ['DEAD', 'UNSENT', 'DELIVERED'] as const
const DAY_MS = 86_400_000

function StartReplay({ path, onClose }: { path: string; onClose(): void }) {
  const [outcomes, setOutcomes] = useState<string[]>(['DEAD', 'UNSENT'])
  const [types, setTypes] = useState<string[]>([...EVENT_TYPES])
  return (
    <ChangeDialog<StartedReplay>
      title={t.webhooks.replay}
      onClose={onClose}
      submit={t.webhooks.replayStart}
      success={startedText}
      request={({ from = '', to }) => {
        const body = {
          from: momentOf(from).toISOString(),
          ...(to && { to: momentOf(to).toISOString() }),
          outcomes,
          notifyTypes: types,
        }
        return { method: 'POST', path, body }
      }}
    >
      <Text size="sm">{t.webhooks.replayText}</Text>
      <TextInput
        name="from"
        type="datetime-local"
        label={t.webhooks.replayFrom}
        defaultValue={localTime(Date.now() - DAY_MS)}
        required
      />
      <TextInput name="to" type="datetime-local" label={t.webhooks.replayTo} />
      <Checkbox.Group label={t.webhooks.replayStates} value={outcomes} onChange={setOutcomes}>
        <Group mt={4}>
          {OUTCOMES.map((outcome) => (
            <Checkbox key={outcome} value={outcome} label={t.webhooks.states[outcome]} />
          ))}
        </Group>
      </Checkbox.Group>
      <Checkbox.Group label={t.webhooks.replayTypes} value={types} onChange={setTypes}>
        <Group mt={4}>
          {EVENT_TYPES.map((type) => (
            <Checkbox key={type} value={type} label={t.webhooks.types[type]} />
          ))}
        </Group>
      </Checkbox.Group>
    </ChangeDialog>
  )
}

interface StartedReplay {
  unsubscribed: { notifyType: EventType; count: number }[]
}

function startedText({ unsubscribed }: StartedReplay): string {
  if (unsubscribed.length === 0) return t.webhooks.replayStarted
  const events = unsubscribed.map(({ notifyType, count }) => `${t.webhooks.types[notifyType]} (${count})`).join(', ')
  return `${t.webhooks.replayStarted} ${formatMessage(t.webhooks.replayUnsubscribed, { events })}`
}
