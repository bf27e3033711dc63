import type { OrderDetail } from '@dealer-esim/gateway/http/console/orders/orders.ts'
import { Alert, Button, Group, Text, Textarea } from '@mantine/core'
import { useState } from 'react'
import { useChange } from '#api/use-api.ts'
import { packagesTitleText } from '#catalogue/package-title.ts'
import { ChangeDialog } from '#parts/dialog.tsx'
import { formatMoney, formatTime } from '#parts/format.ts'
import { canEdit, canOperate, isOperator, useSession } from '#people/sign-in/session.ts'
import { interpolate, t } from '#strings/strings.ts'
import { orderNumber } from './order-number.tsx'

/** Whom an undecided order waits for, what happens next and until when, with the one action beside it. */
export function OrderWaiting({ order }: { order: OrderDetail }) {
  const me = useSession()
  const { waiting } = order
  if (waiting === null) return null
  return (
    <Alert color={waiting.reason === 'REVIEW' && isOperator(me) ? 'red' : 'yellow'} data-waiting={waiting.reason}>
      <Group justify="space-between" gap="sm">
        <Text size="sm" maw={720}>
          {sentences(waiting, isOperator(me)).join(' ')}
        </Text>
        {canOperate(me) && <AskSupplier order={order} />}
        {!isOperator(me) && canEdit(me) && <AskOperator order={order} />}
      </Group>
    </Alert>
  )
}

function sentences(waiting: NonNullable<OrderDetail['waiting']>, toOperator: boolean): string[] {
  const { reason, supplier, since, nextAskAt, reviewAt } = waiting
  const texts = t.orders.waitingFor
  const isNamed = toOperator && (supplier !== null || reason === 'NOT_ASKED')
  const first = (isNamed ? texts.operator : texts.dealer)[reason]
  const isAsked = reason === 'NO_ANSWER' || reason === 'NOT_BOUGHT'
  return [
    interpolate(first, { supplier: supplier ?? '', since: formatTime(since) }),
    ...(nextAskAt !== null && reason !== 'NOT_ASKED'
      ? [interpolate(texts.askAt, { time: formatTime(nextAskAt) })]
      : isAsked
        ? [texts.askNow]
        : []),
    reviewAt === null ? texts.moneySafe : interpolate(texts.moneySafeUntil, { time: formatTime(reviewAt) }),
  ]
}

function AskSupplier({ order }: { order: OrderDetail }) {
  const ask = useChange({ success: t.orders.asked })
  const path = `/tenants/${order.tenantId}/orders/${order.orderNo}/ask`
  return (
    <Button size="xs" variant="default" loading={ask.isPending} onClick={() => ask.mutate({ method: 'POST', path })}>
      {t.orders.ask}
    </Button>
  )
}

/** A dealer's question, which the operator gets with the order. */
function AskOperator({ order }: { order: OrderDetail }) {
  const [opened, setOpened] = useState(false)
  const path = `/tenants/${order.tenantId}/orders/${order.orderNo}/questions`
  return (
    <>
      <Button size="xs" variant="default" onClick={() => setOpened(true)}>
        {t.orders.askOperator}
      </Button>
      {opened && (
        <ChangeDialog
          title={t.orders.askOperator}
          onClose={() => setOpened(false)}
          submit={t.orders.send}
          success={t.orders.questionSent}
          request={(body) => ({ method: 'POST', path, body })}
        >
          <Text size="sm" className="break">
            {[
              orderNumber(order),
              packagesTitleText(order.packages),
              formatMoney(order.amount, order.currencyCode),
            ].join(' · ')}
          </Text>
          <Textarea
            name="text"
            label={t.orders.question}
            description={t.orders.questionHint}
            required
            maxLength={2_000}
            autosize
            minRows={3}
            data-autofocus
          />
        </ChangeDialog>
      )}
    </>
  )
}
