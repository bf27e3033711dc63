import { List, Text } from '@mantine/core'
import { Card, Page } from '#parts/page.tsx'
import { TextLink } from '#parts/values.tsx'
import { canAdminister, useSession, usesApi } from '#people/sign-in/session.ts'
import { t } from '#strings/strings.ts'
import { TestTwin } from '#tenants/test-twin.tsx'

/** The home page in test mode: what to try. Figures are about live accounts only. */
export default function TestHome() {
  const me = useSession()
  const own = `/tenants/${me.tenant?.tenantId}`
  return (
    <Page title={t.testMode.label} description={t.testMode.homeText}>
      <Card title={t.testMode.try}>
        <List size="sm" spacing="xs">
          <Step to="/buy" label={t.portal.title} text={t.testMode.buyText} />
          <Step to="/test-mails" label={t.testMails.title} text={t.testMode.mailsText} />
          {usesApi(me) && (
            <>
              <Step to={`${own}/credentials`} label={t.credentials.title} text={t.testMode.credentialsText} />
              <Step to="/explorer" label={t.explorer.title} text={t.testMode.explorerText} />
              <Step to="/webhooks/endpoint" label={t.endpoint.title} text={t.testMode.webhooksText} />
            </>
          )}
        </List>
      </Card>
      {canAdminister(me) && me.tenant && <TestTwin tenantId={me.tenant.tenantId} />}
    </Page>
  )
}

function Step({ to, label, text }: { to: string; label: string; text: string }) {
  return (
    <List.Item>
      <TextLink to={to}>{label}</TextLink>
      <Text size="sm" c="dimmed">
        {text}
      </Text>
    </List.Item>
  )
}
