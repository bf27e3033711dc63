import { Button, Group, Text } from '@mantine/core'
import { useState } from 'react'
import { Card, Page } from '#parts/page.tsx'
import { Hint } from '#parts/values.tsx'
import { isOperator, useSession } from '#people/sign-in/session.ts'
import { t } from '#strings/strings.ts'
import { NewSecretDialog } from '#tenants/secret-dialogs.tsx'
import { CreateTwin } from '#tenants/test-twin.tsx'

/** Shown in test mode instead of every page while the dealer has no test twin. */
export default function TwinOffer({ tenantId, onDone }: { tenantId: string | undefined; onDone(): void }) {
  const me = useSession()
  const isLeftToOperator = me.role === 'DEALER_ADMIN' && !me.mayCreateTwin
  const [isOpen, setOpen] = useState(false)
  const [made, setMade] = useState<{ appKey: string; appSecret: string }>()
  if (isOperator(me))
    return (
      <Page title={t.testMode.label}>
        <Card title={t.testMode.ofDealers}>
          <Text size="sm">{t.testMode.ofDealersText}</Text>
        </Card>
      </Page>
    )
  return (
    <Page title={t.testMode.label}>
      <Card title={t.testMode.offer}>
        <Text size="sm" className="measure">
          {t.testTwin.text}
        </Text>
        {me.mayCreateTwin && !me.viewOnly ? (
          <Group>
            <Button onClick={() => setOpen(true)}>{t.testTwin.create}</Button>
          </Group>
        ) : (
          <Hint>{isLeftToOperator ? t.testMode.askOperator : t.testMode.askAdministrator}</Hint>
        )}
      </Card>
      {isOpen && (
        <CreateTwin
          tenantId={tenantId}
          onClose={() => setOpen(false)}
          onMade={(credentials) => {
            setOpen(false)
            setMade(credentials)
          }}
        />
      )}
      {made && <NewSecretDialog title={t.testTwin.create} copyText={t.testTwin.copyText} {...made} onClose={onDone} />}
    </Page>
  )
}
