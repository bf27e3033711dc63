import type { PriceAssignment } from '@dealer-esim/gateway/http/console/prices/tenant-prices.ts'
import { Anchor, Button, CloseButton, Group, Text, TextInput } from '@mantine/core'
import { Link, useNavigate } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { useState } from 'react'
import { useApi, useChange } from '#api/use-api.ts'
import { DealerSelect } from '#parts/dealer-filter.tsx'
import { Dialog } from '#parts/dialog.tsx'
import { Card } from '#parts/page.tsx'
import { canOperate, useSession } from '#people/sign-in/session.ts'
import { interpolate, t } from '#strings/strings.ts'
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
  const change = useChange({ success: renamed === undefined ? t.prices.created : t.common.saved, quiet: true })
  const title = kind === 'plan' ? t.prices.newPlan : t.prices.newGroup
  return (
    <Dialog
      title={renamed === undefined ? title : `${t.prices.rename}: ${renamed}`}
      opened
      onClose={onClose}
      submit={renamed === undefined ? title : t.prices.rename}
      busy={change.isPending}
      error={change.error}
      onSubmit={({ name = '', displayName }) =>
        change.mutate(
          {
            method: renamed === undefined ? 'POST' : 'PATCH',
            path: renamed === undefined ? PATHS[kind].api : apiPath(kind, renamed),
            body: { [PATHS[kind].member]: name, ...(displayName && { displayName }) },
          },
          {
            onSuccess() {
              onClose()
              void navigate({ to: PATHS[kind].page(name) })
            },
          },
        )
      }
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
    </Dialog>
  )
}

/** Renames and deletes a plan or a group. */
export function NameActions({ kind, name }: { kind: Kind; name: string }) {
  const [open, setOpen] = useState<'rename' | 'delete'>()
  const close = () => setOpen(undefined)
  return (
    <>
      <Button variant="default" onClick={() => setOpen('rename')}>
        {t.prices.rename}
      </Button>
      <Button variant="default" onClick={() => setOpen('delete')}>
        {t.prices.delete}
      </Button>
      {open === 'rename' && <NameDialog kind={kind} renamed={name} onClose={close} />}
      {open === 'delete' && <Delete kind={kind} name={name} onClose={close} />}
    </>
  )
}

function Delete({ kind, name, onClose }: { kind: Kind; name: string; onClose(): void }) {
  const navigate = useNavigate()
  const remove = useChange({ success: t.prices.deleted, quiet: true })
  return (
    <Dialog
      title={`${t.prices.delete}: ${name}`}
      opened
      onClose={onClose}
      submit={t.prices.delete}
      danger
      busy={remove.isPending}
      error={remove.error}
      onSubmit={() =>
        remove.mutate(
          { method: 'DELETE', path: apiPath(kind, name) },
          { onSuccess: () => void navigate({ to: PATHS[kind].list }) },
        )
      }
    >
      <Text size="sm">{kind === 'plan' ? t.prices.deletePlanText : t.prices.deleteGroupText}</Text>
    </Dialog>
  )
}

/** Puts a dealer on a plan or into a group, or removes it from its present one. */
function assignmentOf(kind: Kind, tenantId: string, name: string | null) {
  return { method: 'PUT', path: `/tenants/${tenantId}/price-${kind}`, body: { [PATHS[kind].member]: name } } as const
}

function AddDealer({ kind, name, onClose }: { kind: Kind; name: string; onClose(): void }) {
  const [tenantId, setTenantId] = useState<string>()
  const add = useChange({ success: t.prices.saved, quiet: true })
  return (
    <Dialog
      title={`${t.prices.addDealer}: ${name}`}
      opened
      onClose={onClose}
      submit={t.prices.addDealer}
      busy={add.isPending}
      error={add.error}
      onSubmit={() => tenantId && add.mutate(assignmentOf(kind, tenantId, name), { onSuccess: onClose })}
    >
      <Text size="sm">{kind === 'plan' ? t.prices.addToPlanText : t.prices.addDealerText}</Text>
      <DealerSelect value={tenantId} onChange={(chosen) => setTenantId(chosen ?? undefined)} />
      {tenantId !== undefined && <PresentAssignment kind={kind} tenantId={tenantId} />}
    </Dialog>
  )
}

/** Names the plan or group that the dealer would leave. */
function PresentAssignment({ kind, tenantId }: { kind: Kind; tenantId: string }) {
  const { data } = useApi<PriceAssignment>(`/tenants/${tenantId}/price-assignment`)
  const present = kind === 'plan' ? data?.planName : data?.groupName
  if (!present) return null
  return <Text size="sm">{interpolate(t.prices.leaves, { name: present })}</Text>
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
          <Anchor component={Link} to={`/tenants/${tenant.tenantId}/prices`} size="sm">
            {tenant.clientName}
          </Anchor>
          {dealerAction?.(tenant)}
        </Group>
      ))}
      {tenants.length < tenantCount && (
        <Text size="sm" c="dimmed">
          {interpolate(t.prices.firstOf, { count: tenants.length, all: tenantCount })}
        </Text>
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
            aria-label={interpolate(texts.remove, { name: clientName })}
            disabled={remove.isPending}
            onClick={() => remove.mutate(assignmentOf(kind, tenantId, null))}
          />
        )}
      />
      {adding && <AddDealer kind={kind} name={name} onClose={() => setAdding(false)} />}
    </>
  )
}
