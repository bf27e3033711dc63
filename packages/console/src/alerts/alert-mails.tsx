import type { AlertKind } from '@dealer-esim/gateway/alerts/alert-kinds.ts'
import type { Me } from '@dealer-esim/gateway/http/console/people/me.ts'
import { Checkbox, SimpleGrid } from '@mantine/core'
import { queryClient, SESSION } from '#api/use-api.ts'
import { useSwitch } from '#api/use-switch.tsx'
import { Card } from '#parts/page.tsx'
import { Hint } from '#parts/values.tsx'
import { isOperator, useSession } from '#people/sign-in/session.ts'
import { formatMessage, t } from '#strings/strings.ts'
import { DEALER_ALERT_KINDS } from './alert-kind-choice.ts'

/** Which alerts are mailed to the person. */
export function AlertMails() {
  const me = useSession()
  const all = Object.keys(t.alerts.types) as AlertKind[]
  const kinds = all.filter((kind) => DEALER_ALERT_KINDS.includes(kind) !== isOperator(me))
  return (
    <Card title={t.account.alertMails}>
      <Hint>{t.account.alertMailsText}</Hint>
      <SimpleGrid cols={{ base: 1, sm: 2, md: 3 }} spacing="xs">
        {kinds.map((kind) => (
          <MailChoice key={kind} kind={kind} />
        ))}
      </SimpleGrid>
    </Card>
  )
}

function MailChoice({ kind }: { kind: AlertKind }) {
  const me = useSession()
  const names = { kind: t.alerts.types[kind] }
  const muted = (person: Me, isMailed: boolean) => [
    ...person.mutedAlerts.filter((other) => other !== kind),
    ...(isMailed ? [] : [kind]),
  ]
  const setMailed = useSwitch<Me>({
    shownIn: SESSION[0],
    show: (person, isMailed) => ({ ...person, mutedAlerts: muted(person, isMailed) }),
    change: (isMailed) => ({
      method: 'PUT',
      path: '/account/muted-alerts',
      // With what has been chosen in the meantime.
      body: { kinds: muted(queryClient.getQueryData<Me>(SESSION) ?? me, isMailed) },
    }),
    success: (isMailed) => formatMessage(isMailed ? t.account.alertMailed : t.account.alertNotMailed, names),
  })
  return (
    <Checkbox
      label={names.kind}
      checked={!me.mutedAlerts.includes(kind)}
      onChange={(event) => setMailed(event.currentTarget.checked)}
    />
  )
}
