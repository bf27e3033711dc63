import type { PackageDetail } from '@dealer-esim/gateway/http/console/catalogue-packages.ts'
import { Alert, Button, Fieldset, Group, Stack } from '@mantine/core'
import { useNavigate, useParams } from '@tanstack/react-router'
import { type FormEvent, type ReactNode, useState } from 'react'
import type { ApiError } from '#api/call-api.ts'
import { useApi, useChange } from '#api/use-api.ts'
import { fieldErrors } from '#parts/form-values.ts'
import { ErrorText, LoadError, Loading } from '#parts/load-states.tsx'
import { Page, Tabs } from '#parts/page.tsx'
import { UnsavedWarning } from '#parts/unsaved.tsx'
import { Status } from '#parts/values.tsx'
import { canOperate, useSession } from '#people/sign-in/session.ts'
import { t } from '#strings/strings.ts'
import { CATALOGUE, packagePath, packagePricesPath } from './catalogue-paths.ts'
import { Flag } from './flags/flag.tsx'
import { PackageFields } from './package-fields.tsx'
import { differs, newPackage, parsePackage, type TypedPackage, typedPackage } from './package-form.ts'
import { locationOf, packageTitleText } from './package-title.ts'

const BACK = { to: CATALOGUE, label: t.catalogue.title }

export function AddPackagePage() {
  return (
    <Page title={t.package.add} description={t.package.addText} back={BACK}>
      <PackageForm initial={newPackage()} />
    </Page>
  )
}

export function PackagePage() {
  const { packageCode } = useParams({ strict: false }) as { packageCode: string }
  const path = packagePath(packageCode)
  const { data, error, refetch } = useApi<PackageDetail>(path)
  if (error && !data) return <LoadError error={error} retry={refetch} />
  if (!data) return <Loading />
  return (
    <PackageFrame packageCode={packageCode} detail={data}>
      <LoadedForm key={packageCode} detail={data} reload={refetch} />
    </PackageFrame>
  )
}

/** Heading and tabs of a package's pages. */
export function PackageFrame(props: { packageCode: string; detail: PackageDetail | undefined; children: ReactNode }) {
  const { packageCode, detail, children } = props
  return (
    <Page
      title={detail ? packageTitleText(detail.package.name) : packageCode}
      description={
        <Group gap="xs">
          {detail && <Flag locationCode={locationOf(detail.package.locationCodes)} />}
          <span className="mono">{packageCode}</span>
          {detail && <Status status={detail.package.status} />}
        </Group>
      }
      back={BACK}
    >
      <Tabs
        label={t.package.title}
        items={[
          { to: packagePath(packageCode), label: t.package.title },
          { to: packagePricesPath(packageCode), label: t.package.buyers },
        ]}
      />
      {children}
    </Page>
  )
}

/**
 * Keeps the revision that the form was filled from. A later refresh neither replaces what was typed nor overwrites another
 * person's change.
 */
function LoadedForm(props: { detail: PackageDetail; reload(): Promise<{ data?: PackageDetail | undefined }> }) {
  const { detail, reload } = props
  const [filled, setFilled] = useState(detail)
  return (
    <PackageForm
      key={filled.revision}
      initial={typedPackage(filled.package)}
      packageCode={filled.package.packageCode}
      revision={filled.revision}
      onReload={async () => {
        const { data } = await reload()
        if (data) setFilled(data)
      }}
      onRefused={() => void reload()}
      isStale={detail.revision !== filled.revision}
    />
  )
}

interface PackageFormProps {
  initial: TypedPackage
  /** The code of an existing package. */
  packageCode?: string
  revision?: string
  /** The package has changed since the form was filled in. */
  isStale?: boolean
  /** Reads the package again, which shows that it has changed. */
  onRefused?(): void
  /** Fills in the form again. */
  onReload?(): Promise<void>
}

function PackageForm({ initial, packageCode, revision, isStale = false, onRefused, onReload }: PackageFormProps) {
  const me = useSession()
  const navigate = useNavigate()
  const [before] = useState(initial)
  const [typed, setTyped] = useState(initial)
  const [isSaved, setIsSaved] = useState(false)
  const [errors, setErrors] = useState<Record<string, string>>({})
  const save = useChange({ success: packageCode === undefined ? t.package.added : t.package.saved, quiet: true })
  const isNew = packageCode === undefined
  const isChangedElsewhere = isStale && !save.isPending && !isSaved

  function submit(event: FormEvent<HTMLFormElement>) {
    event.preventDefault()
    const cleaned = withoutEmptyRows(typed)
    setTyped(cleaned)
    const parsed = parsePackage(cleaned, isNew ? undefined : before)
    setErrors('errors' in parsed ? parsed.errors : {})
    if ('errors' in parsed) return
    const change = isNew
      ? ({ method: 'POST', path: '/packages', body: parsed.members } as const)
      : ({ method: 'PUT', path: packagePath(packageCode), body: { revision, package: parsed.members } } as const)
    save.mutate(change, {
      async onSuccess() {
        setIsSaved(true)
        if (isNew) await navigate({ to: packagePath(cleaned.packageCode), ignoreBlocker: true })
        else await onReload?.()
      },
      onError(error: ApiError) {
        setErrors(fieldErrors(error))
        if (error.code === 'CHANGED_MEANWHILE') onRefused?.()
      },
    })
  }

  return (
    <UnsavedWarning changed={!isSaved && differs(typed, before)}>
      <form onSubmit={submit} noValidate>
        <Fieldset variant="unstyled" disabled={!canOperate(me)}>
          <Stack gap="lg">
            {isChangedElsewhere && <StaleAlert onReload={onReload} />}
            <PackageFields typed={typed} onChange={setTyped} errors={errors} isNew={isNew} />
            {save.error && !isChangedElsewhere && (
              <ErrorText>{Object.keys(errors).length > 0 ? t.package.hasErrors : save.error.message}</ErrorText>
            )}
            {canOperate(me) && (
              <Group>
                <Button type="submit" loading={save.isPending}>
                  {isNew ? t.package.add : t.common.save}
                </Button>
              </Group>
            )}
          </Stack>
        </Fieldset>
      </form>
    </UnsavedWarning>
  )
}

function StaleAlert({ onReload }: { onReload: (() => Promise<void>) | undefined }) {
  return (
    <Alert color="orange" role="alert" title={t.package.stale}>
      <Stack gap="sm" align="flex-start">
        {t.package.staleText}
        <Button size="xs" variant="default" onClick={() => void onReload?.()}>
          {t.package.loadCurrent}
        </Button>
      </Stack>
    </Alert>
  )
}

function withoutEmptyRows(typed: TypedPackage): TypedPackage {
  return {
    ...typed,
    prices: typed.prices.filter(({ currencyCode, price }) => currencyCode.trim() !== '' || price.trim() !== ''),
    suppliers: typed.suppliers.filter(({ supplier, productCode }) => supplier !== '' || productCode.trim() !== ''),
  }
}
