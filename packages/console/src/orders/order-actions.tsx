import type { OrderDetail } from '@dealer-esim/gateway/http/console/orders/orders.ts'
import { Button, NativeSelect, Text } from '@mantine/core'
import { useState } from 'react'
import { ChangeDialog, ReasonField } from '#parts/dialog.tsx'
import { t } from '#strings/strings.ts'
import { EvidenceField } from './evidence-field.tsx'
import { itemsUnderReview, ResolveOrder } from './resolve-order.tsx'

/** The actions that an order's state allows to operators. */
export function OrderActions({ order }: { order: OrderDetail }) {
  const [open, setOpen] = useState<'cancel' | 'settle' | 'settle-cancel'>()
  const close = () => setOpen(undefined)
  return (
    <>
      {waitsForSupplier(order) && (
        <Button variant="default" onClick={() => setOpen('cancel')}>
          {t.orders.cancel}
        </Button>
      )}
      {itemsUnderReview(order).length > 0 && <Button onClick={() => setOpen('settle')}>{t.orders.resolve}</Button>}
      {esimsWithPendingCancel(order).length > 0 && (
        <Button onClick={() => setOpen('settle-cancel')}>{t.orders.resolveCancel}</Button>
      )}
      {open === 'cancel' && <CancelOrder order={order} onClose={close} />}
      {open === 'settle' && <ResolveOrder order={order} onClose={close} />}
      {open === 'settle-cancel' && <ResolveCancel order={order} onClose={close} />}
    </>
  )
}

function CancelOrder({ order, onClose }: { order: OrderDetail; onClose(): void }) {
  return (
    <ChangeDialog
      title={`${t.orders.cancel}: ${order.transactionId}`}
      onClose={onClose}
      submit={t.orders.cancel}
      danger
      success={t.orders.cancelled}
      request={(body) => ({ method: 'POST', path: `/tenants/${order.tenantId}/orders/${order.orderNo}/cancel`, body })}
    >
      <Text size="sm">{order.orderStatus === 'PAID' ? t.orders.cancelText : t.orders.cancelWaitingText}</Text>
      <ReasonField />
    </ChangeDialog>
  )
}

/** True if eSIMs of the order wait for a supplier, and none is being bought, in doubt or under review. */
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
