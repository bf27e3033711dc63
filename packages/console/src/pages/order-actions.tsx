import type { OrderDetail } from '@dealer-esim/gateway/console-api/orders.ts'
import { Button, Text } from '@mantine/core'
import { useState } from 'react'
import { Dialog } from '../parts/dialog.tsx'
import { ReasonField } from '../parts/reason-field.tsx'
import { t } from '../strings/index.ts'
import { useChange } from '../use-api.ts'
import { cancelsInQuestion, SettleCancel } from './settle-cancel.tsx'
import { SettleOrder, underReview } from './settle-order.tsx'

/** What an operator may do with an order in its present state; nothing where nothing is possible. */
export function OrderActions({ order }: { order: OrderDetail }) {
  const [open, setOpen] = useState<'cancel' | 'settle' | 'settle-cancel'>()
  const close = () => setOpen(undefined)
  return (
    <>
      {order.orderStatus === 'PAID' && (
        <Button variant="default" onClick={() => setOpen('cancel')}>
          {t.orders.cancel}
        </Button>
      )}
      {underReview(order).length > 0 && <Button onClick={() => setOpen('settle')}>{t.orders.settle}</Button>}
      {cancelsInQuestion(order).length > 0 && (
        <Button onClick={() => setOpen('settle-cancel')}>{t.orders.settleCancel}</Button>
      )}
      {open === 'cancel' && <CancelOrder order={order} onClose={close} />}
      {open === 'settle' && <SettleOrder order={order} onClose={close} />}
      {open === 'settle-cancel' && <SettleCancel order={order} onClose={close} />}
    </>
  )
}

function CancelOrder({ order, onClose }: { order: OrderDetail; onClose(): void }) {
  const cancel = useChange({ done: t.orders.cancelled, quiet: true })
  return (
    <Dialog
      title={`${t.orders.cancel}: ${order.transactionId}`}
      opened
      onClose={onClose}
      submit={t.orders.cancel}
      danger
      busy={cancel.isPending}
      error={cancel.error}
      onSubmit={(body) =>
        cancel.mutate(
          { method: 'POST', path: `/tenants/${order.tenantId}/orders/${order.orderNo}/cancel`, body },
          { onSuccess: onClose },
        )
      }
    >
      <Text size="sm">{t.orders.cancelText}</Text>
      <ReasonField />
    </Dialog>
  )
}
