import type { OrderDetail, TimelineStep } from '@dealer-esim/gateway/http/console/orders/orders.ts'
import type { NotesView } from '@dealer-esim/gateway/http/console/tenants/notes.ts'
import { Anchor, Button, Timeline as Line, Text, Title } from '@mantine/core'
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
import { Fragment, useState } from 'react'
import { useApi } from '#api/use-api.ts'
import { formatDay, formatDuration, formatMoney } from '#parts/format.ts'
import { Card } from '#parts/page.tsx'
import { Timestamp, TimeZone } from '#parts/values.tsx'
import { isOperator, useSession, usesApi } from '#people/sign-in/session.ts'
import { t } from '#strings/page-texts.ts'
import { formatMessage } from '#strings/strings.ts'
import { localDay } from '#strings/zone.ts'
import { AddNote, NoteText, type NoteView } from '#tenants/notes.tsx'
import { attemptResult } from '#webhooks/event.tsx'
import { type FoldedStep, foldSteps, formatItemNos } from './fold-steps.ts'

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

type Entry = { day: string; at: string; line: FoldedStep } | { day: string; at: string; note: NoteView }

/** Every step of an order and every note on it, newest first. Repeated polls share one line, events are shown on request. */
export function OrderStream({ order }: { order: OrderDetail }) {
  const me = useSession()
  const [showsEvents, setShowsEvents] = useState(false)
  const path = `/tenants/${order.tenantId}/orders/${order.orderNo}/notes`
  const { data } = useApi<NotesView>(path, {}, { enabled: isOperator(me) })
  const events = usesApi(me) ? order.timeline.filter(isOfEvent).length : 0
  const steps = foldSteps(order.timeline.filter((step) => showsEvents || !isOfEvent(step))).map(
    (line): Entry => ({ day: dayOf(line.step.at), at: line.step.at, line }),
  )
  const notes = (data?.notes ?? []).map((note): Entry => ({ day: dayOf(note.createdAt), at: note.createdAt, note }))
  // Stable: steps in the same millisecond keep their order.
  const entries = [...steps, ...notes].sort((a, b) => a.at.localeCompare(b.at)).reverse()
  return (
    <Card title={t.orders.timeline} actions={<TimeZone />}>
      {isOperator(me) && <AddNote path={path} />}
      {events > 0 && (
        <Button
          variant="default"
          size="xs"
          aria-expanded={showsEvents}
          onClick={() => setShowsEvents(!showsEvents)}
          style={{ alignSelf: 'flex-start' }}
        >
          {formatMessage(showsEvents ? t.orders.hideEvents : t.orders.showEvents, { count: events })}
        </Button>
      )}
      {[...new Set(entries.map(({ day }) => day))].map((day) => (
        <Fragment key={day}>
          <Title order={3}>{formatDay(day)}</Title>
          <Line bulletSize={22} lineWidth={2} active={entries.length}>
            {entries
              .filter((entry) => entry.day === day)
              .map((entry, index) =>
                'note' in entry ? noteItem(entry.note, order) : stepItem(entry.line, index, order),
              )}
          </Line>
        </Fragment>
      ))}
    </Card>
  )
}

function isOfEvent({ kind }: TimelineStep): boolean {
  return kind === 'EVENT' || kind === 'DELIVERY'
}

function dayOf(time: string): string {
  return localDay(Date.parse(time))
}

function noteItem(note: NoteView, { tenantId }: OrderDetail) {
  return (
    <Line.Item key={note.noteId} color="accent" bullet={<IconNote size={13} aria-hidden="true" />} title={note.actor}>
      <NoteText tenantId={tenantId} note={note} />
    </Line.Item>
  )
}

/** Not a component: Mantine's Timeline passes its direct children their positions. */
function stepItem(line: FoldedStep, index: number, order: OrderDetail) {
  return (
    <Line.Item
      key={index}
      color={colorOf(line.step)}
      bullet={<Bullet kind={line.step.kind} />}
      title={stepTitle(line, order)}
      data-step={line.step.kind}
    >
      <Text size="sm" c="dimmed" component="div">
        <Timestamp time={line.step.at} format="clock" /> {stepDetail(line.step, order)}
        {line.count > 1 && (
          <span data-repeats={line.count}>
            {' · '}
            {formatMessage(t.orders.timelineRepeats, { count: line.count })}{' '}
            <Timestamp time={line.until} format={dayOf(line.until) === dayOf(line.step.at) ? 'clock' : 'short'} />
          </span>
        )}
      </Text>
    </Line.Item>
  )
}

function colorOf({ kind, orderStatus }: TimelineStep): string {
  if (orderStatus === 'DELIVERED') return 'teal'
  return kind === 'REFUND' || kind === 'DECISION' ? 'orange' : 'gray'
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
