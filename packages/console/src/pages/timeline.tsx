import type { OrderDetail, TimelineStep } from '@dealer-esim/gateway/console-api/orders.ts'
import { Anchor, Timeline as Line, Text } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { milliseconds, money, words } from '../format.ts'
import { When } from '../parts/when.tsx'
import { say, t } from '../strings/index.ts'

const COLORS: Record<TimelineStep['kind'], string> = {
  STATUS: 'cyan',
  DEBIT: 'blue',
  REFUND: 'yellow',
  ATTEMPT: 'grape',
  EVENT: 'gray',
  DELIVERY: 'gray',
  DECISION: 'orange',
}

/** Every step of an order, oldest first. */
export function Timeline({ order }: { order: OrderDetail }) {
  return (
    <Line bulletSize={14} lineWidth={2} active={order.timeline.length}>
      {order.timeline.map((step, index) => (
        <Line.Item
          // biome-ignore lint/suspicious/noArrayIndexKey: the steps of an order are only ever appended
          key={index}
          color={COLORS[step.kind]}
          title={titleOf(step, order)}
          data-step={step.kind}
        >
          <Text size="sm" c="dimmed" component="div">
            <When at={step.at} /> {detailOf(step, order)}
          </Text>
        </Line.Item>
      ))}
    </Line>
  )
}

function titleOf(step: TimelineStep, order: OrderDetail): string {
  const amount = step.amount === undefined ? '' : money(step.amount, order.currencyCode)
  const operation = t.orders.operations[step.operation as keyof typeof t.orders.operations] ?? ''
  return say(t.orders.timelineSteps[step.kind], {
    status: words(step.orderStatus ?? '').toLowerCase(),
    amount,
    supplier: step.supplier ?? '',
    operation,
    item: step.itemNo ?? '',
    type: step.notifyType ?? '',
    action: words((step.action ?? '').replace('.', ' ')),
    actor: step.actor ?? '',
  })
}

function detailOf(step: TimelineStep, order: OrderDetail) {
  const duration = step.duration_ms == null ? undefined : milliseconds(step.duration_ms)
  switch (step.kind) {
    case 'STATUS':
      return null
    case 'DEBIT':
    case 'REFUND':
      return joined(
        say(t.orders.balanceAfter, { amount: money(step.balanceAfter ?? 0, order.currencyCode) }),
        step.itemNo ? `${t.orders.item} ${step.itemNo}` : undefined,
        step.reason,
      )
    case 'ATTEMPT':
      return joined(step.outcome ?? t.orders.noAnswer, step.detail, duration)
    case 'EVENT':
      return (
        <>
          {' · '}
          {t.webhooks.states[step.deliveryState as keyof typeof t.webhooks.states]}
          {' · '}
          <Anchor
            component={Link}
            to={`/tenants/${order.tenantId}/events/${step.notifyId}`}
            size="sm"
            underline="always"
          >
            {t.common.details}
          </Anchor>
        </>
      )
    case 'DELIVERY':
      return joined(step.outcome, step.httpStatus === null ? undefined : `HTTP ${step.httpStatus}`, duration)
    case 'DECISION': {
      const after = (step.after ?? {}) as { reason?: string; evidence?: string }
      return joined(after.reason ?? after.evidence)
    }
    default:
      return step.kind satisfies never
  }
}

function joined(...parts: (string | null | undefined)[]): string {
  return parts
    .filter(Boolean)
    .map((part) => ` · ${part}`)
    .join('')
}
