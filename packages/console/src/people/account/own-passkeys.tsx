import { Button, Group, Stack, Text, TextInput } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { ApiError } from '#api/call-api.ts'
import { useApi } from '#api/use-api.ts'
import { ChangeDialog, Dialog } from '#parts/dialog.tsx'
import { actionsColumn, RowButton, timeColumn, valueColumn } from '#parts/list-columns.tsx'
import { notifySuccess } from '#parts/notify.ts'
import { Card } from '#parts/page.tsx'
import { List } from '#parts/record-list.tsx'
import { Hint, Timestamp } from '#parts/values.tsx'
import { formatMessage, t } from '#strings/strings.ts'
import { ReauthenticationFields } from '../sign-in/reauthenticate.tsx'
import { canUsePasskeys, useSignInOptions } from '../sign-in/sign-in-options.ts'
import { registerPasskey } from '../sign-in/use-passkey.ts'
import { ShowRecoveryCodes } from './recovery-codes.tsx'

interface PasskeyRow {
  passkeyId: string
  name: string
  createdAt: string
  usedAt: string | null
}

type Open = { kind: 'add' } | { kind: 'codes'; codes: string[] } | { kind: 'rename' | 'remove'; row: PasskeyRow }

export function Passkeys() {
  const list = useApi<{ passkeys: PasskeyRow[] }>('/account/passkeys')
  const options = useSignInOptions()
  const [open, setOpen] = useState<Open>()
  const close = () => setOpen(undefined)
  const canAdd = canUsePasskeys(options)
  return (
    <Card
      title={t.passkeys.title}
      actions={
        <Button variant="default" disabled={!canAdd} onClick={() => setOpen({ kind: 'add' })}>
          {t.passkeys.add}
        </Button>
      }
    >
      <Hint>{t.passkeys.text}</Hint>
      {options && !canAdd && <Text size="sm">{whyNot(options.passkeyHost)}</Text>}
      <List<PasskeyRow>
        label={t.passkeys.title}
        rows={list.data?.passkeys}
        query={list}
        idOf={(row) => row.passkeyId}
        empty={{ title: t.passkeys.none, text: t.passkeys.noneText }}
        columns={[
          { accessor: 'name', title: t.passkeys.name },
          timeColumn('createdAt', t.common.created),
          valueColumn('usedAt', t.account.lastUsed, (row) =>
            row.usedAt ? <Timestamp time={row.usedAt} format="relative" /> : t.account.never,
          ),
          actionsColumn((row) => (
            <Group gap="xs" justify="flex-end">
              <RowButton label={t.passkeys.rename} of={row.name} onClick={() => setOpen({ kind: 'rename', row })} />
              <RowButton label={t.passkeys.remove} of={row.name} onClick={() => setOpen({ kind: 'remove', row })} />
            </Group>
          )),
        ]}
      />
      {open?.kind === 'add' && <AddPasskey onClose={close} onCodes={(codes) => setOpen({ kind: 'codes', codes })} />}
      {open?.kind === 'codes' && <ShowRecoveryCodes codes={open.codes} onClose={close} />}
      {open?.kind === 'rename' && <RenamePasskey row={open.row} onClose={close} />}
      {open?.kind === 'remove' && <RemovePasskey row={open.row} onClose={close} />}
    </Card>
  )
}

function whyNot(host: string | null): string {
  return host !== null && host !== location.hostname ? formatMessage(t.passkeys.host, { host }) : t.passkeys.unsupported
}

function AddPasskey({ onClose, onCodes }: { onClose(): void; onCodes(codes: string[]): void }) {
  const client = useQueryClient()
  const add = useMutation<{ recoveryCodes: string[] }, ApiError, Record<string, string>>({
    mutationFn: ({ name = '', ...credentials }) => registerPasskey(name, credentials),
    async onSuccess({ recoveryCodes }) {
      notifySuccess(t.passkeys.added)
      if (recoveryCodes.length > 0) onCodes(recoveryCodes)
      else onClose()
      await client.invalidateQueries()
    },
  })
  return (
    <Dialog
      title={t.passkeys.add}
      opened
      onClose={onClose}
      submit={t.passkeys.add}
      busy={add.isPending}
      error={add.error}
      onSubmit={add.mutate}
    >
      <Stack>
        <Text size="sm">{t.passkeys.addText}</Text>
        <TextInput
          name="name"
          label={t.passkeys.name}
          description={t.passkeys.nameHint}
          required
          maxLength={60}
          data-autofocus
        />
        <ReauthenticationFields />
      </Stack>
    </Dialog>
  )
}

function RenamePasskey({ row, onClose }: { row: PasskeyRow; onClose(): void }) {
  const path = `/account/passkeys/${row.passkeyId}`
  return (
    <ChangeDialog
      title={t.passkeys.rename}
      onClose={onClose}
      submit={t.common.save}
      success={t.passkeys.renamed}
      request={(body) => ({ method: 'PATCH', path, body })}
    >
      <TextInput name="name" label={t.passkeys.name} defaultValue={row.name} required maxLength={60} data-autofocus />
    </ChangeDialog>
  )
}

function RemovePasskey({ row, onClose }: { row: PasskeyRow; onClose(): void }) {
  const path = `/account/passkeys/${row.passkeyId}/remove`
  return (
    <ChangeDialog
      title={t.passkeys.remove}
      onClose={onClose}
      submit={t.passkeys.remove}
      danger
      success={t.passkeys.removed}
      request={(body) => ({ method: 'POST', path, body })}
    >
      <Stack>
        <Text size="sm">{formatMessage(t.passkeys.removeText, { name: row.name })}</Text>
        <ReauthenticationFields />
      </Stack>
    </ChangeDialog>
  )
}
