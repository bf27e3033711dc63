import type { PackageDetail } from '@dealer-esim/gateway/http/console/catalogue-packages.ts'
import { Alert, Button, Fieldset, Group, Stack, Text } from '@mantine/core'
import { useNavigate, useParams } from '@tanstack/react-router'
import { type FormEvent, type ReactNode, useEffect, useState } from 'react'
import type { ApiError } from '#api/call-api.ts'
import { useApi, useChange } from '#api/use-api.ts'
import { useSwitch } from '#api/use-switch.tsx'
import { MoreMenu, Record, StateSentence } from '#design/record.tsx'
import { Dialog } from '#parts/dialog.tsx'
import { fieldErrors } from '#parts/form-values.ts'
import { ErrorText, LoadState } from '#parts/load-states.tsx'
import { Card, Page, Tabs } from '#parts/page.tsx'
import { UnsavedWarning } from '#parts/unsaved.tsx'
import { Amount, Facts, Hint, Status, type StatusTone, TextLink, Timestamp } from '#parts/values.tsx'
import { canOperate, useSession } from '#people/sign-in/session.ts'
import { t } from '#strings/page-texts.ts'
import { formatMessage } from '#strings/strings.ts'
import { supplierPage } from '#suppliers/supplier-paths.ts'
import { CATALOGUE, packagePath, packagePricesPath } from './catalogue-paths.ts'
import { PackageFields } from './package-fields.tsx'
import { differs, newPackage, parsePackage, type TypedPackage, typedPackage } from './package-form.ts'
import { PackageFlag } from './package-name.tsx'
import { locationOf, packageTitleText } from './package-title.ts'
import { formatMargin } from './price-rows.tsx'

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
  const { data, error, refetch } = useApi<PackageDetail>(packagePath(packageCode))
  const [isTyped, setIsTyped] = useState(false)
  if (!data) return <LoadState error={error} retry={refetch} />
  return (
    <PackageFrame packageCode={packageCode} detail={data} isTyped={isTyped}>
      <Record rail={<Rail detail={data} />}>
        <LoadedForm key={packageCode} detail={data} isTyped={isTyped} onTyped={setIsTyped} reload={refetch} />
      </Record>
    </PackageFrame>
  )
}

interface FrameProps {
  packageCode: string
  detail: PackageDetail | undefined
  /** Its form has input that is not saved. */
  isTyped?: boolean
  children: ReactNode
}

/** Heading, state and tabs of a package's pages. */
export function PackageFrame({ packageCode, detail, isTyped = false, children }: FrameProps) {
  const me = useSession()
  const [isEnding, setIsEnding] = useState(false)
  const setOnSale = useSale(packageCode)
  const isOnSale = detail?.package.status === 'ON_SALE'
  const takeOff = { label: t.catalogue.offSale, isDangerous: true, disabled: isTyped, onClick: () => setIsEnding(true) }
  return (
    <Page
      title={detail ? packageTitleText(detail.package.name) : packageCode}
      back={BACK}
      picture={detail && <PackageFlag name={detail.package.name} location={locationOf(detail.package.locationCodes)} />}
      mark={
        <>
          <span className="mono">{packageCode}</span>
          {detail && <Status status={detail.package.status} />}
        </>
      }
      actions={<MoreMenu actions={isOnSale && canOperate(me) ? [takeOff] : []} />}
    >
      {detail && <PackageState detail={detail} isTyped={isTyped} />}
      <Tabs
        label={t.package.title}
        items={[
          { to: packagePath(packageCode), label: t.package.title },
          { to: packagePricesPath(packageCode), label: t.package.buyers },
        ]}
      />
      {children}
      {isEnding && (
        <Dialog
          title={`${t.catalogue.offSale}: ${packageCode}`}
          opened
          onClose={() => setIsEnding(false)}
          submit={t.catalogue.offSale}
          danger
          onSubmit={() => {
            setOnSale(false)
            setIsEnding(false)
          }}
        >
          <Text size="sm">{t.package.offSaleText}</Text>
        </Dialog>
      )}
    </Page>
  )
}

/** Puts a package on sale, or takes it off sale. */
function useSale(packageCode: string): (onSale: boolean) => void {
  return useSwitch<PackageDetail>({
    shownIn: packagePath(packageCode),
    show: (detail, onSale) => ({
      ...detail,
      package: { ...detail.package, status: onSale ? 'ON_SALE' : 'OFF_SALE' },
    }),
    change: (onSale) => ({ method: 'POST', path: '/packages/sale', body: { packageCodes: [packageCode], onSale } }),
    success: () => t.package.saved,
  })
}

