import type { GoLiveChecks } from '@dealer-esim/gateway/http/console/home/guided-start.ts'
import { Badge, Group, Stack, Text } from '@mantine/core'
import { useChange } from '#api/use-api.ts'
import { Dialog } from '#parts/dialog.tsx'
import { t } from '#strings/strings.ts'

const COLORS = { OK: 'teal', WARNING: 'orange', FAULT: 'red' } as const
/** The worst first. */
const ORDER = ['FAULT', 'WARNING', 'OK'] as const

/** Runs the doctor command's checks on the running gateway, and shows what they found. */
export function GoLiveDialog({ onClose }: { onClose(): void }) {
  const run = useChange<GoLiveChecks>({ quiet: true })
  const findings = run.data?.findings
  return (
    <Dialog
      title={t.setup.steps.goLive.title}
      opened
      onClose={onClose}
      submit={findings ? t.setup.runAgain : t.setup.runChecks}
      closing={findings && t.common.close}
      busy={run.isPending}
      error={run.error}
      onSubmit={() => run.mutate({ method: 'POST', path: '/setup/checks' })}
    >
      <Text size="sm">{t.setup.checksText}</Text>
      <Stack gap="xs">
        {ORDER.flatMap((state) =>
          (findings ?? [])
            .filter((finding) => finding.state === state)
            .map((finding) => (
              <Group key={finding.check + finding.message} gap="xs" wrap="nowrap" align="flex-start">
                <Badge variant="light" color={COLORS[state]} tt="none" radius="sm" miw={72} data-finding={state}>
                  {t.setup.findings[state]}
                </Badge>
                <Text size="sm" className="break">
                  {finding.message}
                </Text>
              </Group>
            )),
        )}
      </Stack>
    </Dialog>
  )
}
