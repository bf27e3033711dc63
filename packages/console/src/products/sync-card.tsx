import type { SupplierSync } from '@dealer-esim/gateway/http/console/products/products.ts'
import { Alert, Badge, Button, Group, List, NativeSelect, Stack, Text } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { lazy, Suspense, useState } from 'react'
import { useApi, useChange, useReloadAfter } from '#api/use-api.ts'
import { ChangeDialog } from '#parts/dialog.tsx'
import { formatCount } from '#parts/format.ts'
import { Card } from '#parts/page.tsx'
import { Timestamp } from '#parts/values.tsx'
import { canOperate, useSession } from '#people/sign-in/session.ts'
import { t } from '#strings/page-texts.ts'
import { formatMessage } from '#strings/strings.ts'
import { supplierPage } from '#suppliers/supplier-paths.ts'

const SellProducts = lazy(() => import('./sell-products.tsx'))

const REFRESH_MS = 2_000
const HOUR_MIN = 60
const DAY_MIN = 24 * HOUR_MIN

/** When the catalogue of each supplier was read, with its progress while it is being read. */
export function SyncCard() {
  const data = useSyncs()
  if (!data || data.syncs.length === 0) return null
  return (
    <Card title={t.products.catalogues}>
      <Stack gap="sm">
        {data.syncs.map((sync) => (
          <SyncRow key={sync.supplier} sync={sync} />
        ))}
      </Stack>
    </Card>
  )
}

/** The same for one supplier, on its page. */
export function SupplierCatalogue({ supplier }: { supplier: string }) {
  const data = useSyncs()
  const sync = data?.syncs.find((one) => one.supplier === supplier)
  if (!sync) return null
  return (
    <Card title={t.products.catalogues}>
      <SyncRow sync={sync} />
    </Card>
  )
}

/** The catalogue of each supplier in a few words. Each leads to the supplier, where it is read, and its products are sold. */
export function CatalogueStates({ syncs }: { syncs: readonly SupplierSync[] }) {
  return (
    <Group
      component="nav"
      aria-label={t.products.catalogues}
      gap="xs"
      wrap="nowrap"
      mih={26}
      style={{ overflowX: 'auto' }}
    >
      {syncs.map((sync) => {
        const state = stateOf(sync)
        const needsLook = state === 'HELD' || state === 'FAILED' || sync.unreadable > 0
        return (
          <Button
            key={sync.supplier}
            component={Link}
            to={supplierPage(sync.supplier)}
            size="compact-sm"
            flex="none"
            {...(needsLook
              ? { variant: 'light', color: state === 'FAILED' ? 'red' : 'orange' }
              : { variant: 'default' })}
            data-sync={sync.supplier}
            data-outcome={state}
          >
            {sync.supplier}: {t.products.outcomes[state]} · {countText(sync)}
            {sync.finishedAt && !sync.isRunning && (
              <>
                {' · '}
                <Timestamp time={sync.finishedAt} format="relative" />
              </>
            )}
          </Button>
        )
      })}
    </Group>
  )
}

/** Readings of all catalogues. When one ends, products, packages and counts are read again. */
export function useSyncs(): { syncs: SupplierSync[] } | undefined {
  const { data } = useApi<{ syncs: SupplierSync[] }>('/supplier-syncs', {}, { refreshMs: REFRESH_MS })
  useReloadAfter(data && JSON.stringify(data.syncs.map(({ supplier, finishedAt }) => [supplier, finishedAt])))
  return data
}

