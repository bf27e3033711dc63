import type { OrderDetail } from '@dealer-esim/gateway/console-api/orders.ts'
import { Button, Select, Text, Textarea } from '@mantine/core'
import { useState } from 'react'
import { Dialog } from '../parts/dialog.tsx'
import { EvidenceField } from '../parts/evidence-field.tsx'
import { ReasonField } from '../parts/reason-field.tsx'
import { t } from '../strings/index.ts'
import { useChange } from '../use-api.ts'
import { cancelsInQuestion, SettleCancel } from './settle-cancel.tsx'

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
      {order.items.some((item) => item.itemStatus === 'REVIEW') && (
        <Button onClick={() => setOpen('settle')}>{t.orders.settle}</Button>
      )}
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

function SettleOrder({ order, onClose }: { order: OrderDetail; onClose(): void }) {
  const settle = useChange({ done: t.orders.settled, quiet: true })
  const [verdict, setVerdict] = useState('refused')
  return (
    <Dialog
      title={`${t.orders.settle}: ${order.transactionId}`}
      opened
      onClose={onClose}
      submit={t.orders.settle}
      busy={settle.isPending}
      error={settle.error}
      onSubmit={({ evidence, csv }) =>
        settle.mutate(
          {
            method: 'POST',
            path: `/tenants/${order.tenantId}/orders/${order.orderNo}/settle`,
            body: { verdict, evidence, ...(csv && { csv }) },
          },
          { onSuccess: onClose },
        )
      }
    >
      <Text size="sm">{t.orders.settleText}</Text>
      <Select
        label={t.orders.verdict}
        value={verdict}
        onChange={(value) => setVerdict(value ?? 'refused')}
        allowDeselect={false}
        data={Object.entries(t.orders.verdicts).map(([value, label]) => ({ value, label }))}
      />
      {verdict === 'delivered' && (
        <Textarea name="csv" label={t.orders.csv} description={t.orders.csvHint} autosize minRows={4} required />
      )}
      <EvidenceField />
    </Dialog>
  )
}