/** The state of a package on sale or not, and the button that puts it on sale. */
function PackageState({ detail, isTyped }: { detail: PackageDetail; isTyped: boolean }) {
  const me = useSession()
  const setOnSale = useSale(detail.package.packageCode)
  const state = stateOf(detail)
  const { title, text } = t.package.states[state]
  const isOffered = state === 'offSale' && canOperate(me)
  return (
    <StateSentence
      tone={TONES[state]}
      title={title}
      text={isOffered && isTyped ? t.package.saveFirst : text}
      actions={
        isOffered && (
          <Button disabled={isTyped} onClick={() => setOnSale(true)}>
            {t.catalogue.onSale}
          </Button>
        )
      }
    />
  )
}

const TONES = { onSale: 'ok', noPrice: 'warn', noMoney: 'bad', offSale: 'off' } as const satisfies Record<
  string,
  StatusTone
>

function stateOf({ package: { status }, lacksMoney, listPrices }: PackageDetail): keyof typeof TONES {
  if (status !== 'ON_SALE') return 'offSale'
  if (lacksMoney) return 'noMoney'
  return listPrices.length === 0 ? 'noPrice' : 'onSale'
}

/** What the package costs and earns, and who delivers it. */
function Rail({ detail: { package: item, listPrices, revision } }: { detail: PackageDetail }) {
  return (
    <>
      <Card title={t.package.listPrices}>
        {listPrices.length === 0 && <Hint>{t.package.noListPrices}</Hint>}
        <Facts
          cols={1}
          items={listPrices.map(({ currencyCode: currency, price, cost }) => [
            currency,
            <>
              <Amount value={price} currency={currency} />
              {cost !== null && (
                <Text size="xs" c="dimmed">
                  {formatMessage(t.package.margin, { amount: formatMargin(price, cost, currency) })}
                </Text>
              )}
            </>,
          ])}
        />
        <TextLink to={packagePricesPath(item.packageCode)}>{t.package.buyers}</TextLink>
      </Card>
      <Card title={t.catalogue.suppliers}>
        {item.suppliers.map(({ supplier, productCode }) => (
          <Text key={`${supplier} ${productCode}`} size="sm" component="div">
            <TextLink to={supplierPage(supplier)}>{supplier}</TextLink> <span className="mono">{productCode}</span>
          </Text>
        ))}
        {item.suppliers.length === 0 && <Hint>{t.package.statusHint}</Hint>}
        <Facts cols={1} items={[[t.common.updated, <Timestamp key="u" time={revision} />]]} />
      </Card>
    </>
  )
}

/**
 * Keeps the revision that the form was filled from while something is typed: a later refresh neither replaces it nor overwrites
 * another person's change.
 */
function LoadedForm(props: {
  detail: PackageDetail
  isTyped: boolean
  onTyped(isTyped: boolean): void
  reload(): Promise<{ data?: PackageDetail | undefined }>
}) {
  const { detail, isTyped, onTyped, reload } = props
  const [filled, setFilled] = useState(detail)
  if (!isTyped && filled.revision !== detail.revision) setFilled(detail)
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
      onTyped={onTyped}
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
  onTyped?(isTyped: boolean): void
}

function PackageForm(props: PackageFormProps) {
  const { initial, packageCode, revision, isStale = false, onRefused, onReload, onTyped } = props
  const me = useSession()
  const navigate = useNavigate()
  const [before] = useState(initial)
  const [typed, setTyped] = useState(initial)
  const [isSaved, setIsSaved] = useState(false)
  const [errors, setErrors] = useState<Record<string, string>>({})
  const save = useChange({ success: packageCode === undefined ? t.package.added : t.package.saved, quiet: true })
  const isNew = packageCode === undefined
  const isChangedElsewhere = isStale && !save.isPending && !isSaved
  const isTyped = !isSaved && differs(typed, before)
  useEffect(() => onTyped?.(isTyped), [onTyped, isTyped])

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
    <UnsavedWarning changed={isTyped}>
      <form onSubmit={submit} noValidate>
        <Fieldset variant="unstyled" m={0} disabled={!canOperate(me)}>
          <Stack gap="lg">
            {isChangedElsewhere && <StaleAlert onReload={onReload} />}
            <PackageFields typed={typed} onChange={setTyped} errors={errors} isNew={isNew} />
            {save.error && !isChangedElsewhere && (
              <ErrorText>{Object.keys(errors).length > 0 ? t.package.hasErrors : save.error.message}</ErrorText>
            )}
            {canOperate(me) && (
              <Group className="save-bar">
                <Button type="submit" loading={save.isPending}>
                  {isNew ? t.package.create : t.common.save}
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
