import type { Setup } from '@dealer-esim/gateway/http/console/home/guided-start.ts'
import { Button, CloseButton, Group, Progress, Stack, Text } from '@mantine/core'
import { useLocalStorage } from '@mantine/hooks'
import { IconCircle, IconCircleCheckFilled } from '@tabler/icons-react'
import { Link } from '@tanstack/react-router'
import { lazy, type ReactNode, Suspense, useEffect, useState } from 'react'
import { useApi, useReloadAfter } from '#api/use-api.ts'
import { Card } from '#parts/page.tsx'
import { Hint } from '#parts/values.tsx'
import { isOperatorAdmin, useSession } from '#people/sign-in/session.ts'
import { formatMessage, t } from '#strings/strings.ts'

type StepName = keyof Setup['steps']

// Loaded when a step is opened: its forms are larger than the dashboard.
const SetupDialog = lazy(() => import('./setup-dialog.tsx'))

const STEPS = Object.keys(t.setup.steps) as StepName[]
const REFRESH_MS = 10_000

/** A dealer that sells only in the portal needs no webhook endpoint. */
const stepsFor = ({ dealer }: Setup) => STEPS.filter((step) => step !== 'webhook' || dealer?.sellsThrough !== 'PORTAL')

/**
 * The steps from an empty gateway to the first sale. The list disappears when all are done, or when it is dismissed.
 * @param onKnown called when it is known whether it is shown: until then nothing should be shown below it, because it would
 * move
 */
export function SetupChecklist({ onKnown }: { onKnown(): void }) {
  const me = useSession()
  // A preference of this browser; nothing in it is secret.
  const [isDismissed, setDismissed] = useLocalStorage({
    key: `setup-dismissed:${me.personId}`,
    defaultValue: false,
    getInitialValueInEffect: false,
  })
  const { data, error } = useApi<Setup>(
    '/setup',
    {},
    { enabled: !isDismissed, refreshMs: isDismissed ? undefined : REFRESH_MS },
  )
  useReloadAfter(data && JSON.stringify(data.steps))
  const isKnown = isDismissed || data !== undefined || error !== null
  useEffect(() => {
    if (isKnown) onKnown()
  }, [isKnown, onKnown])
  const [open, setOpen] = useState<StepName>()
  // A dialog stays open even if the step that it completes already counts as done.
  const steps = data ? stepsFor(data) : []
  const left = steps.filter((step) => !data?.steps[step]).length
  const isFinished = data !== undefined && left === 0 && open === undefined
  // Once all steps are done, they are not fetched again.
  useEffect(() => {
    if (isFinished) setDismissed(true)
  }, [isFinished, setDismissed])
  if (isDismissed || !data || isFinished) return null
  const done = steps.filter((step) => data.steps[step])
  return (
    <Card
      title={t.setup.title}
      actions={<CloseButton aria-label={t.setup.dismiss} title={t.setup.dismiss} onClick={() => setDismissed(true)} />}
    >
      <Hint>{t.setup.text}</Hint>
      <Progress value={(done.length / steps.length) * 100} aria-label={t.setup.title} />
      <Stack component="ol" gap={0} m={0} p={0} className="setup">
        {steps
          .filter((step) => !data.steps[step])
          .map((step) => (
            <Step key={step} step={step}>
              <StepAction step={step} setup={data} onOpen={() => setOpen(step)} />
            </Step>
          ))}
      </Stack>
      {done.length > 0 && (
        <details className="technical">
          <summary>{formatMessage(t.setup.progress, { done: done.length, all: steps.length })}</summary>
          <Stack component="ol" gap={0} m={0} p={0} className="setup">
            {done.map((step) => (
              <Step key={step} step={step} isDone />
            ))}
          </Stack>
        </details>
      )}
      <Suspense>{open && <SetupDialog step={open} setup={data} onClose={() => setOpen(undefined)} />}</Suspense>
    </Card>
  )
}

function Step({ step, isDone = false, children }: { step: StepName; isDone?: boolean; children?: ReactNode }) {
  const { title, text } = t.setup.steps[step]
  return (
    <Group component="li" justify="space-between" gap="sm" py="xs" data-setup={step} data-done={isDone}>
      <Group gap="sm" wrap="nowrap" align="flex-start" className="setup-step">
        {isDone ? (
          <IconCircleCheckFilled size={22} className="setup-done" role="img" aria-label={t.setup.done} />
        ) : (
          <IconCircle size={22} role="img" aria-label={t.setup.open} />
        )}
        <div>
          <Text fw={600} {...(isDone && { c: 'dimmed' })}>
            {title}
          </Text>
          {!isDone && <Hint>{text}</Hint>}
        </div>
      </Group>
      {children}
    </Group>
  )
}

function StepAction({ step, setup, onOpen }: { step: StepName; setup: Setup; onOpen(): void }) {
  const me = useSession()
  const { action } = t.setup.steps[step]
  const { dealer, testPackage } = setup
  switch (step) {
    case 'supplier':
      if (isOperatorAdmin(me)) return <StepButton label={action} onClick={onOpen} />
      return <Hint>{t.setup.byAdministrator}</Hint>
    case 'brand':
      if (isOperatorAdmin(me)) return <LinkButton to="/brand" label={action} />
      return <Hint>{t.setup.byAdministrator}</Hint>
    case 'webhook':
      return dealer && <StepButton label={action} onClick={onOpen} />
    case 'testOrder':
      if (!dealer) return null
      // Without the sandbox, as in production, the API explorer places a real order.
      if (testPackage === null) return <LinkButton to={`/explorer?tenantId=${dealer.tenantId}`} label={action} />
      return <StepButton label={action} onClick={onOpen} />
    default:
      return <StepButton label={action} onClick={onOpen} />
  }
}

function StepButton({ label, onClick }: { label: string; onClick(): void }) {
  return (
    <Button size="xs" variant="light" onClick={onClick}>
      {label}
    </Button>
  )
}

function LinkButton({ to, label }: { to: string; label: string }) {
  const [path = '', query = ''] = to.split('?')
  return (
    <Button
      component={Link}
      to={path}
      search={Object.fromEntries(new URLSearchParams(query)) as never}
      size="xs"
      variant="light"
    >
      {label}
    </Button>
  )
}
