import { ESIM_ACTIONS, type EsimAction } from '@dealer-esim/contract'
import type { EsimActionRow } from '@dealer-esim/gateway/http/console/esims/esim-actions.ts'
import type { ProfileRow } from '@dealer-esim/gateway/http/console/esims/esims.ts'
import type { EsimActionOutcome } from '@dealer-esim/gateway/http/console/orders/order-actions.ts'
import type { OrderDetail } from '@dealer-esim/gateway/http/console/orders/orders.ts'
import { Button, NativeSelect, Text } from '@mantine/core'
import { type ReactNode, useState } from 'react'
import { useApi, useChange } from '#api/use-api.ts'
import { packageTitleText } from '#catalogue/package-title.ts'
import type { MoreAction } from '#design/record.tsx'
import { EvidenceField } from '#orders/evidence-field.tsx'
import { ChangeDialog, Dialog, ReasonField } from '#parts/dialog.tsx'
import { actionsColumn, moneyColumn, statusColumn, timeColumn, valueColumn } from '#parts/list-columns.tsx'
import { notifyError } from '#parts/notify.ts'
import { Card } from '#parts/page.tsx'
import { List } from '#parts/record-list.tsx'
import { Hint } from '#parts/values.tsx'
import { canOperate, isOperator, useSession } from '#people/sign-in/session.ts'
import { formatMessage, t } from '#strings/strings.ts'
import { dealerSubmitText, operatorSubmitText } from './action-texts.ts'

/** The actions that an eSIM's state allows, and the open dialog. The gateway makes the final decision. */
export function useEsimActions(
  path: string,
  profile: ProfileRow | undefined,
): { more: MoreAction[]; dialog: ReactNode } {
  const me = useSession()
  const [opened, setOpened] = useState<EsimAction>()
  if (!profile || !(canOperate(me) || !isOperator(me))) return { more: [], dialog: null }
  const Action = isOperator(me) ? OperatorAction : DealerAction
  const close = () => setOpened(undefined)
  return {
    more: ESIM_ACTIONS.filter((action) => allows(profile, action)).map((action) => ({
      label: action === 'CANCEL' && isOperator(me) ? t.esims.cancel : t.esims.actions[action],
      isDangerous: action !== 'UNSUSPEND',
      onClick: () => setOpened(action),
    })),
    dialog: opened && <Action path={path} action={opened} profile={profile} onClose={close} />,
  }
}

function allows({ esimStatus, smdpStatus, suspended }: ProfileRow, action: EsimAction): boolean {
  if (action === 'CANCEL') return esimStatus === 'GOT_RESOURCE' && ['RELEASED', null].includes(smdpStatus)
  if (action === 'REVOKE') return ['GOT_RESOURCE', 'IN_USE', 'USED_UP'].includes(esimStatus)
  return esimStatus === 'IN_USE' && suspended === (action === 'UNSUSPEND')
}

interface ActionProps {
  path: string
  action: EsimAction
  profile: ProfileRow
  onClose(): void
}

/** Begins an action for a dealer: the gateway carries it out later, and refunds a cancelled eSIM less its fee. */
function DealerAction({ path, action, profile, onClose }: ActionProps) {
  // One key per opening of the dialog: a second click does not begin the action again.
  const [transactionId] = useState(() => `console-${crypto.randomUUID()}`)
  const start = useChange({ quiet: true, success: t.esims.actionStarted })
  return (
    <ActionDialog
      {...{ action, profile, onClose }}
      submit={dealerSubmitText(action)}
      text={t.esims.actionTexts[action]}
      change={start}
      onSubmit={(reason) => {
        const body = { action, transactionId, reason }
        start.mutate({ method: 'POST', path: `${path}/actions`, body }, { onSuccess: onClose })
      }}
    />
  )
}

