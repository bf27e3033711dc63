import type { OperatorBrandView } from '@dealer-esim/gateway/http/console/brands/operator-brand.ts'
import { useApi } from '#api/use-api.ts'
import { LoadState } from '#parts/load-states.tsx'
import { Page } from '#parts/page.tsx'
import { UnsavedWarning } from '#parts/unsaved.tsx'
import { isOperatorAdmin, useSession } from '#people/sign-in/session.ts'
import { t } from '#strings/page-texts.ts'
import { BrandForm } from './brand-form.tsx'

/** The operator's own brand. */
export function OperatorBrandPage() {
  const mayEdit = isOperatorAdmin(useSession())
  const { data, error, refetch } = useApi<OperatorBrandView>('/operator-brand')
  return (
    <Page title={t.brands.title} description={t.brands.text}>
      {!data && <LoadState error={error} retry={refetch} />}
      {data && (
        <UnsavedWarning>
          <BrandForm
            view={data}
            pathOf={() => '/operator-brand'}
            isOperator
            mayEdit={mayEdit}
            // The console wears the brand that came with its page.
            onSaved={() => location.reload()}
          />
        </UnsavedWarning>
      )}
    </Page>
  )
}
