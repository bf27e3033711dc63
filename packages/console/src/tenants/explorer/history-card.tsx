import { Anchor, Button, Group, Stack } from '@mantine/core'
import { Card } from '#parts/page.tsx'
import { Hint, Timestamp } from '#parts/values.tsx'
import { t } from '#strings/page-texts.ts'
import { formatMessage } from '#strings/strings.ts'
import type { PastRequest } from './call-history.ts'

/** Requests that this person sent from this browser. Choosing one fills in the form again. */
export function HistoryCard(props: { requests: PastRequest[]; onChoose(request: PastRequest): void; onClear(): void }) {
  const { requests, onChoose, onClear } = props
  if (requests.length === 0) return null
  return (
    <Card
      title={t.explorer.history}
      actions={
        <Button size="compact-xs" variant="default" onClick={onClear}>
          {t.explorer.clearHistory}
        </Button>
      }
    >
      <Hint>{t.explorer.historyText}</Hint>
      <Stack gap={4} component="ol" m={0} pl="lg" data-history>
        {requests.map((request) => (
          <li key={request.time + request.body}>
            <Group gap="xs">
              <Anchor component="button" type="button" size="sm" onClick={() => onChoose(request)}>
                {request.operation}
              </Anchor>
              <Hint size="xs">
                {request.status === null
                  ? t.orders.noResponse
                  : formatMessage(t.webhooks.httpStatus, { status: request.status })}{' '}
                · <Timestamp time={request.time} />
              </Hint>
            </Group>
          </li>
        ))}
      </Stack>
    </Card>
  )
}
