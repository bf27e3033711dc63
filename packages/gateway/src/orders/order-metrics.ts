import type { OrderStatus } from '@dealer-esim/contract'
import { Counter, type Registry } from '@platformatic/prom-client'

export interface OrderMetrics {
  /** Orders came into a status. */
  entered(status: OrderStatus, orders?: number): void
}

export function orderMetrics(registry: Registry): OrderMetrics {
  const entered = new Counter({
    name: 'dealer_esim_order_status_total',
    help: 'Orders that came into a status, by the node that did it; PAID are those that were placed',
    labelNames: ['status'],
    registers: [registry],
  })
  return { entered: (status, orders = 1) => entered.inc({ status }, orders) }
}
