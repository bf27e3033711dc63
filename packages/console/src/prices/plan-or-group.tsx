import type { PriceAssignment } from '@dealer-esim/gateway/http/console/prices/tenant-prices.ts'
import { Button, CloseButton, Group, Text, TextInput } from '@mantine/core'
import { useNavigate } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { useState } from 'react'
import { useApi, useChange } from '#api/use-api.ts'
import type { MoreAction } from '#design/record.tsx'
import { DealerSelect } from '#parts/dealer-filter.tsx'
import { ChangeDialog } from '#parts/dialog.tsx'
import { Card } from '#parts/page.tsx'
import { Hint, TextLink } from '#parts/values.tsx'
import { canOperate, useSession } from '#people/sign-in/session.ts'
import { t } from '#strings/page-texts.ts'
import { formatMessage } from '#strings/strings.ts'
import { GROUPS, groupPath, PLANS, planPath } from './price-paths.ts'

type Kind = 'plan' | 'group'

const PATHS = {
  plan: { api: '/price-plans', page: planPath, list: PLANS, member: 'planName' },
  group: { api: '/price-groups', page: groupPath, list: GROUPS, member: 'groupName' },
} as const

/** The API path of a plan or group. */
export function apiPath(kind: Kind, name: string): string {
  return `${PATHS[kind].api}/${encodeURIComponent(name)}`
}

/** Asks for the name of a new plan or group, or for the new name of `renamed`. Then opens its page. */
export function NameDialog({ kind, renamed, onClose }: { kind: Kind; renamed?: string; onClose(): void }) {
  const navigate = useNavigate()
  const title = kind === 'plan' ? t.prices.newPlan : t.prices.newGroup
  return (
    <ChangeDialog
      title={renamed === undefined ? title : `${t.prices.rename}: ${renamed}`}
      onClose={onClose}
      submit={renamed === undefined ? title : t.prices.rename}
      success={renamed === undefined ? t.prices.created : t.common.saved}
      request={({ name = '', displayName }) => ({
        method: renamed === undefined ? 'POST' : 'PATCH',
        path: renamed === undefined ? PATHS[kind].api : apiPath(kind, renamed),
        body: { [PATHS[kind].member]: name, ...(displayName && { displayName }) },
      })}
      onDone={(_, { name = '' }) => {
        onClose()
        void navigate({ to: PATHS[kind].page(name) })
      }}
    >
      {renamed !== undefined && <Text size="sm">{t.prices.renameText}</Text>}
      <TextInput
        name="name"
        label={t.prices.name}
        description={t.prices.nameHint}
        defaultValue={renamed}
        required
        maxLength={64}
        data-autofocus
      />
      {kind === 'plan' && renamed === undefined && (
        <TextInput
          name="displayName"
          label={t.prices.displayName}
          description={t.prices.displayNameHint}
          maxLength={100}
        />
      )}
    </ChangeDialog>
  )
}

/** Renaming and deletion of a plan or a group, for its menu. */
export function useNameActions(kind: Kind, name: string): { more: MoreAction[]; dialog: ReactNode } {
  const [open, setOpen] = useState<'rename' | 'delete'>()
  const close = () => setOpen(undefined)
  return {
    more: [
      { label: t.prices.rename, onClick: () => setOpen('rename') },
      { label: t.prices.delete, isDangerous: true, onClick: () => setOpen('delete') },
    ],
    dialog: (
      <>
        {open === 'rename' && <NameDialog kind={kind} renamed={name} onClose={close} />}
        {open === 'delete' && <Delete kind={kind} name={name} onClose={close} />}
      </>
    ),
  }
}

function Delete({ kind, name, onClose }: { kind: Kind; name: string; onClose(): void }) {
  const navigate = useNavigate()
  return (
    <ChangeDialog
      title={`${t.prices.delete}: ${name}`}
      onClose={onClose}
      submit={t.prices.delete}
      danger
      success={t.prices.deleted}
      request={() => ({ method: 'DELETE', path: apiPath(kind, name) })}
      onDone={() => void navigate({ to: PATHS[kind].list })}
    >
      <Text size="sm">{kind === 'plan' ? t.prices.deletePlanText : t.prices.deleteGroupText}</Text>
    </ChangeDialog>
  )
}

