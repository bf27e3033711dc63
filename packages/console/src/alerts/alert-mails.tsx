import type { AlertKind } from '@dealer-esim/gateway/alerts/alert-kinds.ts'
import { Checkbox, SimpleGrid } from '@mantine/core'
import { useChange } from '#api/use-api.ts'
import { Card } from '#parts/page.tsx'
import { Hint } from '#parts/values.tsx'
import { isOperator, useSession } from '#people/sign-in/session.ts'
import { t } from '#strings/strings.ts'
import { DEALER_ALERT_KINDS } from './alert-kind-choice.ts'

/** Which alerts are mailed to the person. */
export function AlertMails() {
  const me = useSession()
  const save = useChange({ success: t.common.saved })
  const all = Object.keys(t.alerts.types) as AlertKind[]
  const kinds = all.filter((kind) => DEALER_ALERT_KINDS.includes(kind) !== isOperator(me))
  const set = (kind: AlertKind, mailed: boolean) => {
    const muted = me.mutedAlerts.filter((other) => other !== kind)
    const body = { kinds: mailed ? muted : [...muted, kind] }
    save.mutate({ method: 'PUT', path: '/account/muted-alerts', body })
  }
  return (
    <Card title={t.account.alertMails}>
      <Hint>{t.account.alertMailsText}</Hint>
      <SimpleGrid cols={{ base: 1, sm: 2, md: 3 }} spacing="xs">
        {kinds.map((kind) => (
          <Checkbox
            key={kind}
            label={t.alerts.types[kind]}
            checked={!me.mutedAlerts.includes(kind)}
            disabled={save.isPending}
            onChange={(event) => set(kind, event.currentTarget.checked)}
          />
        ))}
      </SimpleGrid>
    </Card>
  )
}
