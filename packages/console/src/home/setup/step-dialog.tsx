import type { SupplierRow } from '@dealer-esim/gateway/http/console/suppliers/suppliers.ts'
import { Button, Group, Modal, Stack, Text } from '@mantine/core'
import { lazy, type ReactNode, Suspense, useState } from 'react'
import { useApi } from '#api/use-api.ts'
import { useReturnFocus } from '#parts/dialog.tsx'
import { Loading } from '#parts/load-states.tsx'
import { Passkeys } from '#people/account/own-passkeys.tsx'
import { SecondFactor } from '#people/account/second-factor.tsx'
import { formatMessage, t } from '#strings/strings.ts'
import { SupplierActions, SupplierState } from '#suppliers/supplier-state.tsx'

const AddSupplier = lazy(async () => ({ default: (await import('#suppliers/add-supplier.tsx')).AddSupplier }))
const CatalogueImport = lazy(async () => ({
  default: (await import('#catalogue/catalogue-import.tsx')).CatalogueImport,
}))
const SyncCard = lazy(async () => ({ default: (await import('#products/sync-card.tsx')).SyncCard }))
const EndpointCard = lazy(async () => ({ default: (await import('#webhooks/endpoint.tsx')).EndpointCard }))

interface StepDialogProps {
  title: string
  onClose(): void
  /** The forms open dialogs of their own: Escape closes only the topmost one. */
  hasDialogs?: boolean
  children: ReactNode
}

/** The dialog of a step that reuses another page's forms, with their buttons. */
function StepDialog({ title, onClose, hasDialogs = false, children }: StepDialogProps) {
  useReturnFocus(true)
  return (
    <Modal
      opened
      size="xl"
      title={title}
      onClose={() => hasInnerDialog() || onClose()}
      closeOnClickOutside={!hasDialogs}
      closeButtonProps={{ 'aria-label': t.common.close }}
    >
      <Suspense fallback={<Loading />}>
        <Stack>{children}</Stack>
      </Suspense>
    </Modal>
  )
}

function hasInnerDialog(): boolean {
  return document.querySelectorAll('[role=dialog]').length > 1
}

interface StepProps {
  onClose(): void
}

export function SecondFactorStep({ onClose }: StepProps) {
  return (
    <StepDialog title={t.setup.steps.secondFactor.title} onClose={onClose} hasDialogs>
      <SecondFactor />
      <Passkeys />
      <Group justify="flex-end">
        <Button onClick={onClose}>{t.setup.done}</Button>
      </Group>
    </StepDialog>
  )
}

/** Adds a supplier and tests it. */
export function SupplierStep({ onClose }: StepProps) {
  const [supplier, setSupplier] = useState<string>()
  return (
    <StepDialog title={t.setup.steps.supplier.title} onClose={onClose} hasDialogs>
      {supplier === undefined ? (
        <AddSupplier onAdded={setSupplier} />
      ) : (
        <>
          <Text size="sm">{formatMessage(t.setup.supplierAdded, { supplier })}</Text>
          <AddedSupplier supplier={supplier} />
          <Group justify="flex-end">
            <Button onClick={onClose}>{t.common.close}</Button>
          </Group>
        </>
      )}
    </StepDialog>
  )
}

function AddedSupplier({ supplier }: { supplier: string }) {
  const { data } = useApi<{ suppliers: SupplierRow[] }>('/suppliers')
  const row = data?.suppliers.find((one) => one.supplier === supplier)
  if (!row) return <Loading />
  return (
    <Group justify="space-between">
      <SupplierState row={row} />
      <SupplierActions row={row} />
    </Group>
  )
}

/** Sells the products of a supplier that has a catalogue, or imports a file. */
export function CatalogueStep({ onClose }: StepProps) {
  return (
    <StepDialog title={t.setup.steps.catalogue.title} onClose={onClose} hasDialogs>
      <SyncCard />
      <Text size="sm">{t.setup.fromFile}</Text>
      <CatalogueImport onImported={onClose} />
    </StepDialog>
  )
}

/** Checks and saves the address for the dealer's events. */
export function WebhookStep({ dealer, onClose }: StepProps & { dealer: { tenantId: string; clientName: string } }) {
  return (
    <StepDialog title={`${t.setup.steps.webhook.title}: ${dealer.clientName}`} onClose={onClose}>
      <EndpointCard tenantId={dealer.tenantId} />
    </StepDialog>
  )
}
