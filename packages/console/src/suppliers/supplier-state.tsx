import type { SupplierRow, SupplierTested } from '@dealer-esim/gateway/http/console/suppliers/suppliers.ts'
import { Button, Group, Text } from '@mantine/core'
import { useNavigate } from '@tanstack/react-router'
import { type ReactNode, useState } from 'react'
import { useChange } from '#api/use-api.ts'
import { useSwitch } from '#api/use-switch.tsx'
import { type MoreAction, StateSentence } from '#design/record.tsx'
import { Dialog } from '#parts/dialog.tsx'
import { formatTime } from '#parts/format.ts'
import { notifySuccess } from '#parts/notify.ts'
import { StatusMark, type StatusTone } from '#parts/values.tsx'
import { canOperate, isOperatorAdmin, useSession } from '#people/sign-in/session.ts'
import { t } from '#strings/page-texts.ts'
import { formatMessage } from '#strings/strings.ts'
import { SETTINGS, supplierPage } from './supplier-paths.ts'

const TONES = {
  working: 'ok',
  'not-tested': 'off',
  failing: 'bad',
  open: 'bad',
  'half-open': 'warn',
  paused: 'warn',
  broken: 'bad',
} as const satisfies Record<string, StatusTone>

/** The state of a supplier in a list. Its page shows more. */
export function SupplierState({ row }: { row: SupplierRow }) {
  const state = stateOf(row)
  const time = row.failingSince === null ? '' : formatTime(row.failingSince)
  return (
    <span data-state={state} title={row.failure ?? undefined}>
      <StatusMark tone={TONES[state]}>{formatMessage(t.suppliers.states[state], { time })}</StatusMark>
    </span>
  )
}

/** A supplier's state as a sentence, with the button that tests it. */
export function SupplierSentence({ row }: { row: SupplierRow }) {
  const me = useSession()
  const state = stateOf(row)
  const time = row.failingSince === null ? '' : formatTime(row.failingSince)
  const seen =
    row.seenAt !== null && row.seenBy !== null
      ? formatMessage(t.suppliers.seenBy[row.seenBy], { time: formatTime(row.seenAt) })
      : undefined
  return (
    <StateSentence
      tone={TONES[state]}
      title={
        <span data-state={state}>
          {formatMessage(t.suppliers.sentences[state], { supplier: row.supplier, time, count: row.waiting })}
        </span>
      }
      text={row.failure === null ? seen : <span data-reason>{row.failure}</span>}
      actions={canOperate(me) && <TestButton row={row} isMain />}
    />
  )
}

function stateOf({ paused, breaker, state }: SupplierRow): keyof typeof TONES {
  if (paused) return 'paused'
  if (breaker === null) return 'broken'
  if (state === 'FAILING') return 'failing'
  // The circuit breaker counts calls for orders on this node.
  if (breaker !== 'closed') return breaker
  return state === 'WORKING' ? 'working' : 'not-tested'
}

/** Tests a supplier, which buys nothing, and says what went wrong. */
function TestButton({ row, isMain }: { row: SupplierRow; isMain?: boolean }) {
  const test = useChange<SupplierTested>()
  const [failure, setFailure] = useState<string>()
  const report = ({ works, words }: SupplierTested) => {
    if (works) notifySuccess(formatMessage(t.suppliers.isWorking, { supplier: row.supplier }))
    else setFailure(words ?? '')
  }
  return (
    <>
      <Button
        {...(!isMain && { size: 'compact-xs' })}
        variant={isMain && stateOf(row) !== 'working' ? 'filled' : 'default'}
        aria-label={`${t.suppliers.test}: ${row.supplier}`}
        loading={test.isPending}
        onClick={() =>
          test.mutate({ method: 'POST', path: `${supplierPage(row.supplier)}/test` }, { onSuccess: report })
        }
      >
        {t.suppliers.test}
      </Button>
      {failure !== undefined && <TestFailed row={row} failure={failure} onClose={() => setFailure(undefined)} />}
    </>
  )
}

/** Stops buying from a supplier, or starts again. */
export function usePausing(row: SupplierRow | undefined): { action: MoreAction | undefined; dialog: ReactNode } {
  const [pausing, setPausing] = useState(false)
  const setPaused = useSwitch<{ suppliers: SupplierRow[] }>({
    shownIn: '/suppliers',
    show: ({ suppliers }, paused) => ({
      suppliers: suppliers.map((one) => (one.supplier === row?.supplier ? { ...one, paused } : one)),
    }),
    change: (paused) => ({
      method: 'POST',
      path: `${supplierPage(row?.supplier ?? '')}/${paused ? 'pause' : 'resume'}`,
    }),
    success: (paused) => (paused ? t.suppliers.paused : t.suppliers.resumed),
  })
  if (!row) return { action: undefined, dialog: null }
  return {
    action: row.paused
      ? { label: t.suppliers.resume, onClick: () => setPaused(false) }
      : { label: t.suppliers.pause, isDangerous: true, onClick: () => setPausing(true) },
    dialog: pausing && <Pause row={row} onPause={() => setPaused(true)} onClose={() => setPausing(false)} />,
  }
}

/** The actions of a row. */
export function SupplierActions({ row }: { row: SupplierRow }) {
  const { action, dialog } = usePausing(row)
  return (
    <Group gap={4} justify="flex-end">
      <TestButton row={row} />
      {action && (
        <Button
          size="compact-xs"
          variant="default"
          aria-label={`${action.label}: ${row.supplier}`}
          onClick={action.onClick}
        >
          {action.label}
        </Button>
      )}
      {dialog}
    </Group>
  )
}

/** Why a test failed. It sends administrators to the settings, where most faults are corrected. */
function TestFailed({ row, failure, onClose }: { row: SupplierRow; failure: string; onClose(): void }) {
  const me = useSession()
  const navigate = useNavigate()
  const mayEdit = isOperatorAdmin(me)
  return (
    <Dialog
      title={formatMessage(t.suppliers.isNotWorking, { supplier: row.supplier })}
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

function Pause({ row, onPause, onClose }: { row: SupplierRow; onPause(): void; onClose(): void }) {
  return (
    <Dialog
      title={formatMessage(t.suppliers.pauseTitle, { supplier: row.supplier })}
      opened
      onClose={onClose}
      submit={t.suppliers.pause}
      danger
      onSubmit={() => {
        onPause()
        onClose()
      }}
    >
      <Text size="sm">{t.suppliers.pauseText}</Text>
      <Text size="sm">{formatMessage(t.suppliers.pauseWaiting, { count: row.waiting })}</Text>
    </Dialog>
  )
}
