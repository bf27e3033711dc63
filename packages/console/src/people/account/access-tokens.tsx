import { Alert, Button, Select, Stack, TextInput } from '@mantine/core'
import { useState } from 'react'
import { useApi, useChange } from '#api/use-api.ts'
import { ChangeDialog, ShownOnce } from '#parts/dialog.tsx'
import { actionsColumn, RowButton, timeColumn, valueColumn } from '#parts/list-columns.tsx'
import { Card } from '#parts/page.tsx'
import { List } from '#parts/record-list.tsx'
import { Copyable, Hint, Timestamp } from '#parts/values.tsx'
import { t } from '#strings/strings.ts'
import { ReauthenticationFields } from '../sign-in/reauthenticate.tsx'

interface TokenRow {
  tokenId: string
  name: string
  scope: 'READ' | 'WRITE'
  hint: string
  expiresAt: string | null
  usedAt: string | null
}

export function AccessTokens() {
  const list = useApi<{ tokens: TokenRow[] }>('/account/tokens')
  const [creating, setCreating] = useState(false)
  const remove = useChange({ success: t.account.tokenDeleted })
  const create = (
    <Button variant="default" onClick={() => setCreating(true)}>
      {t.account.newToken}
    </Button>
  )
  return (
    <Card title={t.account.tokens} actions={create}>
      <Hint>{t.account.tokensText}</Hint>
      <List<TokenRow>
        label={t.account.tokens}
        rows={list.data?.tokens}
        query={list}
        idOf={(row) => row.tokenId}
        empty={{ title: t.account.noTokens, text: t.account.noTokensText }}
        columns={[
          { accessor: 'name', title: t.account.tokenName, render: (row) => `${row.name} (…${row.hint})` },
          { accessor: 'scope', title: t.account.scope, render: (row) => t.account.scopes[row.scope] },
          timeColumn('expiresAt', t.account.expires),
          valueColumn('usedAt', t.account.lastUsed, (row) =>
            row.usedAt ? <Timestamp time={row.usedAt} format="relative" /> : t.account.never,
          ),
          actionsColumn((row) => (
            <RowButton
              label={t.account.deleteToken}
              of={row.name}
              onClick={() => remove.mutate({ method: 'DELETE', path: `/account/tokens/${row.tokenId}` })}
            />
          )),
        ]}
      />
      {creating && <NewToken onClose={() => setCreating(false)} />}
    </Card>
  )
}

function NewToken({ onClose }: { onClose(): void }) {
  const [token, setToken] = useState<string>()
  if (token !== undefined)
    return (
      <ShownOnce
        title={t.account.newToken}
        onClose={onClose}
        submit={t.credentials.copied}
        file={{ name: 'access-token.txt', text: token }}
      >
        <Alert color="orange">{t.account.copyToken}</Alert>
        <Copyable value={token} label={t.account.token} />
      </ShownOnce>
    )
  return (
    <ChangeDialog<{ token: string }>
      title={t.account.newToken}
      onClose={onClose}
      submit={t.account.newToken}
      request={({ days, ...fields }) => ({
        method: 'POST',
        path: '/account/tokens',
        body: { ...fields, days: Number(days) },
      })}
      onDone={(created) => setToken(created.token)}
    >
      <Stack>
        <TextInput name="name" label={t.account.tokenName} required maxLength={100} data-autofocus />
        <Select
          name="scope"
          label={t.account.scope}
          defaultValue="READ"
          allowDeselect={false}
          data={options(t.account.scopes)}
        />
        <Select
          name="days"
          label={t.account.lifetime}
          defaultValue="90"
          allowDeselect={false}
          data={options(t.account.lifetimes)}
        />
        <ReauthenticationFields />
      </Stack>
    </ChangeDialog>
  )
}

const options = (texts: Record<string, string>) => Object.entries(texts).map(([value, label]) => ({ value, label }))