/** Carries out the action immediately, for the operator: a cancelled eSIM is refunded without a fee. */
function OperatorAction({ path, action, profile, onClose }: ActionProps) {
  const isCancel = action === 'CANCEL'
  const { tenantId, orderNo, itemNo } = profile
  const order = useApi<OrderDetail>(`/tenants/${tenantId}/orders/${orderNo}`, {}, { enabled: isCancel }).data
  // Shown here, because the action is no longer visible once the eSIM is in a different state.
  const act = useChange<EsimActionOutcome>({
    quiet: true,
    success: ({ outcome }) => (outcome === 'refused' ? undefined : t.esims.outcomes[outcome]),
  })
  return (
    <ActionDialog
      {...{ action, profile, onClose }}
      submit={operatorSubmitText({ action, itemNo, order })}
      text={isCancel ? t.esims.cancelText : t.esims.actionTexts[action]}
      change={act}
      onSubmit={(reason) =>
        act.mutate(
          { method: 'POST', path: `${path}/operator-actions`, body: { action, reason } },
          {
            onSuccess({ outcome, words }) {
              if (outcome === 'refused')
                notifyError(new Error(formatMessage(t.esims.outcomes.refused, { words: words ?? '' })))
              onClose()
            },
          },
        )
      }
    />
  )
}

function ActionDialog(props: {
  action: EsimAction
  profile: ProfileRow
  submit: string
  text: string
  onClose(): void
  change: { isPending: boolean; error: Error | null }
  onSubmit(reason: string | undefined): void
}) {
  const { action, profile, submit, text, onClose, change, onSubmit } = props
  const isFinal = action === 'CANCEL' || action === 'REVOKE'
  return (
    <Dialog
      title={formatMessage(t.esims.actionTitles[action], { name: packageTitleText(profile.packageName) })}
      opened
      onClose={onClose}
      submit={submit}
      closing={isFinal ? t.esims.keep : undefined}
      danger={action !== 'UNSUSPEND'}
      busy={change.isPending}
      error={change.error}
      onSubmit={({ reason }) => onSubmit(reason)}
    >
      <Hint size="xs">
        {t.esims.iccid} {profile.iccid}
      </Hint>
      <Text size="sm">{text}</Text>
      <ReasonField />
    </Dialog>
  )
}

/** Actions may also begin elsewhere, and may end while somebody is looking at the list. */
const REFRESH_MS = 3_000

/** Hidden until there is an action. */
export function ActionHistory({ path }: { path: string }) {
  const me = useSession()
  const [resolved, setResolved] = useState<EsimActionRow>()
  const list = useApi<{ actions: EsimActionRow[] }>(`${path}/actions`, {}, { refreshMs: REFRESH_MS })
  if (!list.error && !list.data?.actions.length) return null
  return (
    <Card title={t.esims.history}>
      <List<EsimActionRow>
        label={t.esims.history}
        rows={list.data?.actions}
        query={{ error: list.error, refetch: list.refetch }}
        idOf={(row) => row.actionNo}
        empty={{ title: t.esims.noActions }}
        columns={[
          { accessor: 'action', title: t.esims.action, render: (row) => t.esims.actions[row.action] },
          statusColumn('actionStatus', t.orders.status),
          valueColumn('startedBy', t.esims.startedBy, (row) => t.esims.startedByNames[row.startedBy]),
          moneyColumn('refundAmount', t.esims.refund),
          moneyColumn('feeAmount', t.esims.fee),
          { accessor: 'failureReason', title: t.esims.failure },
          timeColumn('createTime', t.common.created),
          actionsColumn(
            (row) =>
              row.isAnswerMissing && (
                <Button size="xs" onClick={() => setResolved(row)}>
                  {t.orders.resolve}
                </Button>
              ),
            { hidden: !canOperate(me) || !list.data?.actions.some((row) => row.isAnswerMissing) },
          ),
        ]}
      />
      {resolved && <ResolveAction path={path} row={resolved} onClose={() => setResolved(undefined)} />}
    </Card>
  )
}

/** Records the supplier's statement about an action that it did not answer. */
function ResolveAction({ path, row, onClose }: { path: string; row: EsimActionRow; onClose(): void }) {
  const answers = row.action === 'CANCEL' ? t.orders.cancelAnswers : t.esims.actionAnswers
  return (
    <ChangeDialog
      title={`${t.orders.resolve}: ${t.esims.actions[row.action]}`}
      onClose={onClose}
      submit={t.orders.resolve}
      success={t.orders.resolved}
      request={(body) => ({ method: 'POST', path: `${path}/settle-cancel`, body: { ...body, actionNo: row.actionNo } })}
    >
      <Text size="sm">{row.action === 'CANCEL' ? t.orders.resolveCancelText : t.esims.resolveText}</Text>
      <NativeSelect
        name="verdict"
        label={t.orders.supplierAnswer}
        data={Object.entries(answers).map(([value, label]) => ({ value, label }))}
      />
      <EvidenceField />
    </ChangeDialog>
  )
}
