import type { OrderDetail, TimelineStep } from '@dealer-esim/gateway/console-api/routes/orders/orders.ts'
import { Anchor, Timeline as Line, Text } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { formatDuration, formatMoney } from '../parts/format.ts'
import { Timestamp } from '../parts/values.tsx'
import { interpolate, t } from '../strings/strings.ts'
import { attemptResult } from '../webhooks/event.tsx'

const COLORS: Record<TimelineStep['kind'], string> = {
  REQUEST: 'cyan',
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
          title={stepTitle(step, order)}
          data-step={step.kind}
        >
          <Text size="sm" c="dimmed" component="div">
            <Timestamp time={step.at} format="exact" /> {stepDetail(step, order)}
          </Text>
        </Line.Item>
      ))}
    </Line>
  )
}

function stepTitle(step: TimelineStep, order: OrderDetail): string {
  switch (step.kind) {
    case 'REQUEST':
      return t.orders.timelineSteps.REQUEST
    case 'STATUS':
      return labelFor(t.orders.timelineStatuses, step.orderStatus)
    case 'DEBIT':
    case 'REFUND':
      return interpolate(t.orders.timelineSteps[step.kind], {
        amount: formatMoney(step.amount ?? 0, order.currencyCode),
      })
    case 'ATTEMPT':
      return interpolate(labelFor(t.orders.timelineAttempts, step.operation), {
        supplier: step.supplier ?? '',
        item: step.itemNo ?? '',
      })
    case 'EVENT':
      return interpolate(t.orders.timelineSteps.EVENT, { type: labelFor(t.webhooks.types, step.notifyType) })
    case 'DELIVERY':
      return t.orders.timelineSteps.DELIVERY
    case 'DECISION':
      return interpolate(t.orders.timelineSteps.DECISION, {
        action: labelFor(t.audit.actions, step.action),
        actor: step.actor ?? '',
      })
    default:
      return step.kind satisfies never
  }
}

/** The label of a name, or the name itself if there is no label for it. */
function labelFor(texts: Record<string, string>, name: string | null = ''): string {
  return name === null ? '' : (texts[name] ?? name)
}

function stepDetail(step: TimelineStep, order: OrderDetail) {
  const duration = step.duration_ms == null ? undefined : formatDuration(step.duration_ms)
  switch (step.kind) {
    case 'REQUEST':
      return ` · ${order.transactionId}`
    case 'STATUS':
      return null
    case 'DEBIT':
    case 'REFUND':
      return joinParts(
        interpolate(t.orders.balanceAfter, { amount: formatMoney(step.balanceAfter ?? 0, order.currencyCode) }),
        step.itemNo ? interpolate(t.orders.esimNumber, { item: step.itemNo }) : undefined,
        step.reason,
      )
    case 'ATTEMPT':
      return joinParts(
        step.outcome ? labelFor(t.orders.outcomes, step.outcome) : t.orders.noResponse,
        step.detail,
        duration,
      )
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
      return joinParts(attemptResult({ outcome: step.outcome ?? '', httpStatus: step.httpStatus ?? null }), duration)
    case 'DECISION': {
      const after = (step.after ?? {}) as { reason?: string; evidence?: string }
      return joinParts(after.reason ?? after.evidence)
    }
    default:
      return step.kind satisfies never
  }
}

function joinParts(...parts: (string | null | undefined)[]): string {
  return parts
    .filter(Boolean)
    .map((part) => ` · ${part}`)
    .join('')
}
