import type { EventView } from '@dealer-esim/gateway/http/console/webhooks.ts'
import { Anchor, Button, Group, Stack, Text } from '@mantine/core'
import { Link, useParams } from '@tanstack/react-router'
import { useApi, useChange } from '#api/use-api.ts'
import { CodeBlock } from '#code/code-block.tsx'
import { prettyJson } from '#code/highlight.ts'
import { formatDuration } from '#parts/format.ts'
import { LoadError, Loading } from '#parts/load-states.tsx'
import { Card, Page } from '#parts/page.tsx'
import { Copyable, Facts, Hint, Timestamp, TimeZone } from '#parts/values.tsx'
import { canEdit, isOperator, useSession } from '#people/sign-in/session.ts'
import { interpolate, t } from '#strings/strings.ts'
import { EventState, EventStatuses } from './event-state.tsx'

const REFRESH_MS = 3_000

/** An event with its request body and the response to each delivery attempt. */
export function EventPage() {
  const me = useSession()
  const { tenantId, notifyId } = useParams({ strict: false }) as { tenantId: string; notifyId: string }
  const path = `/tenants/${tenantId}/events/${notifyId}`
  const { data: event, error, refetch } = useApi<EventView>(path, {}, { refreshMs: REFRESH_MS })
  const resend = useChange({ success: t.webhooks.resent })
  if (error && !event) return <LoadError error={error} retry={refetch} />
  if (!event) return <Loading />
  return (
    <Page
      title={t.webhooks.types[event.notifyType]}
      back={{ to: '/webhooks', label: t.webhooks.title }}
      description={
        <Group gap="xs" mt={4}>
          <EventState event={event} />
          {isOperator(me) && (
            <Anchor component={Link} to={`/tenants/${tenantId}`} search={{} as never} size="sm">
              {event.clientName}
            </Anchor>
          )}
        </Group>
      }
      actions={
        canEdit(me) && (
          <Button
            variant="default"
            loading={resend.isPending}
            onClick={() => resend.mutate({ method: 'POST', path: `${path}/resend` })}
          >
            {t.webhooks.resend}
          </Button>
        )
      }
    >
      <Card>
        <Facts
          items={[
            [t.webhooks.notifyId, <Copyable key="n" value={event.notifyId} label={t.webhooks.notifyId} />],
            [
              t.orders.number,
              event.orderNo === null ? (
                '–'
              ) : (
                <Anchor
                  key="o"
                  component={Link}
                  to={`/tenants/${tenantId}/orders/${event.orderNo}`}
                  search={{} as never}
                  size="sm"
                >
                  {event.orderNo}
                </Anchor>
              ),
            ],
            [t.webhooks.reportedStatus, <EventStatuses key="s" event={event} />],
            [t.common.created, <Timestamp key="c" time={event.createdAt} />],
            [t.webhooks.nextAttempt, <Timestamp key="d" time={event.dueAt} />],
          ]}
        />
      </Card>
      <Card>
        <CodeBlock label={t.webhooks.requestBody} text={JSON.stringify(event.body, null, 2)} language="json" />
      </Card>
      <Card title={t.webhooks.attemptLog} actions={<TimeZone />}>
        {event.deliveries.length === 0 && <Hint>{t.webhooks.noAttempts}</Hint>}
        {event.deliveries.map((delivery) => (
          <Attempt key={delivery.attemptId} delivery={delivery} />
        ))}
      </Card>
    </Page>
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
  return httpStatus === null ? text : `${text} · ${interpolate(t.webhooks.httpStatus, { status: httpStatus })}`
}
