import type { PersonRow } from '@dealer-esim/gateway/console-api/people.ts'
import { ActionIcon, Alert, Button, Group, Menu, Select, Stack, Text, TextInput } from '@mantine/core'
import { IconDots } from '@tabler/icons-react'
import { useState } from 'react'
import { useApi, useChange } from '../api/use-api.ts'
import { TenantSection, useTenant } from '../dealers/dealer.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { List } from '../parts/list.tsx'
import { Page } from '../parts/page.tsx'
import { Copyable, Status, When } from '../parts/values.tsx'
import { ProofFields } from '../session/reauthenticate.tsx'
import { administers, isOperatorAdmin, useSession } from '../session/session.ts'
import { say, t } from '../strings/strings.ts'

type Open =
  | { kind: 'invite' }
  | { kind: 'handOver'; email: string; link: string }
  | { kind: 'link' | 'role' | 'status' | 'factor'; row: PersonRow }

/** People of one organisation, and what an administrator may do with them. */
export function PeopleList({ tenantId }: { tenantId: string | null }) {
  const me = useSession()
  const manages = tenantId === null ? isOperatorAdmin(me) : administers(me)
  const { data, isFetching, error, refetch } = useApi<{ people: PersonRow[] }>('/people', { tenantId })
  const [open, setOpen] = useState<Open>()
  return (
    <Stack>
      {manages && (
        <Group justify="flex-end">
          <Button onClick={() => setOpen({ kind: 'invite' })}>{t.people.invite}</Button>
        </Group>
      )}
      <List<PersonRow>
        label={t.people.title}
        rows={data?.people}
        loading={isFetching}
        error={error}
        retry={refetch}
        idOf={(row) => row.personId}
        empty={{ title: t.people.empty, text: t.people.emptyText }}
        columns={[
          { accessor: 'name', title: t.people.name },
          { accessor: 'email', title: t.people.email, cellsClassName: 'break' },
          { accessor: 'role', title: t.people.role, render: (row) => t.roles[row.role] },
          {
            accessor: 'status',
            title: t.common.status,
            render: (row) => <Status of={row.status === 'ACTIVE' && row.invited ? 'INVITED' : row.status} />,
          },
          {
            accessor: 'secondFactor',
            title: t.people.secondFactor,
            render: (row) => (row.secondFactor ? t.common.yes : t.common.no),
          },
          {
            accessor: 'lastSignInAt',
            title: t.people.lastSignIn,
            render: (row) => <When at={row.lastSignInAt} as="relative" />,
          },
          {
            accessor: 'actions',
            title: t.common.actions,
            textAlign: 'right',
            hidden: !manages,
            // What is one's own is changed on the account page.
            render: (row) => row.personId !== me.personId && <PersonMenu row={row} onOpen={setOpen} />,
          },
        ]}
      />
      {open?.kind === 'invite' && <Invite tenantId={tenantId} onOpen={setOpen} />}
      {open?.kind === 'handOver' && <HandOver {...open} onClose={() => setOpen(undefined)} />}
      {open?.kind === 'link' && <NewLink row={open.row} onOpen={setOpen} />}
      {open?.kind === 'role' && <ChangeRole row={open.row} onClose={() => setOpen(undefined)} />}
      {open?.kind === 'status' && <ChangeStatus row={open.row} onClose={() => setOpen(undefined)} />}
      {open?.kind === 'factor' && <DropFactor row={open.row} onClose={() => setOpen(undefined)} />}
    </Stack>
  )
}

function PersonMenu({ row, onOpen }: { row: PersonRow; onOpen(open: Open): void }) {
  const active = row.status === 'ACTIVE'
  return (
    <Menu position="bottom-end" withinPortal>
      <Menu.Target>
        <ActionIcon variant="subtle" color="gray" aria-label={`${t.common.actions}: ${row.name}`}>
          <IconDots size={18} />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Item disabled={!active} onClick={() => onOpen({ kind: 'link', row })}>
          {t.people.newLink}
        </Menu.Item>
        <Menu.Item onClick={() => onOpen({ kind: 'role', row })}>{t.people.changeRole}</Menu.Item>
        <Menu.Item disabled={!row.secondFactor} onClick={() => onOpen({ kind: 'factor', row })}>
          {t.people.dropFactor}
        </Menu.Item>
        <Menu.Item {...(active && { color: 'red' })} onClick={() => onOpen({ kind: 'status', row })}>
          {active ? t.people.disable : t.people.enable}
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  )
}

function rolesFor(tenantId: string | null) {
  return Object.entries(t.roles)
    .filter(([role]) => role.startsWith('DEALER') === (tenantId !== null))
    .map(([value, label]) => ({ value, label }))
}

