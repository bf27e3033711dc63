import type { OrderDetail } from '@dealer-esim/gateway/console-api/orders.ts'
import { NativeSelect, Text } from '@mantine/core'
import { Dialog } from '../parts/dialog.tsx'
import { EvidenceField } from '../parts/evidence-field.tsx'
import { t } from '../strings/index.ts'
import { useChange } from '../use-api.ts'

/** The eSIMs of an order whose supplier has not said whether it cancelled them. */
export function cancelsInQuestion(order: OrderDetail) {
  const itemNos = order.items.flatMap((item) => (item.cancelInQuestion ? [item.itemNo] : []))
  return order.profiles.filter((profile) => itemNos.includes(profile.itemNo))
}

/** Records what a supplier said of a cancel that it never answered. */
export function SettleCancel({ order, onClose }: { order: OrderDetail; onClose(): void }) {
  const settle = useChange({ done: t.orders.settled, quiet: true })
  return (
    <Dialog
      title={`${t.orders.settleCancel}: ${order.transactionId}`}
      opened
      onClose={onClose}
      submit={t.orders.settle}
      busy={settle.isPending}
      error={settle.error}
      onSubmit={({ profileId, ...body }) =>
        settle.mutate(
          { method: 'POST', path: `/tenants/${order.tenantId}/profiles/${profileId}/settle-cancel`, body },
          { onSuccess: onClose },
        )
      }
    >
      <Text size="sm">{t.orders.settleCancelText}</Text>
      <NativeSelect
        name="profileId"
        label={t.orders.cancelledEsim}
        data={cancelsInQuestion(order).map(({ profileId, itemNo, iccid }) => ({
          value: profileId,
          label: `${itemNo}: ${iccid}`,
        }))}
      />
      <NativeSelect
        name="verdict"
        label={t.orders.verdict}
        data={Object.entries(t.orders.cancelVerdicts).map(([value, label]) => ({ value, label }))}
      />
      <EvidenceField />
    </Dialog>
  )
}
