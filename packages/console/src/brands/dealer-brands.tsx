import type { BrandListView, NamedBrandView } from '@dealer-esim/gateway/http/console/brands/brands.ts'
import { Badge, Button, Group, Stack, Text } from '@mantine/core'
import { useState } from 'react'
import { isTestMode } from '#api/call-api.ts'
import { useApi, useChange } from '#api/use-api.ts'
import { Dialog } from '#parts/dialog.tsx'
import { EmptyState, LoadError, Loading } from '#parts/load-states.tsx'
import { Card } from '#parts/page.tsx'
import { UnsavedWarning } from '#parts/unsaved.tsx'
import { canAdminister, isOperator, useSession } from '#people/sign-in/session.ts'
import { t } from '#strings/page-texts.ts'
import { formatMessage } from '#strings/strings.ts'
import { DealerSection, useTenant } from '#tenants/dealer.tsx'
import { useOperator } from '#tenants/operator-contact.tsx'
import { BrandForm } from './brand-form.tsx'

const NEW = { settings: { name: '' }, pictures: {} }

/** The brands under which a dealer's travellers see it: one is open in the form. */
export function DealerBrands() {
  const { tenantId, data: tenant } = useTenant()
  const me = useSession()
  const mayEdit = canAdminister(me) && !isTestMode
  const path = `/tenants/${tenantId}/brands`
  const { data, error, refetch } = useApi<BrandListView>(path)
  const [opened, setOpened] = useState<string | 'new'>()
  if (error && !data) return <LoadError error={error} retry={refetch} />
  if (!data || !tenant) return <Loading />
  const brands = data.brandList
  const shown = brands.find(({ brand }) => brand === opened) ?? (opened === 'new' ? undefined : brands[0])
  return (
    <DealerSection
      title={t.brands.dealerTitle}
      text={isTestMode ? t.brands.sharedText : t.brands.dealerText}
      actions={mayEdit && <Button onClick={() => setOpened('new')}>{t.brands.add}</Button>}
    >
      <UnsavedWarning>
        <Stack>
          <Group gap="xs">
            {brands.map(({ brand, settings, isDefault }) => (
              <Button
                key={brand}
                size="xs"
                variant={brand === shown?.brand ? 'light' : 'default'}
                aria-pressed={brand === shown?.brand}
                onClick={() => setOpened(brand)}
                rightSection={
                  isDefault && (
                    <Badge variant="light" tt="none">
                      {t.brands.default}
                    </Badge>
                  )
                }
              >
                {settings.name}
              </Button>
            ))}
            {isOperator(me) && mayEdit && brands.length > 0 && (
              <Button size="xs" variant="light" onClick={() => setOpened('new')}>
                {t.brands.add}
              </Button>
            )}
          </Group>
          {brands.length === 0 && opened !== 'new' && <NoBrand mayEdit={mayEdit} onAdd={() => setOpened('new')} />}
          {shown && mayEdit && <BrandActions path={path} brand={shown} />}
          {(shown || opened === 'new') && (
            <BrandForm
              key={shown ? shown.brand + JSON.stringify(shown.pictures) : 'new'}
              view={shown ?? { ...NEW, settings: { name: brands.length === 0 ? tenant.clientName : '' } }}
              isNew={shown === undefined}
              mayEdit={mayEdit}
              pathOf={(brand) => `${path}/${shown?.brand ?? brand}`}
              onSaved={() => setOpened(shown?.brand)}
            />
          )}
        </Stack>
      </UnsavedWarning>
    </DealerSection>
  )
}

function NoBrand({ mayEdit, onAdd }: { mayEdit: boolean; onAdd(): void }) {
  const operator = useOperator()
  return (
    <Card>
      <EmptyState
        title={t.brands.noneTitle}
        text={formatMessage(t.brands.none, { name: operator?.name ?? '' })}
        {...(mayEdit && { action: <Button onClick={onAdd}>{t.brands.add}</Button> })}
      />
    </Card>
  )
}

function BrandActions({ path, brand }: { path: string; brand: NamedBrandView }) {
  const [isDeleting, setDeleting] = useState(false)
  const change = useChange({ success: t.common.saved })
  const remove = useChange({ success: t.brands.deleted })
  const own = `${path}/${brand.brand}`
  return (
    <Group gap="xs">
      <Text size="sm" c="dimmed">
        {t.brands.brand}: <code data-from-gateway>{brand.brand}</code>
      </Text>
      {!brand.isDefault && (
        <Button
          size="compact-xs"
          variant="default"
          loading={change.isPending}
          onClick={() => change.mutate({ method: 'PUT', path: own, body: { ...brand.settings, isDefault: true } })}
        >
          {t.brands.makeDefault}
        </Button>
      )}
      <Button size="compact-xs" variant="default" onClick={() => setDeleting(true)}>
        {t.brands.delete}
      </Button>
      <Dialog
        title={t.brands.delete}
        opened={isDeleting}
        onClose={() => setDeleting(false)}
        submit={t.brands.delete}
        danger
        busy={remove.isPending}
        error={remove.error}
        onSubmit={() => remove.mutate({ method: 'DELETE', path: own }, { onSuccess: () => setDeleting(false) })}
      >
        <Text size="sm">{formatMessage(t.brands.deleteText, { name: brand.settings.name })}</Text>
      </Dialog>
    </Group>
  )
}