function SyncRow({ sync }: { sync: SupplierSync }) {
  const me = useSession()
  const start = useChange({ quiet: false })
  const change = useChange({ success: t.common.saved })
  const [accepting, setAccepting] = useState(false)
  const [isSelling, setIsSelling] = useState(false)
  const path = `${supplierPage(sync.supplier)}/sync`
  return (
    <Group justify="space-between" data-sync={sync.supplier} data-outcome={sync.isRunning ? 'RUNNING' : sync.outcome}>
      <Stack gap={2} flex={1} miw={220}>
        <Group gap="xs">
          <Text fw={600}>{sync.supplier}</Text>
          <SyncBadge sync={sync} />
        </Group>
        <Text size="sm" c="dimmed" component="div">
          {countText(sync)}
          {sync.finishedAt && !sync.isRunning && (
            <>
              {' · '}
              <Timestamp time={sync.finishedAt} />
            </>
          )}
        </Text>
        {sync.message && !sync.isRunning && sync.outcome !== 'DONE' && (
          <Alert color={sync.outcome === 'HELD' ? 'orange' : 'red'} role="alert">
            {sync.message}
          </Alert>
        )}
        {!sync.isRunning && <Unreadable sync={sync} />}
      </Stack>
      {canOperate(me) && (
        <Group gap="xs">
          {sync.heldAt && (
            <Button size="xs" color="orange" onClick={() => setAccepting(true)}>
              {t.products.accept}
            </Button>
          )}
          <NativeSelect
            size="xs"
            aria-label={`${t.products.schedule}: ${sync.supplier}`}
            value={sync.everyMinutes ?? ''}
            onChange={(event) => {
              const everyMinutes = event.currentTarget.value === '' ? null : Number(event.currentTarget.value)
              change.mutate({ method: 'PUT', path, body: { everyMinutes } })
            }}
            data={[
              { value: '', label: t.products.onDemand },
              ...scheduleChoices(sync.everyMinutes).map((minutes) => ({
                value: String(minutes),
                label: scheduleText(minutes),
              })),
            ]}
          />
          <Button
            size="xs"
            variant="default"
            loading={start.isPending || sync.isRunning}
            onClick={() => start.mutate({ method: 'POST', path })}
          >
            {t.products.readNow}
          </Button>
          <Button size="xs" onClick={() => setIsSelling(true)}>
            {t.saleRules.sell.action}
          </Button>
        </Group>
      )}
      {isSelling && (
        <Suspense>
          <SellProducts supplier={sync.supplier} onClose={() => setIsSelling(false)} />
        </Suspense>
      )}
      {accepting && sync.heldAt && (
        <Accept path={path} message={sync.message} heldAt={sync.heldAt} onClose={() => setAccepting(false)} />
      )}
    </Group>
  )
}

/** The unreadable entries of the catalogue, the first of them by name. */
function Unreadable({ sync: { unreadable, kept, unreadableEntries } }: { sync: SupplierSync }) {
  if (unreadable === 0) return null
  const counts = [
    formatMessage(t.products.unreadable, { count: unreadable }),
    ...(kept > 0 ? [formatMessage(t.products.kept, { count: kept })] : []),
  ]
  return (
    <Alert color="orange" title={counts.join(' ')} mt="xs">
      <List size="sm">
        {unreadableEntries.map(({ entry, reason }) => (
          <List.Item key={`${entry} ${reason}`}>
            {entry}: {reason}
          </List.Item>
        ))}
      </List>
    </Alert>
  )
}

function stateOf({ outcome, isRunning }: SupplierSync) {
  return isRunning ? 'RUNNING' : (outcome ?? 'NEVER')
}

function countText({ isRunning, productsRead, listed }: SupplierSync): string {
  if (isRunning) return formatMessage(t.products.reading, { count: productsRead })
  return formatMessage(t.products.listedCount, { count: formatCount(listed) })
}

function SyncBadge({ sync }: { sync: SupplierSync }) {
  const state = stateOf(sync)
  const colors = { RUNNING: 'blue', NEVER: 'gray', DONE: 'teal', HELD: 'orange', FAILED: 'red' }
  return (
    <Badge variant="light" color={colors[state]} tt="none" radius="sm">
      {t.products.outcomes[state]}
    </Badge>
  )
}

/** Accepts a catalogue that was held because it differs too much from the previous one. */
function Accept(props: { path: string; message: string | null; heldAt: string; onClose(): void }) {
  const { path, message, heldAt, onClose } = props
  return (
    <ChangeDialog
      title={t.products.acceptTitle}
      onClose={onClose}
      submit={t.products.accept}
      danger
      success={t.products.accepted}
      request={() => ({ method: 'POST', path: `${path}/accept`, body: { heldAt } })}
    >
      <Text size="sm">{message}</Text>
      <Text size="sm">{t.products.acceptText}</Text>
    </ChangeDialog>
  )
}

/** The usual schedules, and the current one. */
function scheduleChoices(present: number | null): number[] {
  const usual = [HOUR_MIN, 6 * HOUR_MIN, DAY_MIN]
  return present === null || usual.includes(present) ? usual : [...usual, present].sort((a, b) => a - b)
}

function scheduleText(minutes: number): string {
  return minutes % HOUR_MIN === 0
    ? formatMessage(t.products.everyHours, { count: minutes / HOUR_MIN })
    : formatMessage(t.products.everyMinutes, { count: minutes })
}
