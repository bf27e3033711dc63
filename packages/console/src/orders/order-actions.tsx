import type { OrderDetail } from '@dealer-esim/gateway/http/console/orders/orders.ts'
import { Button, NativeSelect, Text } from '@mantine/core'
import { type ReactNode, useState } from 'react'
import type { MoreAction } from '#design/record.tsx'
import { ChangeDialog, ReasonField } from '#parts/dialog.tsx'
import { formatMoney } from '#parts/format.ts'
import { canOperate, useSession } from '#people/sign-in/session.ts'
import { formatMessage, t } from '#strings/strings.ts'
import { EvidenceField } from './evidence-field.tsx'
import { itemsUnderReview, ResolveOrder } from './resolve-order.tsx'

type Opened = 'cancel' | 'settle' | 'settle-cancel'

/** The actions that an order's state allows operators: the one needed now, the rare ones, and the open dialog. */
export function useOrderActions(order: OrderDetail | undefined): {
  decide: ReactNode
  more: MoreAction[]
  dialog: ReactNode
} {
  const me = useSession()
  const [open, setOpen] = useState<Opened>()
  if (!order || !canOperate(me)) return { decide: null, more: [], dialog: null }
  const close = () => setOpen(undefined)
  // While the order waits, the main action is to ask its supplier.
  const variant = order.waiting ? 'default' : 'filled'
  const refund = formatMoney(openAmount(order), order.currencyCode)
  return {
    decide: (itemsUnderReview(order).length > 0 || esimsWithPendingCancel(order).length > 0) && (
      <>
        {itemsUnderReview(order).length > 0 && (
          <Button variant={variant} onClick={() => setOpen('settle')}>
            {t.orders.resolve}
          </Button>
        )}
        {esimsWithPendingCancel(order).length > 0 && (
          <Button variant={variant} onClick={() => setOpen('settle-cancel')}>
            {t.orders.resolveCancel}
          </Button>
        )}
      </>
    ),
    more: waitsForSupplier(order)
      ? [
          {
            label: formatMessage(t.orders.cancelAndRefund, { amount: refund }),
            isDangerous: true,
            onClick: () => setOpen('cancel'),
          },
        ]
      : [],
    dialog: (
      <>
        {open === 'cancel' && <CancelOrder order={order} amount={refund} onClose={close} />}
        {open === 'settle' && <ResolveOrder order={order} onClose={close} />}
        {open === 'settle-cancel' && <ResolveCancel order={order} onClose={close} />}
      </>
    ),
  }
}

/** What a cancellation refunds: the eSIMs that no supplier has sold yet. */
function openAmount({ items }: OrderDetail): number {
  return items.reduce((sum, { itemStatus, price }) => (itemStatus === 'WAITING' ? sum + price : sum), 0)
}

function CancelOrder({ order, amount, onClose }: { order: OrderDetail; amount: string; onClose(): void }) {
  return (
    <ChangeDialog
      title={`${t.orders.cancel}: ${order.transactionId}`}
      onClose={onClose}
      submit={formatMessage(t.orders.cancelAndRefund, { amount })}
      danger
      success={t.orders.cancelled}
      request={(body) => ({ method: 'POST', path: `/tenants/${order.tenantId}/orders/${order.orderNo}/cancel`, body })}
    >
      <Text size="sm">{order.orderStatus === 'PAID' ? t.orders.cancelText : t.orders.cancelWaitingText}</Text>
      <ReasonField />
    </ChangeDialog>
  )
}

/** True if eSIMs of the order are waiting for a supplier, and none is being bought, in doubt or under review. */
function waitsForSupplier({ items }: OrderDetail): boolean {
  const has = (...statuses: string[]) => items.some(({ itemStatus }) => statuses.includes(itemStatus))
  return has('WAITING') && !has('ASKED', 'UNKNOWN', 'REVIEW')
}

/** Records a supplier's late answer about a cancellation. */
function ResolveCancel({ order, onClose }: { order: OrderDetail; onClose(): void }) {
  return (
    <ChangeDialog
      title={`${t.orders.resolveCancel}: ${order.transactionId}`}
      onClose={onClose}
      submit={t.orders.resolve}
      success={t.orders.resolved}
      request={({ profileId, ...body }) => ({
        method: 'POST',
        path: `/tenants/${order.tenantId}/profiles/${profileId}/settle-cancel`,
        body,
      })}
    >
      <Text size="sm">{t.orders.resolveCancelText}</Text>
      <NativeSelect
        name="profileId"
        label={t.orders.cancelledEsim}
        data={esimsWithPendingCancel(order).map(({ profileId, itemNo, iccid }) => ({
          value: profileId,
          label: `${itemNo}: ${iccid}`,
        }))}
      />
      <NativeSelect
        name="verdict"
        label={t.orders.supplierAnswer}
        data={Object.entries(t.orders.cancelAnswers).map(([value, label]) => ({ value, label }))}
      />
      <EvidenceField />
    </ChangeDialog>
  )
}

/** The eSIMs of an order that the supplier may or may not have cancelled. */
function esimsWithPendingCancel(order: OrderDetail) {
  const itemNos = order.items.flatMap((item) => (item.cancelInQuestion ? [item.itemNo] : []))
  return order.profiles.filter((profile) => itemNos.includes(profile.itemNo))
}
