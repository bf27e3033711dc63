import type { SupplierRow, SupplierTested } from '@dealer-esim/gateway/http/console/suppliers/suppliers.ts'
import { Badge, Button, Group, Stack, Text } from '@mantine/core'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { useChange } from '#api/use-api.ts'
import { ChangeDialog, Dialog } from '#parts/dialog.tsx'
import { formatTime } from '#parts/format.ts'
import { notifySuccess } from '#parts/notify.ts'
import { Hint } from '#parts/values.tsx'
import { isOperatorAdmin, useSession } from '#people/sign-in/session.ts'
import { interpolate, plural, t } from '#strings/strings.ts'
import { SETTINGS, supplierPage } from './supplier-paths.ts'

const COLORS = {
  working: 'teal',
  'not-tested': 'gray',
  failing: 'red',
  open: 'red',
  'half-open': 'yellow',
  paused: 'orange',
  broken: 'red',
} as const

/** What was seen of a supplier last, and by what. */
export function SupplierState({ row }: { row: SupplierRow }) {
  const state = stateOf(row)
  const time = row.failingSince === null ? '' : formatTime(row.failingSince)
  return (
    <Stack gap={4} align="flex-start" className="list-lines">
      <Badge variant="light" color={COLORS[state]} tt="none" radius="sm" data-state={state}>
        {interpolate(t.suppliers.states[state], { time })}
      </Badge>
      {row.failure !== null && (
        <Text size="xs" className="break" data-reason>
          {row.failure}
        </Text>
      )}
      {row.failure === null && row.seenAt !== null && row.seenBy !== null && (
        <Hint size="xs">{interpolate(t.suppliers.seenBy[row.seenBy], { time: formatTime(row.seenAt) })}</Hint>
      )}
    </Stack>
  )
}

function stateOf({ paused, breaker, state }: SupplierRow): keyof typeof COLORS {
  if (paused) return 'paused'
  if (breaker === null) return 'broken'
  if (state === 'FAILING') return 'failing'
  // The circuit breaker counts calls of orders on this node.
  if (breaker !== 'closed') return breaker
  return state === 'WORKING' ? 'working' : 'not-tested'
}

export function SupplierActions({ row }: { row: SupplierRow }) {
  const test = useChange<SupplierTested>()
  const resume = useChange({ success: t.suppliers.resumed })
  const [pausing, setPausing] = useState(false)
  const [failure, setFailure] = useState<string>()
  const report = ({ works, words }: SupplierTested) => {
    if (works) notifySuccess(interpolate(t.suppliers.isWorking, { supplier: row.supplier }))
    else setFailure(words ?? '')
  }
  return (
    <Group gap={4} justify="flex-end">
      <Button
        size="compact-xs"
        variant="default"
        aria-label={`${t.suppliers.test}: ${row.supplier}`}
        loading={test.isPending}
        onClick={() =>
          test.mutate({ method: 'POST', path: `${supplierPage(row.supplier)}/test` }, { onSuccess: report })
        }
      >
        {t.suppliers.test}
      </Button>
      {row.paused ? (
        <Button
          size="compact-xs"
          variant="default"
          aria-label={`${t.suppliers.resume}: ${row.supplier}`}
          loading={resume.isPending}
          onClick={() => resume.mutate({ method: 'POST', path: `${supplierPage(row.supplier)}/resume` })}
        >
          {t.suppliers.resume}
        </Button>
      ) : (
        <Button
          size="compact-xs"
          variant="default"
          aria-label={`${t.suppliers.pause}: ${row.supplier}`}
          onClick={() => setPausing(true)}
        >
          {t.suppliers.pause}
        </Button>
      )}
      {pausing && <Pause row={row} onClose={() => setPausing(false)} />}
      {failure !== undefined && <TestFailed row={row} failure={failure} onClose={() => setFailure(undefined)} />}
    </Group>
  )
}

/** Why a test failed. It leads administrators to the settings, where most faults are corrected. */
function TestFailed({ row, failure, onClose }: { row: SupplierRow; failure: string; onClose(): void }) {
  const me = useSession()
  const navigate = useNavigate()
  const mayEdit = isOperatorAdmin(me)
  return (
    <Dialog
      title={interpolate(t.suppliers.isNotWorking, { supplier: row.supplier })}
      opened
      onClose={onClose}
      closing={t.common.close}
      submit={mayEdit ? t.suppliers.editSettings : t.common.close}
      hasCancel={mayEdit}
      onSubmit={() => {
        onClose()
        if (mayEdit) void navigate({ to: supplierPage(row.supplier), hash: SETTINGS })
      }}
    >
      <Text size="sm" className="break" role="alert">
        {failure}
      </Text>
    </Dialog>
  )
}

function Pause({ row, onClose }: { row: SupplierRow; onClose(): void }) {
  return (
    <ChangeDialog
      title={interpolate(t.suppliers.pauseTitle, { supplier: row.supplier })}
      onClose={onClose}
      submit={t.suppliers.pause}
      danger
      success={t.suppliers.paused}
      request={() => ({ method: 'POST', path: `${supplierPage(row.supplier)}/pause` })}
    >
      <Text size="sm">{t.suppliers.pauseText}</Text>
      <Text size="sm">{plural(t.suppliers.pauseWaiting, row.waiting)}</Text>
    </ChangeDialog>
  )
}