function Invite({ tenantId, onOpen }: { tenantId: string | null; onOpen(open: Open | undefined): void }) {
  const invite = useChange<{ link: string }>({ quiet: true })
  return (
    <Dialog
      title={t.people.invite}
      opened
      onClose={() => onOpen(undefined)}
      submit={t.people.invite}
      busy={invite.isPending}
      error={invite.error}
      onSubmit={(fields) =>
        invite.mutate(
          { method: 'POST', path: '/people', body: { ...fields, tenantId } },
          { onSuccess: ({ link }) => onOpen({ kind: 'handOver', email: fields.email ?? '', link }) },
        )
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
      <ProofFields />
    </Dialog>
  )
}

function HandOver({ email, link, onClose }: { email: string; link: string; onClose(): void }) {
  return (
    <Dialog title={t.people.linkTitle} opened onClose={onClose} submit={t.common.close} onSubmit={onClose}>
      <Alert color="orange">{say(t.people.linkText, { email })}</Alert>
      <Copyable value={link} label={t.people.linkTitle} />
    </Dialog>
  )
}

function NewLink({ row, onOpen }: { row: PersonRow; onOpen(open: Open | undefined): void }) {
  const make = useChange<{ link: string }>({ quiet: true })
  return (
    <Dialog
      title={`${t.people.newLink}: ${row.name}`}
      opened
      onClose={() => onOpen(undefined)}
      submit={t.people.makeLink}
      busy={make.isPending}
      error={make.error}
      onSubmit={(body) =>
        make.mutate(
          { method: 'POST', path: `/people/${row.personId}/link`, body },
          { onSuccess: ({ link }) => onOpen({ kind: 'handOver', email: row.email, link }) },
        )
      }
    >
      <Text size="sm">{t.people.newLinkText}</Text>
      <ProofFields />
    </Dialog>
  )
}

function ChangeRole({ row, onClose }: { row: PersonRow; onClose(): void }) {
  const change = useChange({ done: t.common.saved, quiet: true })
  return (
    <Dialog
      title={`${t.people.changeRole}: ${row.name}`}
      opened
      onClose={onClose}
      submit={t.common.save}
      busy={change.isPending}
      error={change.error}
      onSubmit={(body) =>
        change.mutate({ method: 'PATCH', path: `/people/${row.personId}`, body }, { onSuccess: onClose })
      }
    >
      <Select
        name="role"
        label={t.people.role}
        data={rolesFor(row.tenantId)}
        defaultValue={row.role}
        allowDeselect={false}
      />
      <ProofFields />
    </Dialog>
  )
}

function ChangeStatus({ row, onClose }: { row: PersonRow; onClose(): void }) {
  const change = useChange({ done: t.common.saved, quiet: true })
  const active = row.status === 'ACTIVE'
  const submit = active ? t.people.disable : t.people.enable
  return (
    <Dialog
      title={`${submit}: ${row.name}`}
      opened
      onClose={onClose}
      submit={submit}
      danger={active}
      busy={change.isPending}
      error={change.error}
      onSubmit={(fields) =>
        change.mutate(
          {
            method: 'PATCH',
            path: `/people/${row.personId}`,
            body: { ...fields, status: active ? 'DISABLED' : 'ACTIVE' },
          },
          { onSuccess: onClose },
        )
      }
    >
      <Text size="sm">{active ? t.people.disableText : t.people.enableText}</Text>
      <ProofFields />
    </Dialog>
  )
}

function DropFactor({ row, onClose }: { row: PersonRow; onClose(): void }) {
  const drop = useChange({ done: t.common.saved, quiet: true })
  return (
    <Dialog
      title={`${t.people.dropFactor}: ${row.name}`}
      opened
      onClose={onClose}
      submit={t.people.dropFactor}
      danger
      busy={drop.isPending}
      error={drop.error}
      onSubmit={(body) =>
        drop.mutate(
          { method: 'POST', path: `/people/${row.personId}/second-factor/remove`, body },
          { onSuccess: onClose },
        )
      }
    >
      <Text size="sm">{t.people.dropFactorText}</Text>
      <ProofFields />
    </Dialog>
  )
}

/** The operator's own people; a dealer's stand with the dealer. */
export function PeoplePage() {
  return (
    <Page title={t.people.title} description={t.people.text}>
      <PeopleList tenantId={null} />
    </Page>
  )
}

export function TenantPeople() {
  const { tenantId } = useTenant()
  return (
    <TenantSection title={t.people.title} text={t.people.tenantText}>
      <PeopleList tenantId={tenantId} />
    </TenantSection>
  )
}
