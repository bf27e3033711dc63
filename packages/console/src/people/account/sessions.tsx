import { Badge, Button } from '@mantine/core'
import { useApi, useChange } from '#api/use-api.ts'
import { actionsColumn, RowButton, relativeTimeColumn } from '#parts/list-columns.tsx'
import { Card } from '#parts/page.tsx'
import { List } from '#parts/record-list.tsx'
import { Hint } from '#parts/values.tsx'
import { t } from '#strings/strings.ts'

interface SessionRow {
  sessionId: string
  address: string | null
  userAgent: string | null
  seenAt: string
  current: boolean
}

export function Sessions() {
  const list = useApi<{ sessions: SessionRow[] }>('/account/sessions')
  const end = useChange({ success: t.account.sessionEnded })
  return (
    <Card
      title={t.account.sessions}
      actions={
        <Button variant="default" onClick={() => end.mutate({ method: 'DELETE', path: '/account/sessions' })}>
          {t.account.endOtherSessions}
        </Button>
      }
    >
      <Hint>{t.account.sessionsText}</Hint>
      <List<SessionRow>
        label={t.account.sessions}
        rows={list.data?.sessions}
        query={list}
        idOf={(row) => row.sessionId}
        empty={{ title: t.account.sessions }}
        columns={[
          { accessor: 'userAgent', title: t.account.browser, render: (row) => browserOf(row.userAgent) },
          { accessor: 'address', title: t.account.address, render: (row) => row.address ?? '–' },
          relativeTimeColumn('seenAt', t.account.lastActive),
          actionsColumn((row) =>
            row.current ? (
              <Badge variant="light" tt="none">
                {t.account.thisSession}
              </Badge>
            ) : (
              <RowButton
                label={t.account.endSession}
                of={`${browserOf(row.userAgent)}, ${row.address ?? '–'}`}
                onClick={() => end.mutate({ method: 'DELETE', path: `/account/sessions/${row.sessionId}` })}
              />
            ),
          ),
        ]}
      />
    </Card>
  )
}

/** "Chrome · Linux": enough to recognise a session. */
function browserOf(userAgent: string | null): string {
  if (!userAgent) return '–'
  const browser = /(Edg|Firefox|Chrome|Safari)\//.exec(userAgent)?.[1]?.replace('Edg', 'Edge')
  const system = /(Windows|Android|iPhone|iPad|Mac OS X|Linux)/.exec(userAgent)?.[1]
  return browser && system ? `${browser} · ${system}` : userAgent.slice(0, 40)
}
