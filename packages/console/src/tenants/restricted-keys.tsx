import { KEY_LABEL_LENGTH_MAX, operationNames } from '@dealer-esim/contract'
import type { KeyRow } from '@dealer-esim/gateway/http/console/tenants/restricted-keys.ts'
import { Button, MultiSelect, Stack, Text, TextInput } from '@mantine/core'
import { useState } from 'react'
import { useApi } from '#api/use-api.ts'
import { ChangeDialog } from '#parts/dialog.tsx'
import { formatMoneyInput, parseMoneyInput } from '#parts/form-values.ts'
import { actionsColumn, RowButton, valueColumn } from '#parts/list-columns.tsx'
import { ErrorText } from '#parts/load-states.tsx'
import { Card } from '#parts/page.tsx'
import { List } from '#parts/record-list.tsx'
import { Hint, Timestamp } from '#parts/values.tsx'
import { ReauthenticationFields } from '#people/sign-in/reauthenticate.tsx'
import { t } from '#strings/page-texts.ts'
import { formatMessage } from '#strings/strings.ts'
import { NewSecretDialog } from './secret-dialogs.tsx'

interface Dealer {
  tenantId: string
  currencyCode: string
}

/** The keys of single programs, with fewer rights and limits of their own. */
export function RestrictedKeys(dealer: Dealer) {
  const path = `/tenants/${dealer.tenantId}/keys`
  const list = useApi<{ keys: KeyRow[] }>(path)
  const [open, setOpen] = useState<'new' | { change: KeyRow } | { revoke: KeyRow }>()
  const [made, setMade] = useState<{ appKey: string; appSecret: string }>()
  const close = () => setOpen(undefined)
  const create = (
    <Button variant="default" onClick={() => setOpen('new')}>
      {t.restrictedKeys.create}
    </Button>
  )
  return (
    <Card title={t.restrictedKeys.title} actions={create}>
      <Hint>{t.restrictedKeys.text}</Hint>
      <List<KeyRow>
        label={t.restrictedKeys.title}
        rows={list.data?.keys}
        query={list}
        idOf={(row) => row.appKey}
        empty={{ title: t.restrictedKeys.none, text: t.restrictedKeys.noneText }}
        columns={[
          { accessor: 'label', title: t.restrictedKeys.label, render: (row) => <LabelCell row={row} /> },
          { accessor: 'operations', title: t.restrictedKeys.operations, render: (row) => row.operations.join(', ') },
          valueColumn('daySpent', t.restrictedKeys.today, (row) => spentText(row.daySpent, row.perDayMax)),
          valueColumn('totalSpent', t.restrictedKeys.total, (row) => spentText(row.totalSpent, row.totalMax)),
          valueColumn('lastUsedAt', t.restrictedKeys.lastUsed, (row) =>
            row.lastUsedAt ? <Timestamp time={row.lastUsedAt} format="relative" /> : t.account.never,
          ),
          actionsColumn((row) =>
            row.revokedAt !== null ? null : (
              <>
                <RowButton label={t.restrictedKeys.change} of={row.label} onClick={() => setOpen({ change: row })} />
                <RowButton label={t.restrictedKeys.revoke} of={row.label} onClick={() => setOpen({ revoke: row })} />
              </>
            ),
          ),
        ]}
      />
      {open === 'new' && (
        <KeyDialog
          {...dealer}
          onClose={close}
          onMade={(answer) => {
            close()
            setMade(answer)
          }}
        />
      )}
      {typeof open === 'object' && 'change' in open && <KeyDialog {...dealer} row={open.change} onClose={close} />}
      {typeof open === 'object' && 'revoke' in open && (
        <ChangeDialog
          title={formatMessage(t.restrictedKeys.revokeTitle, { label: open.revoke.label })}
          onClose={close}
          submit={t.restrictedKeys.revoke}
          danger
          request={(body) => ({ method: 'POST', path: `${path}/${open.revoke.appKey}/revoke`, body })}
        >
          <Text size="sm">{t.restrictedKeys.revokeText}</Text>
          <ReauthenticationFields />
        </ChangeDialog>
      )}
      {made && (
        <NewSecretDialog
          title={t.restrictedKeys.create}
          copyText={t.restrictedKeys.copyText}
          {...made}
          onClose={() => setMade(undefined)}
        />
      )}
    </Card>
  )
}

