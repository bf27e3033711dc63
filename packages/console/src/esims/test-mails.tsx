import type { TestMailRow, TestMailView } from '@dealer-esim/gateway/http/console/esims/test-mails.ts'
import { Anchor, SegmentedControl, Text } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { apiUrl } from '#api/call-api.ts'
import { useApi } from '#api/use-api.ts'
import { timeColumn, valueColumn } from '#parts/list-columns.tsx'
import { LoadError, Loading } from '#parts/load-states.tsx'
import { Card, Page } from '#parts/page.tsx'
import { List } from '#parts/record-list.tsx'
import { useFilters } from '#parts/use-filters.ts'
import { Facts } from '#parts/values.tsx'
import { useSession } from '#people/sign-in/session.ts'
import { t } from '#strings/strings.ts'

/** A traveller's mail may be written while somebody looks at the list. */
const REFRESH_MS = 5_000

/** The e-mails of the test twin, which nobody received. The one that is open is in the address: `/test-mails?mail=…`. */
export function TestMailsPage() {
  const { tenant } = useSession()
  const [{ mail: mailId }] = useFilters()
  const path = `/tenants/${tenant?.tenantId}/test-mails`
  const { data, error, refetch } = useApi<{ mails: TestMailRow[] }>(path, {}, { refreshMs: REFRESH_MS })
  const kinds: Record<string, string> = { ...t.alerts.types, ...t.testMails.kinds }
  return (
    <Page title={t.testMails.title} description={t.testMails.text}>
      {error && !data && <LoadError error={error} retry={refetch} />}
      {data && (
        <List<TestMailRow>
          label={t.testMails.title}
          rows={data.mails}
          columns={[
            timeColumn('sentAt', t.testMails.sentAt, { phone: 'value' }),
            valueColumn(
              'subject',
              t.testMails.subject,
              (row) => (
                <Anchor component={Link} to="/test-mails" search={{ mail: row.mailId } as never} size="sm">
                  {row.subject}
                </Anchor>
              ),
              { phone: 'main', width: 360 },
            ),
            valueColumn('to', t.testMails.to, (row) => row.to ?? '', { phone: 'note' }),
            valueColumn('kind', t.testMails.kind, (row) => kinds[row.kind] ?? row.kind, { phone: 'status' }),
          ]}
          idOf={(row) => row.mailId}
          empty={{ title: t.testMails.none, text: t.testMails.noneText }}
        />
      )}
      {mailId && <OpenMail key={mailId} path={`${path}/${mailId}`} />}
    </Page>
  )
}

function OpenMail({ path }: { path: string }) {
  const { data: mail, error } = useApi<TestMailView>(path)
  const [form, setForm] = useState<'page' | 'text'>('page')
  if (error) return <LoadError error={error} />
  if (!mail) return <Loading />
  return (
    <Card
      title={mail.subject}
      actions={
        <SegmentedControl
          size="xs"
          aria-label={t.testMails.form}
          value={form}
          onChange={(value) => setForm(value as 'page' | 'text')}
          data={[
            { value: 'page', label: t.testMails.page },
            { value: 'text', label: t.testMails.plain },
          ]}
        />
      }
    >
      <Facts
        items={[
          [t.testMails.from, mail.from],
          [t.testMails.to, mail.to],
          [t.testMails.replyTo, mail.replyTo],
        ]}
      />
      {form === 'text' ? (
        <Text component="pre" size="sm" className="mail-text">
          {mail.text}
        </Text>
      ) : (
        // Also sandboxed by its own policy. Links open in a tab of their own.
        <iframe
          className="mail-page"
          title={mail.subject}
          src={apiUrl(`${path}/page`).href}
          sandbox="allow-popups allow-popups-to-escape-sandbox"
        />
      )}
    </Card>
  )
}
