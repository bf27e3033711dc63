import type { PersonRow } from '@dealer-esim/gateway/http/console/people/people.ts'
import { Button, Stack } from '@mantine/core'
import { useState } from 'react'
import { useApi } from '#api/use-api.ts'
import { MoreMenu } from '#design/record.tsx'
import { valueColumn } from '#parts/list-columns.tsx'
import { Page } from '#parts/page.tsx'
import { List } from '#parts/record-list.tsx'
import { Status, Timestamp } from '#parts/values.tsx'
import { t } from '#strings/page-texts.ts'
import { DealerSection, useTenant } from '#tenants/dealer.tsx'
import {
  ChangeRole,
  ChangeStatus,
  Invite,
  NewLink,
  type OpenDialog,
  RemoveSignInMethod,
  ShowLink,
} from './person-dialogs.tsx'
import { SecondFactorRoles } from './second-factor-roles.tsx'
import { canAdminister, isOperatorAdmin, useSession } from './sign-in/session.ts'

/** The operator's own people. A dealer's people are shown in a section of the dealer's page. */
export function PeoplePage() {
  return (
    <Page title={t.people.title} description={t.people.text}>
      <PeopleList tenantId={null} />
      <SecondFactorRoles />
    </Page>
  )
}

export function DealerPeople() {
  const { tenantId } = useTenant()
  return (
    <DealerSection title={t.people.title} text={t.people.dealerText}>
      <PeopleList tenantId={tenantId} />
    </DealerSection>
  )
}

/** The people of a dealer, or of the operator, and the actions of an administrator. */
export function PeopleList({ tenantId }: { tenantId: string | null }) {
  const me = useSession()
  const canManage = tenantId === null ? isOperatorAdmin(me) : canAdminister(me)
  const list = useApi<{ people: PersonRow[] }>('/people', { tenantId })
  const [open, setOpen] = useState<OpenDialog>()
  const invite = canManage && (
    <Button size="sm" onClick={() => setOpen({ kind: 'invite' })}>
      {t.people.invite}
    </Button>
  )
  return (
    <Stack>
      <List<PersonRow>
        label={t.people.title}
        csv={{ path: '/people', query: { tenantId } }}
        name="people"
        rows={list.data?.people}
        query={list}
        idOf={(row) => row.personId}
        empty={{ title: t.people.none, text: t.people.noneText, action: invite }}
        {...(invite && { search: invite })}
        columns={[
          { accessor: 'name', title: t.people.name, phone: 'main' },
          { accessor: 'email', title: t.people.email, cellsClassName: 'break', phone: 'note', width: 200 },
          { accessor: 'role', title: t.people.role, width: 195, render: (row) => t.roles[row.role] },
          {
            accessor: 'status',
            title: t.common.status,
            phone: 'status',
            render: (row) => <Status status={row.status === 'ACTIVE' && row.invited ? 'INVITED' : row.status} />,
          },
          valueColumn('secondFactor', t.people.secondFactor, (row) => (row.secondFactor ? t.common.yes : t.common.no), {
            width: 125,
          }),
          valueColumn(
            'lastSignInAt',
            t.people.lastSignIn,
            (row) => <Timestamp time={row.lastSignInAt} format="relative" />,
            { width: 140 },
          ),
          {
            accessor: 'actions',
            title: t.common.actions,
            textAlign: 'right',
            phone: 'value',
            hidden: !canManage,
            // People change their own details on the account page.
            render: (row) => row.personId !== me.personId && <PersonMenu row={row} onOpen={setOpen} />,
          },
        ]}
      />
      {open?.kind === 'invite' && <Invite tenantId={tenantId} onOpen={setOpen} />}
      {open?.kind === 'showLink' && <ShowLink {...open} onClose={() => setOpen(undefined)} />}
      {open?.kind === 'link' && <NewLink row={open.row} onOpen={setOpen} />}
      {open?.kind === 'role' && <ChangeRole row={open.row} onClose={() => setOpen(undefined)} />}
      {open?.kind === 'status' && <ChangeStatus row={open.row} onClose={() => setOpen(undefined)} />}
      {(open?.kind === 'secondFactor' || open?.kind === 'provider') && (
        <RemoveSignInMethod row={open.row} what={open.kind} onClose={() => setOpen(undefined)} />
      )}
    </Stack>
  )
}

function PersonMenu({ row, onOpen }: { row: PersonRow; onOpen(open: OpenDialog): void }) {
  const active = row.status === 'ACTIVE'
  const opens = (kind: 'link' | 'role' | 'secondFactor' | 'provider' | 'status') => () => onOpen({ kind, row })
  return (
    <MoreMenu
      of={row.name}
      actions={[
        { label: t.people.newPasswordLink, disabled: !active, onClick: opens('link') },
        { label: t.people.changeRole, onClick: opens('role') },
        { label: t.people.removeSecondFactor, disabled: !row.secondFactor, onClick: opens('secondFactor') },
        ...(row.hasProviderAccount ? [{ label: t.people.unlinkProvider, onClick: opens('provider') }] : []),
        { label: active ? t.people.disable : t.people.enable, isDangerous: active, onClick: opens('status') },
      ]}
    />
  )
}
