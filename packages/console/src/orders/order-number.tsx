import { Anchor } from '@mantine/core'
import { Link } from '@tanstack/react-router'

/** An order's number as people say it: `#1042`. It is unique within its dealer; the orderNo is among the technical details. */
export function orderNumber({ entryNo }: { entryNo: number }): string {
  return `#${entryNo}`
}

/** An order's number with a link to its page. */
export function OrderNumber({ order }: { order: { tenantId: string; orderNo: string; entryNo: number } }) {
  return (
    <Anchor
      component={Link}
      to={`/tenants/${order.tenantId}/orders/${order.orderNo}`}
      search={{} as never}
      size="sm"
      fw={550}
    >
      {orderNumber(order)}
    </Anchor>
  )
}
