import type { TrialDataView } from '@dealer-esim/gateway/http/console/operations/trial-data.ts'
import { Alert, Button, Group, Progress, Text } from '@mantine/core'
import { useEffect, useState } from 'react'
import { useApi, useChange } from '#api/use-api.ts'
import { Dialog } from '#parts/dialog.tsx'
import { formatMessage, t } from '#strings/strings.ts'

const FILLING_MS = 500

/**
 * On a local gateway: fills the console with trial data, and removes it.
 * @param onKnown called when it is known whether it is shown
 */
export function TrialData({ isOffered, onKnown }: { isOffered: boolean; onKnown(): void }) {
  const [isFilling, setIsFilling] = useState(false)
  const { data, error } = useApi<TrialDataView>('/trial-data', {}, { refreshMs: isFilling ? FILLING_MS : undefined })
  const isKnown = data !== undefined || error !== null
  useEffect(() => {
    if (isKnown) onKnown()
  }, [isKnown, onKnown])
  const [dialogOpen, setDialogOpen] = useState(false)
  const add = useChange({ quiet: true })
  const remove = useChange({ quiet: true, success: t.trialData.removed })
  if (data && isFilling !== (data.state === 'FILLING')) setIsFilling(data.state === 'FILLING')
  if (!data || (data.state === 'NONE' && !isOffered)) return null
  return (
    <Alert color="blue" title={t.trialData.title} data-trial={data.state}>
      <Group justify="space-between" gap="sm">
        <Text size="sm" maw={720}>
          {add.error?.message ?? formatMessage(t.trialData.texts[data.state], { dealers: data.dealers })}
        </Text>
        <Group gap="xs">
          {data.state !== 'READY' && (
            <Button
              size="xs"
              variant="default"
              loading={add.isPending || isFilling}
              onClick={() => add.mutate({ method: 'POST', path: '/trial-data' })}
            >
              {t.trialData.add}
            </Button>
          )}
          {data.state !== 'NONE' && (
            <Button size="xs" variant="default" onClick={() => setDialogOpen(true)}>
              {t.trialData.remove}
            </Button>
          )}
        </Group>
      </Group>
      {data.state === 'FILLING' && (
        <Progress mt="sm" animated value={(data.done / data.all) * 100} aria-label={t.trialData.title} />
      )}
      <Dialog
        title={t.trialData.remove}
        opened={dialogOpen}
        onClose={() => setDialogOpen(false)}
        submit={t.trialData.remove}
        danger
        busy={remove.isPending}
        error={remove.error}
        onSubmit={() =>
          remove.mutate({ method: 'DELETE', path: '/trial-data' }, { onSuccess: () => setDialogOpen(false) })
        }
      >
        <Text size="sm">{formatMessage(t.trialData.removeText, { dealers: data.dealers })}</Text>
      </Dialog>
    </Alert>
  )
}
