import { ESIM_ACTIONS, type EsimAction } from '@dealer-esim/contract'
import type { EsimActionRow } from '@dealer-esim/gateway/console-api/routes/orders/esim-actions.ts'
import type { ProfileRow } from '@dealer-esim/gateway/console-api/routes/orders/profiles.ts'
import { Button, Text } from '@mantine/core'
import { useState } from 'react'
import { useApi, useChange } from '../api/use-api.ts'
import { Dialog, ReasonField } from '../parts/dialog.tsx'
import { List } from '../parts/list.tsx'
import { Card } from '../parts/page.tsx'
import { Amount, Status, Timestamp } from '../parts/values.tsx'
import { t } from '../strings/strings.ts'

/** The buttons of a dealer's people: what the state of the eSIM allows. The gateway has the last word. */
export function DealerActions({ path, profile }: { path: string; profile: ProfileRow }) {
  return ESIM_ACTIONS.filter((action) => allows(profile, action)).map((action) => (
    <ActionButton key={action} path={path} action={action} iccid={profile.iccid} />
  ))
}

function allows({ esimStatus, smdpStatus, suspended }: ProfileRow, action: EsimAction): boolean {
  if (action === 'CANCEL') return esimStatus === 'GOT_RESOURCE' && ['RELEASED', null].includes(smdpStatus)
  if (action === 'REVOKE') return ['GOT_RESOURCE', 'IN_USE', 'USED_UP'].includes(esimStatus)
  return esimStatus === 'IN_USE' && suspended === (action === 'UNSUSPEND')
}

function ActionButton({ path, action, iccid }: { path: string; action: EsimAction; iccid: string }) {
  // One key for each opening of the dialog: a second click begins nothing again.
  const [transactionId, setTransactionId] = useState<string>()
  const start = useChange({ quiet: true, success: t.esims.actionStarted })
  const close = () => setTransactionId(undefined)
  return (
    <>
      <Button variant="default" onClick={() => setTransactionId(`console-${crypto.randomUUID()}`)}>
        {t.esims.actions[action]}
      </Button>
      <Dialog
        title={`${t.esims.actions[action]}: ${iccid}`}
        opened={transactionId !== undefined}
        onClose={close}
        submit={t.esims.actions[action]}
        danger={action !== 'UNSUSPEND'}
        busy={start.isPending}
        error={start.error}
        onSubmit={({ reason }) => {
          const body = { action, transactionId, reason }
          start.mutate({ method: 'POST', path: `${path}/actions`, body }, { onSuccess: close })
        }}
      >
        <Text size="sm">{t.esims.actionTexts[action]}</Text>
        <ReasonField />
      </Dialog>
    </>
  )
}

/** Actions begin elsewhere, too, and end while somebody looks at the list. */
const REFRESH_MS = 3_000

export function ActionHistory({ path }: { path: string }) {
  const list = useApi<{ actions: EsimActionRow[] }>(`${path}/actions`, {}, { refreshMs: REFRESH_MS })
  return (
    <Card title={t.esims.history}>
      <List<EsimActionRow>
        label={t.esims.history}
        rows={list.data?.actions}
        loading={list.isLoading}
        error={list.error}
        retry={list.refetch}
        idOf={(row) => row.actionNo}
        empty={{ title: t.esims.noActions }}
        columns={[
          { accessor: 'action', title: t.esims.action, render: (row) => t.esims.actions[row.action] },
          {
            accessor: 'actionStatus',
            title: t.orders.status,
            render: (row) => <Status status={row.actionStatus} />,
          },
          {
            accessor: 'startedBy',
            title: t.esims.startedBy,
            render: (row) => t.esims.startedByNames[row.startedBy],
          },
          {
            accessor: 'refundAmount',
            title: t.esims.refund,
            textAlign: 'right',
            render: (row) => <Amount value={row.refundAmount} currency={row.currencyCode} />,
          },
          {
            accessor: 'feeAmount',
            title: t.esims.fee,
            textAlign: 'right',
            render: (row) => <Amount value={row.feeAmount} currency={row.currencyCode} />,
          },
          { accessor: 'failureReason', title: t.esims.failure },
          { accessor: 'createTime', title: t.common.created, render: (row) => <Timestamp time={row.createTime} /> },
        ]}
      />
    </Card>
  )
}

export function RenewShareLink({ path, onRenewed }: { path: string; onRenewed(): void }) {
  const [dialogOpen, setDialogOpen] = useState(false)
  const renew = useChange({ quiet: true, success: t.esims.linkRenewed })
  const close = () => setDialogOpen(false)
  return (
    <>
      <Button variant="default" onClick={() => setDialogOpen(true)}>
        {t.esims.renewLink}
      </Button>
      <Dialog
        title={t.esims.renewLink}
        opened={dialogOpen}
        onClose={close}
        submit={t.esims.renewLink}
        busy={renew.isPending}
        error={renew.error}
        onSubmit={() =>
          renew.mutate(
            { method: 'POST', path: `${path}/renew-share-link` },
            {
              onSuccess() {
                onRenewed()
                close()
              },
            },
          )
        }
      >
        <Text size="sm">{t.esims.renewLinkText}</Text>
      </Dialog>
    </>
  )
}
