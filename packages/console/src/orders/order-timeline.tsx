import type { OrderDetail, TimelineStep } from '@dealer-esim/gateway/http/console/orders/orders.ts'
import type { NotesView } from '@dealer-esim/gateway/http/console/tenants/notes.ts'
import { Anchor, Timeline as Line, Text } from '@mantine/core'
import {
  IconBell,
  IconClock,
  IconInbox,
  IconMinus,
  IconNote,
  IconPlus,
  IconSend,
  IconTruckDelivery,
  IconUser,
} from '@tabler/icons-react'
import { Link } from '@tanstack/react-router'
import { useApi } from '#api/use-api.ts'
import { formatDuration, formatMoney } from '#parts/format.ts'
import { Card } from '#parts/page.tsx'
import { Timestamp, TimeZone } from '#parts/values.tsx'
import { isOperator, useSession, usesApi } from '#people/sign-in/session.ts'
import { t } from '#strings/page-texts.ts'
import { formatMessage } from '#strings/strings.ts'
import { AddNote, NoteText, type NoteView } from '#tenants/notes.tsx'
import { attemptResult } from '#webhooks/event.tsx'
import { type FoldedStep, foldSteps, formatItemNos } from './fold-steps.ts'

const COLORS: Record<TimelineStep['kind'], string> = {
  REQUEST: 'gray',
  STATUS: 'teal',
  DEBIT: 'gray',
  REFUND: 'orange',
  ATTEMPT: 'gray',
  EVENT: 'gray',
  DELIVERY: 'gray',
  DECISION: 'orange',
}

const ICONS: Record<TimelineStep['kind'], typeof IconClock> = {
  REQUEST: IconInbox,
  STATUS: IconClock,
  DEBIT: IconMinus,
  REFUND: IconPlus,
  ATTEMPT: IconTruckDelivery,
  EVENT: IconBell,
  DELIVERY: IconSend,
  DECISION: IconUser,
}

type Entry = { at: string; line: FoldedStep } | { at: string; note: NoteView }

/** Every step of an order and every note on it, oldest first. Repeated polls share one line. */
export function OrderStream({ order }: { order: OrderDetail }) {
  const me = useSession()
  const path = `/tenants/${order.tenantId}/orders/${order.orderNo}/notes`
  const { data } = useApi<NotesView>(path, {}, { enabled: isOperator(me) })
  const isShown = ({ kind }: TimelineStep) => usesApi(me) || (kind !== 'EVENT' && kind !== 'DELIVERY')
  const steps = foldSteps(order.timeline.filter(isShown)).map((line): Entry => ({ at: line.step.at, line }))
  const notes = (data?.notes ?? []).map((note): Entry => ({ at: note.createdAt, note }))
  // Stable: steps in the same millisecond keep their order.
  const entries = [...steps, ...notes].sort((a, b) => a.at.localeCompare(b.at))
  return (
    <Card title={t.orders.timeline} actions={<TimeZone />}>
      <Line bulletSize={22} lineWidth={2} active={entries.length}>
        {entries.map((entry, index) =>
          'note' in entry ? (
            <Line.Item
              key={entry.note.noteId}
              color="accent"
              bullet={<IconNote size={13} aria-hidden="true" />}
              title={entry.note.actor}
            >
              <NoteText tenantId={order.tenantId} note={entry.note} />
            </Line.Item>
          ) : (
            stepItem(entry.line, index, order)
          ),
        )}
      </Line>
      {isOperator(me) && <AddNote path={path} />}
    </Card>
  )
}

/** Not a component: Mantine's Timeline passes its direct children their positions. */
function stepItem(line: FoldedStep, index: number, order: OrderDetail) {
  return (
    <Line.Item
      key={index}
      color={COLORS[line.step.kind]}
      bullet={<Bullet kind={line.step.kind} />}
      title={stepTitle(line, order)}
      data-step={line.step.kind}
    >
      <Text size="sm" c="dimmed" component="div">
        <Timestamp time={line.step.at} format="exact" /> {stepDetail(line.step, order)}
        {line.count > 1 && (
          <span data-repeats={line.count}>
            {' · '}
            {formatMessage(t.orders.timelineRepeats, { count: line.count })}{' '}
            <Timestamp time={line.until} format="exact" />
          </span>
        )}
      </Text>
    </Line.Item>
  )
}

function Bullet({ kind }: { kind: TimelineStep['kind'] }) {
  const Icon = ICONS[kind]
  return <Icon size={13} aria-hidden="true" />
}

function stepTitle({ step, itemNos }: FoldedStep, order: OrderDetail): string {
  switch (step.kind) {
    case 'REQUEST':
      return t.orders.timelineSteps.REQUEST
    case 'STATUS':
      return labelFor(t.orders.timelineStatuses, step.orderStatus)
    case 'DEBIT':
    case 'REFUND':
      return formatMessage(t.orders.timelineSteps[step.kind], {
        amount: formatMoney(step.amount ?? 0, order.currencyCode),
      })
    case 'ATTEMPT':
      return formatMessage(labelFor(t.orders.timelineAttempts, attemptName(step, itemNos)), {
        supplier: step.supplier ?? '',
        item: formatItemNos(itemNos),
      })
    case 'EVENT':
      return formatMessage(t.orders.timelineSteps.EVENT, { type: labelFor(t.webhooks.types, step.notifyType) })
    case 'DELIVERY':
      return formatMessage(t.orders.timelineSteps.DELIVERY, {
        type: labelFor(t.webhooks.types, eventTypeOf(step, order)),
        result: attemptResult({ outcome: step.outcome ?? '', httpStatus: step.httpStatus ?? null }),
      })
    case 'DECISION':
      return formatMessage(t.orders.timelineSteps.DECISION, {
        action: labelFor(t.audit.actions, step.action),
        actor: step.actor ?? '',
      })
    default:
      return step.kind satisfies never
  }
}

/** Only repeated questions share one line for several eSIMs. */
function attemptName({ operation }: TimelineStep, itemNos: readonly number[]): string {
  return operation === 'QUERY' && itemNos.length > 1 ? 'QUERY_SEVERAL' : (operation ?? '')
}

/** An attempt identifies its event only by id; the event is a step of the same order. */
function eventTypeOf(step: TimelineStep, order: OrderDetail): string {
  const event = order.timeline.find((one) => one.kind === 'EVENT' && one.notifyId === step.notifyId)
  return event?.notifyType ?? ''
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
        formatMessage(t.orders.balanceAfter, { amount: formatMoney(step.balanceAfter ?? 0, order.currencyCode) }),
        step.itemNo ? formatMessage(t.orders.esimNumber, { item: step.itemNo }) : undefined,
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
      return joinParts(duration)
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
