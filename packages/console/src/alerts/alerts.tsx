import type { Alert } from '@dealer-esim/gateway/http/console/alerts.ts'
import { Anchor, Button, Group, Modal, Stack, Switch, Text } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { useChange } from '#api/use-api.ts'
import { type ServerList, useList } from '#lists/use-list.ts'
import { formatDateTime } from '#parts/format.ts'
import { relativeTimeColumn, valueColumn } from '#parts/list-columns.tsx'
import { Page } from '#parts/page.tsx'
import { List } from '#parts/record-list.tsx'
import { useFilters } from '#parts/use-filters.ts'
import { Hint } from '#parts/values.tsx'
import { canEdit, isOperator, useSession } from '#people/sign-in/session.ts'
import { t } from '#strings/strings.ts'
import { DealerSection, useTenant } from '#tenants/dealer.tsx'

/** Alerts for the operator, or for the dealer of the signed-in person. */
export function AlertsPage() {
  const [filters, setFilters] = useFilters()
  const unread = filters.unread === 'true'
  const list = useAlerts(null, unread)
  return (
    <Page
      title={t.alerts.title}
      actions={
        <>
          <MarkRead alerts={list.rows} />
          <Switch
            label={t.alerts.unreadOnly}
            checked={unread}
            onChange={(event) => setFilters({ unread: event.currentTarget.checked ? 'true' : null })}
          />
        </>
      }
    >
      <AlertList list={list} />
    </Page>
  )
}

/** Operators can see a dealer's alerts, but only the dealer can mark them as read. */
export function DealerAlerts() {
  const me = useSession()
  const { tenantId } = useTenant()
  const list = useAlerts(tenantId)
  return (
    <DealerSection title={t.alerts.title} actions={!isOperator(me) && <MarkRead alerts={list.rows} />}>
      <AlertList list={list} />
    </DealerSection>
  )
}

function useAlerts(tenantId: string | null, unread?: boolean): ServerList<Alert> {
  return useList<Alert>('/notices', 'notices', { tenantId, unread })
}

function MarkRead({ alerts = [] }: { alerts: Alert[] | undefined }) {
  const me = useSession()
  const read = useChange()
  const noticeIds = alerts.filter((row) => row.readAt === null).map((row) => row.noticeId)
  if (!canEdit(me) || noticeIds.length === 0) return null
  return (
    <Button
      variant="default"
      onClick={() => read.mutate({ method: 'POST', path: '/notices/read', body: { noticeIds } })}
    >
      {t.alerts.markRead}
    </Button>
  )
}

function AlertList({ list }: { list: ServerList<Alert> }) {
  const [shown, setShown] = useState<Alert>()
  const close = () => setShown(undefined)
  return (
    <>
      <List<Alert>
        label={t.alerts.title}
        list={list}
        name="alerts"
        idOf={(row) => row.noticeId}
        onRowClick={setShown}
        empty={{ title: t.alerts.noAlerts, text: t.alerts.noAlertsText }}
        columns={[
          valueColumn('kind', t.alerts.type, (row) => <AlertKind alert={row} />, { phone: 'main', width: 200 }),
          valueColumn('message', t.alerts.message, (row) => <AlertMessage alert={row} />, {
            phone: 'note',
            cellsClassName: 'alert-message',
            width: 680,
          }),
          relativeTimeColumn('createdAt', t.common.time, {
            phone: 'value',
          }),
        ]}
      />
      <Modal
        opened={shown !== undefined}
        onClose={close}
        title={shown && kindOf(shown)}
        closeButtonProps={{ 'aria-label': t.common.close }}
      >
        {shown && <WholeAlert alert={shown} />}
      </Modal>
    </>
  )
}

function kindOf({ kind }: Alert): string {
  return (t.alerts.types as Record<string, string>)[kind] ?? kind
}

/** With a dot while it is unread. */
function AlertKind({ alert }: { alert: Alert }) {
  return (
    <>
      {alert.readAt === null && <span className="unread" role="img" aria-label={t.alerts.unread} />}
      {kindOf(alert)}
    </>
  )
}

/** One line, or two on a phone, which leads to its subject. The whole message is in the alert's dialog. */
function AlertMessage({ alert }: { alert: Alert }) {
  const { message } = alert
  if (!hasSubject(alert))
    return (
      <span data-from-gateway title={message}>
        {message}
      </span>
    )
  return (
    <Anchor
      component={Link}
      to={alert.path}
      c="inherit"
      data-from-gateway
      title={message}
      aria-label={`${t.alerts.open}: ${message}`}
    >
      {message}
    </Anchor>
  )
}

/** Some are about nothing that has a page. */
function hasSubject({ path }: Alert): boolean {
  return path !== '/notices'
}

/** The message, with a link to its subject. */
function WholeAlert({ alert }: { alert: Alert }) {
  return (
    <Stack gap="sm">
      <Text className="break" data-from-gateway>
        {alert.message}
      </Text>
      <Group justify="space-between">
        <Hint>{formatDateTime(alert.createdAt)}</Hint>
        {hasSubject(alert) && (
          <Anchor component={Link} to={alert.path} aria-label={`${t.alerts.open}: ${alert.message}`}>
            {t.alerts.open}
          </Anchor>
        )}
      </Group>
    </Stack>
  )
}
