import { Stack, Text } from '@mantine/core'
import { useState } from 'react'
import { useApi } from '#api/use-api.ts'
import { ChangeDialog } from '#parts/dialog.tsx'
import { actionsColumn, RowButton, valueColumn } from '#parts/list-columns.tsx'
import { Card } from '#parts/page.tsx'
import { List } from '#parts/record-list.tsx'
import { Hint } from '#parts/values.tsx'
import { t } from '#strings/page-texts.ts'
import { ReauthenticationFields } from './sign-in/reauthenticate.tsx'
import { isOperatorAdmin, useSession } from './sign-in/session.ts'

interface RoleRow {
  role: keyof typeof t.roles
  required: boolean
}

/** The roles whose people must have a second factor. Only an operator administrator changes them. */
export function SecondFactorRoles() {
  const me = useSession()
  const list = useApi<{ roles: RoleRow[] }>('/second-factors')
  const [changing, setChanging] = useState<RoleRow>()
  return (
    <Card title={t.people.required}>
      <Hint>{t.people.requiredText}</Hint>
      <List<RoleRow>
        label={t.people.required}
        rows={list.data?.roles}
        query={list}
        idOf={(row) => row.role}
        empty={{ title: t.people.required }}
        columns={[
          { accessor: 'role', title: t.people.role, render: (row) => t.roles[row.role] },
          valueColumn('required', t.people.secondFactor, (row) =>
            row.required ? t.people.isRequired : t.people.isOptional,
          ),
          actionsColumn(
            (row) => (
              <RowButton
                label={row.required ? t.people.makeOptional : t.people.require}
                of={t.roles[row.role]}
                onClick={() => setChanging(row)}
              />
            ),
            { hidden: !isOperatorAdmin(me) },
          ),
        ]}
      />
      {changing && <ChangeRequired row={changing} onClose={() => setChanging(undefined)} />}
    </Card>
  )
}

function ChangeRequired({ row, onClose }: { row: RoleRow; onClose(): void }) {
  const submit = row.required ? t.people.makeOptional : t.people.require
  return (
    <ChangeDialog
      title={`${submit}: ${t.roles[row.role]}`}
      onClose={onClose}
      submit={submit}
      success={t.common.saved}
      request={(fields) => {
        const body = { ...fields, required: !row.required }
        return { method: 'PUT', path: `/second-factors/${row.role}`, body }
      }}
    >
      <Stack>
        <Text size="sm">{row.required ? t.people.optionalText : t.people.requireText}</Text>
        <ReauthenticationFields />
      </Stack>
    </ChangeDialog>
  )
}
