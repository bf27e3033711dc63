import type { OrderDetail } from '@dealer-esim/gateway/http/console/orders/orders.ts'
import { Button } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { useChange } from '#api/use-api.ts'
import { packagesTitleText } from '#catalogue/package-title.ts'
import { StateSentence } from '#design/record.tsx'
import { asSentence, formatMoney, formatTime, formatTimeOrClock } from '#parts/format.ts'
import type { StatusTone } from '#parts/values.tsx'
import { canEdit, canOperate, isOperator, useSession } from '#people/sign-in/session.ts'
import { formatMessage, t } from '#strings/strings.ts'
import { AskOperator, OperatorAnswers } from '#tenants/operator-contact.tsx'
import { orderNumber } from './order-number.tsx'

/** The state of an order, and what comes next or what to do. `decide`: the operator's action, if one is needed. */
export function OrderState({ order, decide }: { order: OrderDetail; decide: ReactNode }) {
  const me = useSession()
  const { waiting } = order
  if (waiting === null) return <StateSentence {...endOf(order)} actions={decide || <NextPage order={order} />} />
  const [title, ...text] = sentences(waiting, isOperator(me))
  return (
    <StateSentence
      tone="warn"
      title={title}
      text={
        <>
          {text.join(' ')}
          {!isOperator(me) && <OperatorAnswers />}
        </>
      }
      waiting={waiting.reason}
      actions={
        <>
          {canOperate(me) && <AskSupplier order={order} />}
          {decide}
          {!isOperator(me) && canEdit(me) && <AskAboutOrder order={order} />}
        </>
      }
    />
  )
}

/** The sentence for an order that nobody is waiting for. */
function endOf(order: OrderDetail): { tone: StatusTone; title: string; text?: ReactNode } {
  const { orderStatus, currencyCode, refundedAmount, items, updatedAt } = order
  const texts = t.orders.ends
  const delivered = items.filter(({ itemStatus }) => itemStatus === 'DELIVERED').length
  const parts = {
    refunded: formatMoney(refundedAmount, currencyCode),
    amount: formatMoney(order.amount, currencyCode),
    time: formatTime(updatedAt),
    delivered,
    count: items.length,
  }
  const given = items.find(({ failureReason }) => failureReason !== null)?.failureReason
  const reason = given ? asSentence(given) : undefined
  const refund = refundedAmount > 0 ? formatMessage(texts.refunded, parts) : undefined
  if (orderStatus === 'DELIVERED')
    return { tone: 'ok', title: formatMessage(texts.delivered, parts), text: refund ?? texts.nothingToDo }
  if (orderStatus === 'PARTIALLY_DELIVERED')
    return { tone: 'warn', title: formatMessage(texts.partly, parts), text: joined(refund, reason) }
  if (orderStatus === 'FAILED')
    return { tone: 'bad', title: formatMessage(texts.failed, parts), text: joined(refund, reason) }
  if (orderStatus === 'CANCELLED') return { tone: 'off', title: formatMessage(texts.cancelled, parts), text: refund }
  return { tone: 'busy', title: texts.underWay, text: texts.nothingToDo }
}

function joined(...texts: (string | undefined)[]): string {
  return texts.filter((text) => text !== undefined).join(' ')
}

/** The next page after a finished order: its eSIM, or another purchase. */
function NextPage({ order }: { order: OrderDetail }) {
  const me = useSession()
  const [profile, ...others] = order.profiles
  const { tenantId, orderNo } = order
  if (profile === undefined && isOperator(me)) return null
  const [to, search, label] =
    profile === undefined
      ? ['/buy', {}, t.portal.title]
      : others.length === 0
        ? [`/tenants/${tenantId}/profiles/${profile.profileId}`, {}, t.orders.openEsim]
        : ['/profiles', { orderNo, tenantId }, t.orders.openEsims]
  return (
    <Button component={Link} to={to} search={search as never}>
      {label}
    </Button>
  )
}

function sentences(waiting: NonNullable<OrderDetail['waiting']>, toOperator: boolean): string[] {
  const { reason, supplier, since, nextAskAt, reviewAt } = waiting
  const texts = t.orders.waitingFor
  const isNamed = toOperator && (supplier !== null || reason === 'NOT_ASKED')
  const first = (isNamed ? texts.operator : texts.dealer)[reason]
  const isAsked = reason === 'NO_ANSWER' || reason === 'NOT_BOUGHT'
  return [
    formatMessage(first, { supplier: supplier ?? '', since: formatTimeOrClock(since) }),
    ...(reason === 'REVIEW' && toOperator ? [texts.reviewAdvice] : []),
    ...(nextAskAt !== null && reason !== 'NOT_ASKED'
      ? [formatMessage(texts.askAt, { time: formatTimeOrClock(nextAskAt) })]
      : isAsked
        ? [texts.askNow]
        : []),
    reviewAt === null ? texts.moneySafe : formatMessage(texts.moneySafeUntil, { time: formatTimeOrClock(reviewAt) }),
  ]
}

function AskSupplier({ order }: { order: OrderDetail }) {
  const ask = useChange({ success: t.orders.asked })
  const path = `/tenants/${order.tenantId}/orders/${order.orderNo}/ask`
  return (
    <Button loading={ask.isPending} onClick={() => ask.mutate({ method: 'POST', path })}>
      {t.orders.ask}
    </Button>
  )
}

/** A dealer's question, which the operator receives with the order. */
function AskAboutOrder({ order }: { order: OrderDetail }) {
  const { tenantId, orderNo, packages, amount, currencyCode } = order
  return (
    <AskOperator path={`/tenants/${tenantId}/orders/${orderNo}/questions`} hint={t.orders.questionHint}>
      {[orderNumber(order), packagesTitleText(packages), formatMoney(amount, currencyCode)].join(' · ')}
    </AskOperator>
  )
}
