import type { OrderRow } from '@dealer-esim/gateway/http/console/orders/orders.ts'
import { NativeSelect, Textarea } from '@mantine/core'
import { Bulk } from '#lists/bulk.tsx'
import { ReasonField } from '#parts/dialog.tsx'
import { t } from '#strings/strings.ts'
import { EvidenceField } from './evidence-field.tsx'
import { orderNumber } from './order-number.tsx'

/** The actions of operators on selected orders. Delivered eSIMs are entered on the page of their order. */
export function OrderBulk({ orders, onClear }: { orders: OrderRow[]; onClear(): void }) {
  return (
    <Bulk
      rows={orders}
      idOf={(row) => row.orderNo}
      nameOf={(row) => `${orderNumber(row)} · ${row.clientName}`}
      onClear={onClear}
      actions={[
        {
          label: t.orders.resolve,
          text: t.orders.bulk.resolveText,
          fields: (
            <>
              <NativeSelect
                name="verdict"
                label={t.orders.supplierAnswer}
                required
                data={[
                  { value: '', label: t.orders.bulk.chooseAnswer, disabled: true },
                  { value: 'refused', label: t.orders.supplierAnswers.refused },
                  { value: 'retry', label: t.orders.supplierAnswers.retry },
                ]}
                defaultValue=""
              />
              <EvidenceField />
            </>
          ),
          skip: (row) => (row.orderStatus === 'UNDER_REVIEW' ? undefined : t.orders.bulk.notUnderReview),
          change: (row, body) => ({ method: 'POST', path: `${pathOf(row)}/settle`, body }),
        },
        {
          label: t.orders.cancel,
          text: t.orders.bulk.cancelText,
          danger: true,
          fields: <ReasonField />,
          skip: (row) => (row.orderStatus === 'PAID' ? undefined : t.orders.bulk.notCancellable),
          change: (row, body) => ({ method: 'POST', path: `${pathOf(row)}/cancel`, body }),
        },
        {
          label: t.notes.add,
          text: t.notes.text,
          fields: <Textarea name="text" label={t.notes.new} autosize minRows={2} maxLength={2_000} required />,
          change: (row, body) => ({ method: 'POST', path: `${pathOf(row)}/notes`, body }),
        },
      ]}
    />
  )
}

function pathOf({ tenantId, orderNo }: OrderRow): string {
  return `/tenants/${tenantId}/orders/${orderNo}`
}