/** Assigns a dealer to a plan or a group, or removes it from the current one. */
function assignmentOf(kind: Kind, tenantId: string, name: string | null) {
  return { method: 'PUT', path: `/tenants/${tenantId}/price-${kind}`, body: { [PATHS[kind].member]: name } } as const
}

function AddDealer({ kind, name, onClose }: { kind: Kind; name: string; onClose(): void }) {
  const [tenantId, setTenantId] = useState<string>()
  return (
    <ChangeDialog
      title={`${t.prices.addDealer}: ${name}`}
      onClose={onClose}
      submit={t.prices.addDealer}
      success={t.prices.saved}
      request={() => (tenantId ? assignmentOf(kind, tenantId, name) : null)}
    >
      <Text size="sm">{kind === 'plan' ? t.prices.addToPlanText : t.prices.addDealerText}</Text>
      <DealerSelect value={tenantId} onChange={(chosen) => setTenantId(chosen ?? undefined)} />
      {tenantId !== undefined && <PresentAssignment kind={kind} tenantId={tenantId} />}
    </ChangeDialog>
  )
}

/** Says which plan or group the dealer would leave. */
function PresentAssignment({ kind, tenantId }: { kind: Kind; tenantId: string }) {
  const { data } = useApi<PriceAssignment>(`/tenants/${tenantId}/price-assignment`)
  const present = kind === 'plan' ? data?.planName : data?.groupName
  if (!present) return null
  return <Text size="sm">{formatMessage(t.prices.leaves, { name: present })}</Text>
}

interface Dealer {
  tenantId: string
  clientName: string
}

interface DealersCardProps {
  list: { tenantCount: number; tenants: Dealer[] }
  /** Shown if there are no dealers. */
  emptyText: string
  actions?: ReactNode
  /** An action for each dealer, such as removing it. */
  dealerAction?(member: Dealer): ReactNode
}

/** The dealers of a plan or group, each linked to its prices. */
function DealersCard({ list: { tenants, tenantCount }, emptyText, actions, dealerAction }: DealersCardProps) {
  return (
    <Card title={t.prices.dealers} actions={actions}>
      {tenants.length === 0 && <Text size="sm">{emptyText}</Text>}
      {tenants.map((tenant) => (
        <Group key={tenant.tenantId} gap="xs">
          <TextLink to={`/tenants/${tenant.tenantId}/prices`}>{tenant.clientName}</TextLink>
          {dealerAction?.(tenant)}
        </Group>
      ))}
      {tenants.length < tenantCount && (
        <Hint>{formatMessage(t.prices.firstOf, { count: tenants.length, all: tenantCount })}</Hint>
      )}
    </Card>
  )
}

const DEALER_TEXTS = {
  plan: { empty: t.prices.noDealersOnPlan, remove: t.prices.removeFromPlan },
  group: { empty: t.prices.noDealersInGroup, remove: t.prices.removeDealer },
}

/** The dealers that have the plan themselves, or are in the group. Operators can add and remove them. */
export function AssignedDealers({ kind, name, list }: { kind: Kind; name: string; list: DealersCardProps['list'] }) {
  const me = useSession()
  const [adding, setAdding] = useState(false)
  const remove = useChange({ success: t.prices.saved })
  const texts = DEALER_TEXTS[kind]
  if (!canOperate(me)) return <DealersCard list={list} emptyText={texts.empty} />
  return (
    <>
      <DealersCard
        list={list}
        emptyText={texts.empty}
        actions={
          <Button size="xs" variant="default" onClick={() => setAdding(true)}>
            {t.prices.addDealer}
          </Button>
        }
        dealerAction={({ tenantId, clientName }) => (
          <CloseButton
            size="sm"
            aria-label={formatMessage(texts.remove, { name: clientName })}
            disabled={remove.isPending}
            onClick={() => remove.mutate(assignmentOf(kind, tenantId, null))}
          />
        )}
      />
      {adding && <AddDealer kind={kind} name={name} onClose={() => setAdding(false)} />}
    </>
  )
}
