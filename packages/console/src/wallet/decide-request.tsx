import type { TopUpRequestRow } from '@dealer-esim/gateway/http/console/wallet/top-up-requests.ts'
import { Alert, Button, Group, Text } from '@mantine/core'
import { useState } from 'react'
import { ChangeDialog, ReasonField } from '#parts/dialog.tsx'
import { formatMoney } from '#parts/format.ts'
import { Amount, Facts } from '#parts/values.tsx'
import { canOperate, useSession } from '#people/sign-in/session.ts'
import { formatMessage, t } from '#strings/strings.ts'

/** The operators' buttons for an open request. The first of two people cannot confirm again. */
export function DecideRequest({ row }: { row: TopUpRequestRow }) {
  const me = useSession()
  const [open, setOpen] = useState<'confirm' | 'decline'>()
  if (!canOperate(me) || row.status !== 'REQUESTED') return null
  const close = () => setOpen(undefined)
  const which = `${row.clientName}, ${row.reference}`
  return (
    <Group gap={4} flex="none">
      {!row.confirmedByMe && (
        <Button
          size="compact-xs"
          aria-label={`${t.topUpRequests.confirm}: ${which}`}
          onClick={() => setOpen('confirm')}
        >
          {t.topUpRequests.confirm}
        </Button>
      )}
      <Button
        size="compact-xs"
        variant="default"
        aria-label={`${t.topUpRequests.decline}: ${which}`}
        onClick={() => setOpen('decline')}
      >
        {t.topUpRequests.decline}
      </Button>
      {open === 'confirm' && <Confirm row={row} onClose={close} />}
      {open === 'decline' && <Decline row={row} onClose={close} />}
    </Group>
  )
}

/** Repeats what is about to be credited, to compare with the bank statement. */
function Confirm({ row, onClose }: { row: TopUpRequestRow; onClose(): void }) {
  return (
    <ChangeDialog<{ isWaitingForSecond: boolean }>
      title={t.topUpRequests.confirm}
      onClose={onClose}
      submit={formatMessage(t.topUpRequests.confirmAmount, { amount: formatMoney(row.amount, row.currencyCode) })}
      success={({ isWaitingForSecond }) =>
        isWaitingForSecond ? t.topUpRequests.firstConfirmed : t.topUpRequests.confirmed
      }
      request={() => ({ method: 'POST', path: `${apiPath(row)}/confirm` })}
    >
      <Text size="sm">{t.topUpRequests.confirmText}</Text>
      {row.confirmedBy && (
        <Alert color="blue">{formatMessage(t.topUpRequests.waitsForSecond, { name: row.confirmedBy })}</Alert>
      )}
      <RequestFacts row={row} />
    </ChangeDialog>
  )
}

function Decline({ row, onClose }: { row: TopUpRequestRow; onClose(): void }) {
  return (
    <ChangeDialog
      title={t.topUpRequests.decline}
      onClose={onClose}
      submit={t.topUpRequests.decline}
      danger
      success={t.topUpRequests.declined}
      request={(body) => ({ method: 'POST', path: `${apiPath(row)}/decline`, body })}
    >
      <RequestFacts row={row} />
      <ReasonField maxLength={200} hint={t.topUpRequests.declineText} />
    </ChangeDialog>
  )
}

function RequestFacts({ row }: { row: TopUpRequestRow }) {
  return (
    <Facts
      cols={2}
      items={[
        [t.common.dealer, row.clientName],
        [t.wallet.amount, <Amount key="a" value={row.amount} currency={row.currencyCode} />],
        [t.topUpRequests.paymentReference, row.reference],
        [t.topUpRequests.requestedBy, row.requestedBy],
      ]}
    />
  )
}

export function apiPath({ tenantId, requestId }: TopUpRequestRow): string {
  return `/tenants/${tenantId}/top-up-requests/${requestId}`
}
