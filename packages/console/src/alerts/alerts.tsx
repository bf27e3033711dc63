import type { Alert } from '@dealer-esim/gateway/http/console/alerts.ts'
import { Anchor, Button, Group, Switch } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { useChange } from '#api/use-api.ts'
import { useList } from '#lists/use-list.ts'
import { valueColumn } from '#parts/list-columns.tsx'
import { Page } from '#parts/page.tsx'
import { List } from '#parts/record-list.tsx'
import { useFilters } from '#parts/use-filters.ts'
import { Timestamp } from '#parts/values.tsx'
import { canEdit, isOperator, useSession } from '#people/sign-in/session.ts'
import { t } from '#strings/strings.ts'
import { DealerSection, useTenant } from '#tenants/dealer.tsx'

/** Alerts for the operator, or for the dealer of the signed-in person. */
export function AlertsPage() {
  const [filters, setFilters] = useFilters()
  const unread = filters.unread === 'true'
  return (
    <Page
      title={t.alerts.title}
      actions={
        <Switch
          label={t.alerts.unreadOnly}
          checked={unread}
          onChange={(event) => setFilters({ unread: event.currentTarget.checked ? 'true' : null })}
        />
      }
    >
      <AlertList tenantId={null} unread={unread} />
    </Page>
  )
}

export function DealerAlerts() {
  const { tenantId } = useTenant()
  return (
    <DealerSection title={t.alerts.title}>
      <AlertList tenantId={tenantId} />
    </DealerSection>
  )
}

export function AlertList({ tenantId, unread }: { tenantId: string | null; unread?: boolean }) {
  const me = useSession()
  const list = useList<Alert>('/notices', 'notices', { tenantId, unread })
  const read = useChange()
  // Operators can see a dealer's alerts, but only the dealer can mark them as read.
  const isOwn = tenantId === null || !isOperator(me)
  const unreadIds = (list.rows ?? []).filter((row) => row.readAt === null).map((row) => row.noticeId)
  return (
    <>
      {isOwn && canEdit(me) && unreadIds.length > 0 && (
        <Group justify="flex-end">
          <Button
            size="xs"
            variant="default"
            onClick={() => read.mutate({ method: 'POST', path: '/notices/read', body: { noticeIds: unreadIds } })}
          >
            {t.alerts.markRead}
          </Button>
        </Group>
      )}
      <List<Alert>
        label={t.alerts.title}
        list={list}
        name="alerts"
        idOf={(row) => row.noticeId}
        empty={{ title: t.alerts.noAlerts, text: t.alerts.noAlertsText }}
        columns={[
          {
            accessor: 'kind',
            title: t.alerts.type,
            render: (row) => (t.alerts.types as Record<string, string>)[row.kind] ?? row.kind,
          },
          valueColumn('message', t.alerts.message, (row) => <AlertMessage alert={row} />, { width: 480, wraps: true }),
          valueColumn('createdAt', t.common.time, (row) => <Timestamp time={row.createdAt} format="relative" />),
        ]}
      />
    </>
  )
}

/** The message, with a link to its subject. */
function AlertMessage({ alert }: { alert: Alert }) {
  const message = alert.readAt === null ? <strong>{alert.message}</strong> : alert.message
  return (
    <>
      <span data-from-gateway>{message}</span>{' '}
      {alert.path !== '/notices' && (
        <Anchor component={Link} to={alert.path} aria-label={`${t.alerts.open}: ${alert.message}`}>
          {t.alerts.open}
        </Anchor>
      )}
    </>
  )
}
