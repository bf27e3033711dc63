import type { PersonRow } from '@dealer-esim/gateway/http/console/people/people.ts'
import { Alert, Select, Text, TextInput } from '@mantine/core'
import { ChangeDialog, ShownOnce } from '#parts/dialog.tsx'
import { Copyable } from '#parts/values.tsx'
import { t } from '#strings/page-texts.ts'
import { formatMessage } from '#strings/strings.ts'
import { ReauthenticationFields } from './sign-in/reauthenticate.tsx'

export type OpenDialog =
  | { kind: 'invite' }
  | { kind: 'showLink'; title: string; email: string; link: string; mailed: boolean }
  | { kind: 'link' | 'role' | 'status' | 'secondFactor' | 'provider'; row: PersonRow }

interface NewLinkAnswer {
  link: string
  /** The gateway also sends it by e-mail. */
  mailed: boolean
}

function rolesFor(tenantId: string | null) {
  return Object.entries(t.roles)
    .filter(([role]) => role.startsWith('DEALER') === (tenantId !== null))
    .map(([value, label]) => ({ value, label }))
}

interface InviteProps {
  tenantId: string | null
  /** Shown in the title where the page does not show it. */
  dealer?: string
  onOpen(open: OpenDialog | undefined): void
}

export function Invite({ tenantId, dealer, onOpen }: InviteProps) {
  return (
    <ChangeDialog<NewLinkAnswer>
      title={dealer === undefined ? t.people.invite : `${t.people.invite}: ${dealer}`}
      onClose={() => onOpen(undefined)}
      submit={t.people.invite}
      request={(fields) => ({ method: 'POST', path: '/people', body: { ...fields, tenantId } })}
      onDone={(made, fields) =>
        onOpen({ kind: 'showLink', title: t.people.invitationLink, email: fields.email ?? '', ...made })
      }
    >
      <TextInput name="name" label={t.people.name} required maxLength={100} data-autofocus />
      <TextInput name="email" type="email" label={t.people.email} required maxLength={254} />
      <Select
        name="role"
        label={t.people.role}
        data={rolesFor(tenantId)}
        defaultValue={tenantId === null ? 'OPERATOR_STAFF' : 'DEALER_ADMIN'}
        allowDeselect={false}
      />
      <ReauthenticationFields />
    </ChangeDialog>
  )
}

export function ShowLink({
  title,
  email,
  link,
  mailed,
  onClose,
}: {
  title: string
  email: string
  link: string
  mailed: boolean
  onClose(): void
}) {
  return (
    <ShownOnce
      title={title}
      onClose={onClose}
      submit={t.credentials.copied}
      file={{ name: 'link.txt', text: `${email}\n${link}` }}
    >
      <Alert color="orange">
        {formatMessage(t.people.linkText, { email })} {mailed && formatMessage(t.people.linkMailed, { email })}
      </Alert>
      <Copyable value={link} label={title} />
    </ShownOnce>
  )
}

export function NewLink({ row, onOpen }: { row: PersonRow; onOpen(open: OpenDialog | undefined): void }) {
  return (
    <ChangeDialog<NewLinkAnswer>
      title={`${t.people.newPasswordLink}: ${row.name}`}
      onClose={() => onOpen(undefined)}
      submit={t.people.createLink}
      request={(body) => ({ method: 'POST', path: `/people/${row.personId}/link`, body })}
      onDone={(made) => onOpen({ kind: 'showLink', title: t.people.passwordLink, email: row.email, ...made })}
    >
      <Text size="sm">{t.people.newPasswordLinkText}</Text>
      <ReauthenticationFields />
    </ChangeDialog>
  )
}

export function ChangeRole({ row, onClose }: { row: PersonRow; onClose(): void }) {
  return (
    <ChangeDialog
      title={`${t.people.changeRole}: ${row.name}`}
      onClose={onClose}
      submit={t.common.save}
      success={t.common.saved}
      request={(body) => ({ method: 'PATCH', path: `/people/${row.personId}`, body })}
    >
      <Select
        name="role"
        label={t.people.role}
        data={rolesFor(row.tenantId)}
        defaultValue={row.role}
        allowDeselect={false}
      />
      <ReauthenticationFields />
    </ChangeDialog>
  )
}

export function ChangeStatus({ row, onClose }: { row: PersonRow; onClose(): void }) {
  const active = row.status === 'ACTIVE'
  const submit = active ? t.people.disable : t.people.enable
  return (
    <ChangeDialog
      title={`${submit}: ${row.name}`}
      onClose={onClose}
      submit={submit}
      danger={active}
      success={t.common.saved}
      request={(fields) => ({
        method: 'PATCH',
        path: `/people/${row.personId}`,
        body: { ...fields, status: active ? 'DISABLED' : 'ACTIVE' },
      })}
    >
      <Text size="sm">{active ? t.people.disableText : t.people.enableText}</Text>
      <ReauthenticationFields />
    </ChangeDialog>
  )
}

/** Removes a person's second factor, or the link to their account at the provider. */
export function RemoveSignInMethod({
  row,
  what,
  onClose,
}: {
  row: PersonRow
  what: 'secondFactor' | 'provider'
  onClose(): void
}) {
  const [title, text, path] =
    what === 'provider'
      ? [t.people.unlinkProvider, t.people.unlinkProviderText, 'provider/unlink']
      : [t.people.removeSecondFactor, t.people.removeSecondFactorText, 'second-factor/remove']
  return (
    <ChangeDialog
      title={`${title}: ${row.name}`}
      onClose={onClose}
      submit={title}
      danger
      success={t.common.saved}
      request={(body) => ({ method: 'POST', path: `/people/${row.personId}/${path}`, body })}
    >
      <Text size="sm">{text}</Text>
      <ReauthenticationFields />
    </ChangeDialog>
  )
}