function LabelCell({ row }: { row: KeyRow }) {
  return (
    <Stack gap={2}>
      <Text size="sm">{row.label}</Text>
      <Text size="xs" c="dimmed" className="mono">
        {row.appKey}
      </Text>
      {row.revokedAt !== null ? (
        <Text size="xs">{t.restrictedKeys.revoked}</Text>
      ) : (
        row.expiresAt !== null && (
          <Text size="xs">
            {t.restrictedKeys.expires} <Timestamp time={row.expiresAt} />
          </Text>
        )
      )}
    </Stack>
  )
}

function spentText(spent: number, limit: number | null): string {
  const text = formatMoneyInput(spent)
  return limit === null
    ? text
    : formatMessage(t.restrictedKeys.spentOf, { spent: text, limit: formatMoneyInput(limit) })
}

const LIMITS = ['perOrderMax', 'perDayMax', 'totalMax'] as const
/** A restricted key never decides where events are sent. */
const OPERATIONS = operationNames.filter((name) => name !== 'webhook/set')
const DEFAULTS = ['health', 'package/list', 'location/list', 'account/balance']

interface KeyDialogProps extends Dealer {
  /** Absent: a new key. */
  row?: KeyRow
  onClose(): void
  onMade?(made: { appKey: string; appSecret: string }): void
}

function KeyDialog({ tenantId, currencyCode, row, onClose, onMade }: KeyDialogProps) {
  const [operations, setOperations] = useState<string[]>(row?.operations ?? DEFAULTS)
  const [fault, setFault] = useState<string>()
  const path = `/tenants/${tenantId}/keys`
  function bodyOf({ allowlist = '', expires = '', ...typed }: Record<string, string>) {
    const { label, perOrderMax, perDayMax, totalMax, ...credentials } = typed
    const amounts: Record<string, number | null> = {}
    for (const [name, text = ''] of Object.entries({ perOrderMax, perDayMax, totalMax })) {
      const parsed = text.trim() === '' ? { amount: null } : parseMoneyInput(text, currencyCode)
      if ('error' in parsed)
        return setFault(`${t.restrictedKeys.limits[name as (typeof LIMITS)[number]]}: ${parsed.error}`)
      amounts[name] = parsed.amount
    }
    setFault(undefined)
    const ipAllowlist = allowlist.split(/[\s,]+/).filter((entry) => entry !== '')
    const isSameDay = row?.expiresAt?.slice(0, 10) === expires // keeps its hour
    const expiresAt = isSameDay
      ? row.expiresAt
      : expires === ''
        ? null
        : new Date(`${expires}T00:00:00.000Z`).toISOString()
    return { ...credentials, label, ...amounts, operations, ipAllowlist, expiresAt }
  }
  return (
    <ChangeDialog<{ appKey: string; appSecret: string }>
      title={row ? formatMessage(t.restrictedKeys.changeTitle, { label: row.label }) : t.restrictedKeys.create}
      onClose={onClose}
      submit={row ? t.common.save : t.restrictedKeys.create}
      request={(typed) => {
        const body = bodyOf(typed)
        if (!body) return null
        return row ? { method: 'PATCH', path: `${path}/${row.appKey}`, body } : { method: 'POST', path, body }
      }}
      {...(onMade && { onDone: onMade })}
    >
      <TextInput
        name="label"
        label={t.restrictedKeys.label}
        description={t.restrictedKeys.labelHint}
        defaultValue={row?.label}
        required
        maxLength={KEY_LABEL_LENGTH_MAX}
        data-autofocus
      />
      <MultiSelect
        label={t.restrictedKeys.operations}
        data={OPERATIONS}
        value={operations}
        onChange={setOperations}
        searchable
        required
      />
      {LIMITS.map((name) => (
        <TextInput
          key={name}
          name={name}
          label={`${t.restrictedKeys.limits[name]} (${currencyCode})`}
          defaultValue={formatMoneyInput(row?.[name])}
          inputMode="decimal"
        />
      ))}
      <Hint>{t.restrictedKeys.limitsHint}</Hint>
      <TextInput
        name="allowlist"
        label={t.restrictedKeys.allowlist}
        description={t.restrictedKeys.allowlistHint}
        defaultValue={row?.ipAllowlist.join(', ')}
      />
      <TextInput
        name="expires"
        type="date"
        label={t.restrictedKeys.expires}
        description={t.restrictedKeys.expiresHint}
        defaultValue={row?.expiresAt?.slice(0, 10)}
      />
      {fault && <ErrorText>{fault}</ErrorText>}
      <ReauthenticationFields />
    </ChangeDialog>
  )
}
