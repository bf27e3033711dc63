import type { AdjustmentRow } from '@dealer-esim/gateway/http/console/wallet/adjustments.ts'
import { Button, Group, Text } from '@mantine/core'
import { useState } from 'react'
import { useChange } from '#api/use-api.ts'
import type { ListView } from '#lists/list-views.tsx'
import { type ServerList, useList } from '#lists/use-list.ts'
import { ChangeDialog } from '#parts/dialog.tsx'
import { formatMoney } from '#parts/format.ts'
import { actionsColumn, RowButton, relativeTimeColumn, statusColumn, timeColumn } from '#parts/list-columns.tsx'
import { Card, Page } from '#parts/page.tsx'
import { List } from '#parts/record-list.tsx'
import { useFilters } from '#parts/use-filters.ts'
import { Amount, Facts, PhoneStatus } from '#parts/values.tsx'
import { canOperate, useSession } from '#people/sign-in/session.ts'
import { formatMessage, t } from '#strings/strings.ts'

const WAITING = 'PROPOSED'
const VIEWS: ListView[] = [
  { label: t.wallet.waiting, search: { status: WAITING } },
  ...(['APPROVED', 'REJECTED', 'EXPIRED'] as const).map((status) => ({
    label: t.statuses[status],
    search: { status },
  })),
]

/** Adjustments of all dealers, such as those waiting for a second person's approval. */
export function AdjustmentsPage() {
  const [{ status }] = useFilters()
  const filter = status === WAITING ? { open: true } : { status }
  const list = useList<AdjustmentRow>('/adjustments', 'adjustments', filter)
  return (
    <Page title={t.wallet.adjustments} description={t.wallet.adjustmentsText}>
      <AdjustmentList list={list} withDealer withDecision={status !== undefined && status !== WAITING} />
    </Page>
  )
}

/** A dealer's latest adjustments. Hidden while the dealer has none. The statement below lists all that were posted. */
export function Adjustments({ tenantId }: { tenantId: string }) {
  const list = useList<AdjustmentRow>('/adjustments', 'adjustments', { tenantId }, { isFirstPageOnly: true })
  if (!list.rows?.length) return null
  return (
    <Card title={t.wallet.adjustments}>
      <AdjustmentList list={list} />
    </Card>
  )
}

export function AdjustmentList(props: {
  list: ServerList<AdjustmentRow>
  withDealer?: boolean
  /** All rows are decided: shows by whom and when, instead of the actions. */
  withDecision?: boolean
}) {
  return (
    <List<AdjustmentRow>
      label={t.wallet.adjustments}
      list={props.list}
      isOfTasks
      {...(props.withDealer && { name: 'adjustments', views: VIEWS })}
      idOf={(row) => row.adjustmentId}
      empty={{ title: t.wallet.noAdjustments, text: t.wallet.noAdjustmentsText }}
      columns={[
        relativeTimeColumn('createdAt', t.common.time, {
          width: 155,
        }),
        {
          accessor: 'clientName',
          title: t.common.dealer,
          hidden: !props.withDealer,
          ...(props.withDealer && { phone: 'note' }),
        },
        {
          accessor: 'amount',
          title: t.wallet.amount,
          textAlign: 'right',
          phone: 'value',
          currency: (row) => row.currencyCode,
          render: (row) => <Amount value={row.amount} currency={row.currencyCode} signed />,
        },
        { accessor: 'reference', title: t.wallet.reference, phone: 'main' },
        { accessor: 'reason', title: t.wallet.reason, width: 120, ...(!props.withDealer && { phone: 'note' }) },
        { accessor: 'proposedBy', title: t.wallet.by },
        statusColumn('status', t.common.status, props.withDecision ? { phone: 'status' } : {}),
        { accessor: 'decidedBy', title: t.wallet.decidedBy, hidden: !props.withDecision },
        timeColumn('decidedAt', t.wallet.decidedAt, { hidden: !props.withDecision }),
        actionsColumn((row) => <DecisionButtons row={row} />, { hidden: props.withDecision ?? false, phone: 'status' }),
      ]}
    />
  )
}

/** On a phone, the status of a row takes their place once it is decided. */
function DecisionButtons({ row }: { row: AdjustmentRow }) {
  const me = useSession()
  const [dialogOpen, setDialogOpen] = useState(false)
  const reject = useChange({ success: t.wallet.rejected })
  if (row.status !== WAITING || !canOperate(me)) return <PhoneStatus status={row.status} />
  const which = `${row.clientName}, ${row.reference}`
  const rejectLabel = row.ownProposal ? t.wallet.withdraw : t.wallet.reject
  return (
    <Group gap={4} justify="flex-end">
      {!row.ownProposal && (
        <Button size="compact-xs" aria-label={`${t.wallet.approve}: ${which}`} onClick={() => setDialogOpen(true)}>
          {t.wallet.approve}
        </Button>
      )}
      <RowButton
        label={rejectLabel}
        of={which}
        loading={reject.isPending}
        onClick={() => reject.mutate({ method: 'POST', path: `${apiPath(row)}/reject` })}
      />
      {dialogOpen && <Approve row={row} onClose={() => setDialogOpen(false)} />}
    </Group>
  )
}

/** Repeats what is about to be posted, for the second person to check. */
function Approve({ row, onClose }: { row: AdjustmentRow; onClose(): void }) {
  return (
    <ChangeDialog
      title={t.wallet.approveTitle}
      onClose={onClose}
      submit={formatMessage(t.wallet.approveAmount, { amount: formatMoney(row.amount, row.currencyCode) })}
      success={t.wallet.approved}
      request={() => ({ method: 'POST', path: `${apiPath(row)}/approve` })}
    >
      <Text size="sm">{row.amount < 0 ? t.wallet.approveDebitText : t.wallet.approveCreditText}</Text>
      <Facts
        cols={2}
        items={[
          [t.common.dealer, row.clientName],
          [t.wallet.amount, <Amount key="a" value={row.amount} currency={row.currencyCode} signed />],
          [t.wallet.reference, row.reference],
          [t.wallet.by, row.proposedBy],
        ]}
      />
      <Facts cols={1} items={[[t.wallet.reason, row.reason]]} />
    </ChangeDialog>
  )
}

function apiPath({ tenantId, adjustmentId }: AdjustmentRow): string {
  return `/tenants/${tenantId}/adjustments/${adjustmentId}`
}
