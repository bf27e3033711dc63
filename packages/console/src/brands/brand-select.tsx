import type { BrandListView } from '@dealer-esim/gateway/http/console/brands/brands.ts'
import { NativeSelect } from '@mantine/core'
import { useApi } from '#api/use-api.ts'
import { t } from '#strings/strings.ts'

/**
 * Under which brand a link is sent, as the field `brand` of a form. It is there only if the dealer has several. The default one is
 * left out of the form, so that the link follows a later change of the default.
 */
export function BrandSelect(props: { tenantId: string; isDisabled?: boolean; onChange?: (brand: string) => void }) {
  const { tenantId, isDisabled = false, onChange } = props
  const { data } = useApi<BrandListView>(`/tenants/${tenantId}/brands`)
  const brands = data?.brandList ?? []
  if (brands.length < 2) return null
  return (
    <NativeSelect
      name="brand"
      label={t.brands.sendUnder}
      data={brands.map(({ brand, settings, isDefault }) => ({ value: isDefault ? '' : brand, label: settings.name }))}
      disabled={isDisabled}
      onChange={({ currentTarget: { value } }) => onChange?.(value)}
      data-from-gateway
    />
  )
}
