import type { SupplierRow } from '@dealer-esim/gateway/http/console/suppliers/suppliers.ts'
import { Badge, Button, Group, Stack, Text } from '@mantine/core'
import { useState } from 'react'
import { useChange } from '#api/use-api.ts'
import { Dialog } from '#parts/dialog.tsx'
import { formatTimeExactly } from '#parts/format.ts'
import { notifyError, notifySuccess } from '#parts/notify.ts'
import { interpolate, plural, t } from '#strings/strings.ts'
import { supplierPage } from './supplier-paths.ts'

/** The result of a supplier's last test, kept while the page is open. */
export interface TestResult {
  works: boolean
  message: string | null
  at: string
}

export function SupplierState({ row, tested }: { row: SupplierRow; tested: TestResult | undefined }) {
  const known = row.paused ? 'paused' : (row.breaker ?? 'broken')
  // The circuit breaker counts orders only, so a failed test takes precedence over a closed breaker.
  const state = known === 'closed' && tested?.works === false ? 'failed' : known
  const colors = { closed: 'teal', open: 'red', 'half-open': 'yellow', paused: 'orange', broken: 'red', failed: 'red' }
  return (
    <Stack gap={4} align="flex-start" className="list-lines">
      <Badge variant="light" color={colors[state]} tt="none" radius="sm" data-state={state}>
        {t.suppliers.states[state]}
      </Badge>
      {tested && (
        <Text size="xs" {...(tested.works && { c: 'dimmed' })} className="break" data-tested={tested.works}>
          {interpolate(tested.works ? t.suppliers.testPassed : t.suppliers.testFailed, {
            time: formatTimeExactly(tested.at),
            message: tested.message ?? '',
          })}
        </Text>
      )}
    </Stack>
  )
}

export function SupplierActions({ row, onTested }: { row: SupplierRow; onTested(tested: TestResult): void }) {
  const test = useChange<{ works: boolean; words: string | null }>()
  const resume = useChange({ success: t.suppliers.resumed })
  const [pausing, setPausing] = useState(false)
  const report = ({ works, words }: { works: boolean; words: string | null }) => {
    const parts = { supplier: row.supplier, message: words ?? '' }
    if (works) notifySuccess(interpolate(t.suppliers.isWorking, parts))
    else notifyError(new Error(interpolate(t.suppliers.isNotWorking, parts)))
    onTested({ works, message: words, at: new Date().toISOString() })
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
    </Group>
  )
}

function Pause({ row, onClose }: { row: SupplierRow; onClose(): void }) {
  const pause = useChange({ success: t.suppliers.paused, quiet: true })
  return (
    <Dialog
      title={interpolate(t.suppliers.pauseTitle, { supplier: row.supplier })}
      opened
      onClose={onClose}
      submit={t.suppliers.pause}
      danger
      busy={pause.isPending}
      error={pause.error}
      onSubmit={() =>
        pause.mutate({ method: 'POST', path: `${supplierPage(row.supplier)}/pause` }, { onSuccess: onClose })
      }
    >
      <Text size="sm">{t.suppliers.pauseText}</Text>
      <Text size="sm">{plural(t.suppliers.pauseWaiting, row.waiting)}</Text>
    </Dialog>
  )
}
