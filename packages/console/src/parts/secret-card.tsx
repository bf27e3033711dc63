import { Button, Group, PasswordInput, Text } from '@mantine/core'
import { useState } from 'react'
import { keepSecret, useSecret } from '../secret-store.ts'
import { administers, useSession } from '../session.tsx'
import { t } from '../strings/index.ts'
import { useChange } from '../use-api.ts'
import { Dialog } from './dialog.tsx'
import { ProofFields } from './proof.tsx'

/** Where the AppSecret for signing comes from: pasted, or shown after a proof like on the credentials page. */
export function SecretCard({ tenantId }: { tenantId: string }) {
  const me = useSession()
  const secret = useSecret(tenantId)
  const [asking, setAsking] = useState(false)
  const view = useChange<{ appSecret: string }>({ quiet: true })
  if (secret !== undefined)
    return (
      <Group>
        <Text size="sm">{t.explorer.secretThere}</Text>
        <Button size="xs" variant="default" onClick={() => keepSecret(tenantId, undefined)}>
          {t.explorer.forget}
        </Button>
      </Group>
    )
  return (
    <>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          keepSecret(tenantId, String(new FormData(event.currentTarget).get('secret') ?? '').trim())
        }}
      >
        <Group align="flex-end">
          <PasswordInput
            name="secret"
            label={t.explorer.secret}
            description={t.explorer.secretHint}
            autoComplete="off"
            w={{ base: '100%', sm: 420 }}
            required
          />
          <Button type="submit" variant="default">
            {t.common.save}
          </Button>
          {administers(me) && (
            <Button variant="default" onClick={() => setAsking(true)}>
              {t.explorer.fetchSecret}
            </Button>
          )}
        </Group>
      </form>
      <Dialog
        title={t.credentials.viewTitle}
        opened={asking}
        onClose={() => setAsking(false)}
        submit={t.credentials.view}
        busy={view.isPending}
        error={view.error}
        onSubmit={(body) =>
          view.mutate(
            { method: 'POST', path: `/tenants/${tenantId}/secret/view`, body },
            {
              onSuccess({ appSecret }) {
                keepSecret(tenantId, appSecret)
                setAsking(false)
              },
            },
          )
        }
      >
        <Text size="sm">{t.credentials.viewText}</Text>
        <ProofFields />
      </Dialog>
    </>
  )
}
