import type { EventView } from '@dealer-esim/gateway/http/console/webhooks.ts'
import { Button, Stack, Text } from '@mantine/core'
import { useParams } from '@tanstack/react-router'
import { useApi, useChange } from '#api/use-api.ts'
import { CodeBlock } from '#code/code-block.tsx'
import { prettyJson } from '#code/highlight.ts'
import { Record, StateSentence } from '#design/record.tsx'
import { formatDuration, formatRelativeTime } from '#parts/format.ts'
import { LoadState } from '#parts/load-states.tsx'
import { Card, Page } from '#parts/page.tsx'
import { Facts, Hint, type StatusTone, TechnicalDetails, TextLink, Timestamp, TimeZone } from '#parts/values.tsx'
import { canEdit, isOperator, useSession } from '#people/sign-in/session.ts'
import { formatMessage, t } from '#strings/strings.ts'
import { EventState, EventStatuses } from './event-state.tsx'

const REFRESH_MS = 3_000

/** An event with its request body and the response to each delivery attempt. */
export function EventPage() {
  const me = useSession()
  const { tenantId, notifyId } = useParams({ strict: false }) as { tenantId: string; notifyId: string }
  const path = `/tenants/${tenantId}/events/${notifyId}`
  const { data: event, error, refetch } = useApi<EventView>(path, {}, { refreshMs: REFRESH_MS })
  const resend = useChange({ success: t.webhooks.resent })
  if (!event) return <LoadState error={error} retry={refetch} />
  return (
    <Page
      title={t.webhooks.types[event.notifyType]}
      back={{ to: '/webhooks', label: t.webhooks.title }}
      mark={<EventState event={event} />}
    >
      <StateSentence
        tone={TONES[event.deliveryState]}
        title={stateOf(event)}
        text={t.webhooks.sentences[event.deliveryState].text}
        actions={
          canEdit(me) && (
            <Button
              variant={event.deliveryState === 'DEAD' ? 'filled' : 'default'}
              loading={resend.isPending}
              onClick={() => resend.mutate({ method: 'POST', path: `${path}/resend` })}
            >
              {t.webhooks.resend}
            </Button>
          )
        }
      />
      <Record rail={<EventFacts event={event} dealer={isOperator(me) ? `/tenants/${tenantId}` : undefined} />}>
        <Card title={t.webhooks.attemptLog} actions={<TimeZone />}>
          {event.deliveries.length === 0 && <Hint>{t.webhooks.noAttempts}</Hint>}
          {event.deliveries.map((delivery) => (
            <Attempt key={delivery.attemptId} delivery={delivery} />
          ))}
        </Card>
        <Card>
          <CodeBlock label={t.webhooks.requestBody} text={JSON.stringify(event.body, null, 2)} language="json" />
        </Card>
      </Record>
    </Page>
  )
}

const TONES: Record<EventView['deliveryState'], StatusTone> = {
  PENDING: 'busy',
  DELIVERED: 'ok',
  DEAD: 'bad',
  UNSENT: 'off',
}

/** What the receiver has answered so far, and when the gateway tries again. */
function stateOf({ deliveryState, deliveries, dueAt }: EventView): string {
  const last = deliveries.at(-1)
  return formatMessage(t.webhooks.sentences[deliveryState].title, {
    attempts: formatMessage(t.webhooks.sentences.attempts, { count: deliveries.length }),
    result: last ? attemptResult(last) : t.webhooks.noAttempts,
    time: dueAt === null ? '–' : formatRelativeTime(dueAt),
  })
}

function EventFacts({ event, dealer }: { event: EventView; dealer: string | undefined }) {
  const { tenantId, orderNo } = event
  return (
    <>
      <Card title={t.webhooks.type}>
        <Facts
          cols={1}
          items={[
            [
              t.common.dealer,
              dealer === undefined ? (
                event.clientName
              ) : (
                <TextLink key="t" to={dealer}>
                  {event.clientName}
                </TextLink>
              ),
            ],
            [t.webhooks.reportedStatus, <EventStatuses key="s" event={event} />],
            [t.common.created, <Timestamp key="c" time={event.createdAt} />],
            [t.webhooks.nextAttempt, <Timestamp key="d" time={event.dueAt} />],
          ]}
        />
        {orderNo !== null && <TextLink to={`/tenants/${tenantId}/orders/${orderNo}`}>{t.webhooks.openOrder}</TextLink>}
      </Card>
      <TechnicalDetails
        items={[
          [t.webhooks.notifyId, event.notifyId],
          [t.orders.number, orderNo],
        ]}
      />
    </>
  )
}

function Attempt({ delivery }: { delivery: EventView['deliveries'][number] }) {
  const { startedAt, duration_ms, url, address, headers, answer } = delivery
  return (
    <Stack gap="xs" className="attempt">
      <div>
        <Text size="sm" fw={600}>
          <Timestamp time={startedAt} format="exact" /> · {attemptResult(delivery)} · {formatDuration(duration_ms)}
        </Text>
        <Text size="xs" c="dimmed" className="break">
          {url} {address && `(${t.webhooks.address}: ${address})`}
        </Text>
      </div>
      {headers.length > 0 && (
        <details>
          <summary>{t.webhooks.requestHeaders}</summary>
          <CodeBlock
            label={t.webhooks.signaturesHidden}
            text={headers.map(({ name, value }) => `${name}: ${value}`).join('\n')}
            language="headers"
          />
        </details>
      )}
      {answer === null ? (
        <Hint>{t.webhooks.noResponseBody}</Hint>
      ) : (
        <CodeBlock label={t.webhooks.response} text={prettyJson(answer)} language="json" />
      )}
    </Stack>
  )
}

/** The outcome of a delivery attempt: our label for success, or the gateway's description of the failure. */
export function outcomeText(outcome: string | null): string | null {
  return outcome === 'acknowledged' ? t.webhooks.acknowledged : outcome
}

/** The outcome with the HTTP status, if there was a response. */
export function attemptResult({ outcome, httpStatus }: { outcome: string; httpStatus: number | null }): string {
  const text = outcomeText(outcome) ?? ''
  return httpStatus === null ? text : `${text} · ${formatMessage(t.webhooks.httpStatus, { status: httpStatus })}`
}
