import type { EventView } from '@dealer-esim/gateway/console-api/webhooks.ts'
import { Anchor, Button, Stack, Text } from '@mantine/core'
import { Link, useParams } from '@tanstack/react-router'
import { useApi, useChange } from '../api/use-api.ts'
import { milliseconds } from '../parts/format.ts'
import { Failure, Loading } from '../parts/load-states.tsx'
import { Card, Page } from '../parts/page.tsx'
import { Copyable, Facts, Status, When } from '../parts/values.tsx'
import { useSession, works } from '../session/session.ts'
import { say, t } from '../strings/strings.ts'

const REFRESH_MS = 3_000

/** An event, what was sent and what came back, attempt by attempt. */
export function EventPage() {
  const me = useSession()
  const { tenantId, notifyId } = useParams({ strict: false }) as { tenantId: string; notifyId: string }
  const path = `/tenants/${tenantId}/events/${notifyId}`
  const { data: event, error, refetch } = useApi<EventView>(path, {}, { refresh_ms: REFRESH_MS })
  const resend = useChange({ done: t.webhooks.resent })
  if (error && !event) return <Failure error={error} retry={refetch} />
  if (!event) return <Loading />
  return (
    <Page
      title={t.webhooks.types[event.notifyType]}
      back={{ to: '/webhooks', label: t.webhooks.title }}
      description={<Status of={event.deliveryState} texts={t.webhooks.states} />}
      actions={
        works(me) && (
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
          of={[
            [t.webhooks.notifyId, <Copyable key="n" value={event.notifyId} label={t.webhooks.notifyId} />],
            [
              t.orders.number,
              <Anchor
                key="o"
                component={Link}
                to={`/tenants/${tenantId}/orders/${event.orderNo}`}
                search={{} as never}
                size="sm"
              >
                {event.orderNo}
              </Anchor>,
            ],
            [t.common.created, <When key="c" at={event.createdAt} />],
            [t.webhooks.next, <When key="d" at={event.dueAt} />],
          ]}
        />
      </Card>
      <Card title={t.webhooks.request}>
        <pre className="code">{JSON.stringify(event.body, null, 2)}</pre>
      </Card>
      <Card title={t.webhooks.log}>
        {event.deliveries.length === 0 && (
          <Text size="sm" c="dimmed">
            {t.webhooks.noAttempts}
          </Text>
        )}
        {event.deliveries.map((delivery) => (
          <Stack key={delivery.attemptId} gap={4}>
            <Text size="sm" fw={600}>
              <When at={delivery.startedAt} as="exact" /> · {answerOf(delivery)} · {milliseconds(delivery.duration_ms)}
            </Text>
            <Text size="xs" c="dimmed" className="break">
              {delivery.url} {delivery.address && `(${t.webhooks.dialled}: ${delivery.address})`}
            </Text>
            <pre className="code">{delivery.answer ?? t.webhooks.noAnswer}</pre>
          </Stack>
        ))}
      </Card>
    </Page>
  )
}

/** What came of an attempt to deliver an event: a word of ours, or what went wrong in the gateway's words. */
export function outcomeOf(outcome: string | null): string | null {
  return outcome === 'acknowledged' ? t.webhooks.acknowledged : outcome
}

/** The same, with the status of the answer where there was one. */
export function answerOf({ outcome, httpStatus }: { outcome: string; httpStatus: number | null }): string {
  const words = outcomeOf(outcome) ?? ''
  return httpStatus === null ? words : `${words} · ${say(t.webhooks.http, { status: httpStatus })}`
}
