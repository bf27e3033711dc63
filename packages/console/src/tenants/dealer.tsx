import type { TenantDetail } from '@dealer-esim/gateway/http/console/tenants/tenants.ts'
import { Button, Stack, Text } from '@mantine/core'
import { useMediaQuery } from '@mantine/hooks'
import { Outlet, useLocation, useParams } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { useState } from 'react'
import { useApi, useChange } from '#api/use-api.ts'
import { type MoreAction, MoreMenu, StateSentence } from '#design/record.tsx'
import { Dialog, ReasonField } from '#parts/dialog.tsx'
import { formatMoney } from '#parts/format.ts'
import { LoadState } from '#parts/load-states.tsx'
import { Page, Tabs } from '#parts/page.tsx'
import { Status } from '#parts/values.tsx'
import { canOperate, isOperator, useSession } from '#people/sign-in/session.ts'
import { formatMessage, t } from '#strings/strings.ts'
import { DealerInitials } from './dealer-name.tsx'
import { useViewAsDealer } from './view-as-dealer.tsx'

/** The dealer of the current URL. */
export function useTenant() {
  const { tenantId = '' } = useParams({ strict: false }) as { tenantId?: string }
  return { tenantId, ...useApi<TenantDetail>(`/tenants/${tenantId}`, {}, { enabled: tenantId !== '' }) }
}

/** The frame around a dealer's sections, for operators. The dealer's own people see the sections as separate pages. */
export function DealerPage() {
  const me = useSession()
  const { tenantId, data, error, refetch } = useTenant()
  const { more, dialog } = useSuspension(data)
  const { pathname } = useLocation()
  const view = useViewAsDealer(tenantId)
  // There a section needs the room of what its dealer's overview says.
  const isNarrow = useMediaQuery('(max-width: 48em)')
  if (!data) return <LoadState error={error} retry={refetch} />
  if (!isOperator(me)) return <Outlet />
  const at = `/tenants/${tenantId}`
  const isBrief = isNarrow === true && pathname !== at
  return (
    <Page
      title={data.clientName}
      back={{ to: '/tenants', label: t.dealers.title }}
      picture={<DealerInitials name={data.clientName} />}
      mark={<Status status={data.status} />}
      actions={<MoreMenu actions={isBrief ? [{ label: t.dealers.viewAs, onClick: view.start }, ...more] : more} />}
    >
      <DealerState
        tenant={data}
        isBrief={isBrief}
        actions={
          !isBrief && (
            <Button variant="default" loading={view.isStarting} onClick={view.start}>
              {t.dealers.viewAs}
            </Button>
          )
        }
      />
      <Tabs
        label={data.clientName}
        items={[
          { to: at, label: t.dealers.tabs.overview },
          { to: `${at}/credentials`, label: t.dealers.tabs.credentials },
          { to: `${at}/settings`, label: t.dealers.tabs.settings },
          { to: `${at}/wallet`, label: t.dealers.tabs.wallet },
          { to: `${at}/prices`, label: t.dealers.tabs.prices },
          { to: `${at}/people`, label: t.dealers.tabs.people },
          { to: `${at}/brands`, label: t.brands.dealerTitle },
          { to: `${at}/notices`, label: t.dealers.tabs.alerts },
        ]}
      />
      <Outlet />
      {dialog}
    </Page>
  )
}

/**
 * A dealer's state: whether it can buy, with which money, and how long that lasts.
 * @param props.isBrief only what needs attention
 */
function DealerState(props: { tenant: TenantDetail; isBrief: boolean; actions: ReactNode }) {
  const { tenant, isBrief, actions } = props
  const { status, balance, currencyCode } = tenant
  const money = { balance: formatMoney(balance, currencyCode) }
  const texts = t.dealers.states
  if (status !== 'ACTIVE')
    return <StateSentence tone="bad" title={texts.suspended} text={texts.suspendedText} actions={actions} />
  if (balance + (tenant.creditLimit ?? 0) <= 0)
    return (
      <StateSentence tone="warn" title={formatMessage(texts.empty, money)} text={texts.emptyText} actions={actions} />
    )
  if (isBrief) return null
  return <StateSentence tone="ok" title={formatMessage(texts.active, money)} actions={actions} />
}

/** Stops a dealer, or lets it buy again. */
function useSuspension(tenant: TenantDetail | undefined): { more: MoreAction[]; dialog: ReactNode } {
  const me = useSession()
  const [dialogOpen, setDialogOpen] = useState(false)
  const isActive = tenant?.status === 'ACTIVE'
  const change = useChange({ success: isActive ? t.dealers.suspended : t.dealers.resumed })
  if (!tenant || !canOperate(me)) return { more: [], dialog: null }
  const path = `/tenants/${tenant.tenantId}/${isActive ? 'suspend' : 'resume'}`
  if (!isActive)
    return {
      more: [{ label: t.dealers.resume, onClick: () => change.mutate({ method: 'POST', path }) }],
      dialog: null,
    }
  return {
    more: [{ label: t.dealers.suspend, isDangerous: true, onClick: () => setDialogOpen(true) }],
    dialog: (
      <Dialog
        title={`${t.dealers.suspend}: ${tenant.clientName}`}
        opened={dialogOpen}
        onClose={() => setDialogOpen(false)}
        submit={t.dealers.suspend}
        danger
        busy={change.isPending}
        onSubmit={(body) => change.mutate({ method: 'POST', path, body }, { onSuccess: () => setDialogOpen(false) })}
      >
        <Text size="sm">{t.dealers.suspendText}</Text>
        <ReasonField />
      </Dialog>
    ),
  }
}

/** A dealer's section: a tab for operators, a separate page for the dealer's own people. */
export function DealerSection(props: { title: string; text?: string; actions?: ReactNode; children: ReactNode }) {
  const me = useSession()
  if (!isOperator(me))
    return (
      <Page title={props.title} description={props.text} actions={props.actions}>
        {props.children}
      </Page>
    )
  return <Stack gap="md">{props.children}</Stack>
}
