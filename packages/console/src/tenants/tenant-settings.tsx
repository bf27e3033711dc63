import type { TenantDetail } from '@dealer-esim/gateway/http/console/tenants/tenants.ts'
import {
  Alert,
  Button,
  Group,
  type InputWrapperProps,
  SimpleGrid,
  Stack,
  Switch,
  Textarea,
  TextInput,
} from '@mantine/core'
import { useRef } from 'react'
import { isTestMode } from '#api/call-api.ts'
import { useApi } from '#api/use-api.ts'
import { formatMoneyInput, parseMoneyInput, parseQpsInput } from '#parts/form-values.ts'
import { SettingsCard } from '#parts/settings-card.tsx'
import { UnsavedWarning } from '#parts/unsaved.tsx'
import { Hint } from '#parts/values.tsx'
import { canAdminister, canOperate, isOperator, useSession, usesApi } from '#people/sign-in/session.ts'
import { t } from '#strings/page-texts.ts'
import { formatMessage } from '#strings/strings.ts'
import { EndpointCard } from '#webhooks/endpoint.tsx'
import { DealerSection, useTenant } from './dealer.tsx'
import { SellsThrough } from './new-dealer.tsx'

export function SettingsPage() {
  const me = useSession()
  const { data: tenant } = useTenant()
  if (!tenant) return null
  return (
    <DealerSection title={t.settings.title}>
      <UnsavedWarning>
        <Stack gap="md">
          {usesApi(me) && <ApiAccess key={keyOf('api', tenant.ipAllowlist, tenant.qpsLimit)} tenant={tenant} />}
          <UnsignedRequests key={keyOf('unsigned', tenant.unsignedRequests, tenant.unsignedFault)} tenant={tenant} />
          {usesApi(me) && <EndpointCard tenantId={tenant.tenantId} title={t.endpoint.title} />}
          <Limits key={keyOf('limits', ...MONEY_FIELDS.map((name) => tenant[name]))} tenant={tenant} />
          <Billing
            key={keyOf('billing', tenant.clientName, ...BILLING_TEXTS.map((name) => tenant[name]))}
            tenant={tenant}
          />
          {/* A test twin shows the pages that its dealer has. */}
          {!isTestMode && <Sells key={keyOf('sells', tenant.sellsThrough)} tenant={tenant} />}
        </Stack>
      </UnsavedWarning>
    </DealerSection>
  )
}

/** Shows a dealer's people the pages for developers, or hides them. */
function Sells({ tenant }: { tenant: TenantDetail }) {
  const me = useSession()
  const title = isOperator(me) ? t.settings.sellsTitle : t.settings.sellsOwnTitle
  return (
    <SettingsCard title={title} saveTo={saveTo(tenant)} parse={(body) => ({ body })}>
      {() => (
        <>
          <Hint>{t.settings.sellsText}</Hint>
          <SellsThrough label={title} value={tenant.sellsThrough} disabled={!canAdminister(me)} />
        </>
      )}
    </SettingsCard>
  )
}

/** A card is reset only when its own values change, so unsaved input survives when another card is saved. */
const keyOf = (...shown: unknown[]) => JSON.stringify(shown)

const saveTo = ({ tenantId }: TenantDetail) => ({ method: 'PATCH', path: `/tenants/${tenantId}/settings` }) as const

/** The gateway's message names the malformed entries; their line numbers are added here. */
function withLines(message: string, typed: string): string {
  const isNamed = (entry: string) => entry !== '' && message.includes(`“${entry.slice(0, 60)}”`)
  const lines = typed.split('\n').flatMap((line, index) => (line.split(/[\s,]+/).some(isNamed) ? [index + 1] : []))
  return lines.length === 0 ? message : formatMessage(t.settings.lines, { lines: lines.join(', '), message })
}

function ApiAccess({ tenant }: { tenant: TenantDetail }) {
  const me = useSession()
  // Offered only to the dealer: an operator's address is not where the dealer's programs run.
  const isOwn = canAdminister(me) && !isOperator(me)
  const mine = useApi<{ address: string }>('/my-address', {}, { enabled: isOwn })
  const allowlist = useRef<HTMLTextAreaElement>(null)
  function addMine(address: string) {
    const field = allowlist.current
    if (!field || field.value.split(/\s+/).includes(address)) return
    field.value = `${field.value.trimEnd()}${field.value.trim() ? '\n' : ''}${address}`
    field.focus()
  }
  return (
    <SettingsCard
      title={t.settings.apiTitle}
      saveTo={saveTo(tenant)}
      parse={({ ipAllowlist = '', qpsLimit }) => {
        const qps = parseQpsInput(qpsLimit)
        if (qps === undefined) return { errors: { qpsLimit: t.settings.qpsInvalid } }
        const body: Record<string, unknown> = { ipAllowlist: ipAllowlist.split(/[\s,]+/).filter(Boolean) }
        if (canOperate(me)) body.qpsLimit = qps
        return { body }
      }}
    >
      {(errors) => (
        <>
          <Textarea
            ref={allowlist}
            name="ipAllowlist"
            label={t.settings.allowlist}
            description={t.settings.allowlistHint}
            defaultValue={tenant.ipAllowlist.join('\n')}
            readOnly={!canAdminister(me)}
            error={errors.ipAllowlist && withLines(errors.ipAllowlist, allowlist.current?.value ?? '')}
            autosize
            minRows={3}
          />
          {isOwn && mine.data && (
            <Group>
              <Button size="xs" variant="default" onClick={() => addMine(mine.data.address)}>
                {formatMessage(t.settings.addMyAddress, { address: mine.data.address })}
              </Button>
            </Group>
          )}
          <TextInput
            name="qpsLimit"
            label={t.settings.qps}
            description={canOperate(me) ? t.settings.qpsHint : t.settings.operatorOnly}
            defaultValue={tenant.qpsLimit ?? ''}
            placeholder={formatMessage(t.settings.qpsDefault, { limit: tenant.qpsDefault })}
            readOnly={!canOperate(me)}
            inputMode="numeric"
            error={errors.qpsLimit}
            maw={240}
          />
        </>
      )}
    </SettingsCard>
  )
}

/** Only the operator can change it, so dealers see it only while it is on. */
function UnsignedRequests({ tenant }: { tenant: TenantDetail }) {
  const me = useSession()
  const { unsignedRequests, unsignedFault } = tenant
  const mayEdit = canOperate(me) && (unsignedRequests || unsignedFault === null)
  if (!unsignedRequests && !isOperator(me)) return null
  return (
    <SettingsCard
      title={t.settings.unsignedTitle}
      saveTo={saveTo(tenant)}
      mayEdit={mayEdit}
      parse={(fields) => ({ body: { unsignedRequests: fields.unsignedRequests !== undefined } })}
    >
      {(errors) => (
        <>
          <Alert
            color={unsignedRequests ? 'red' : 'orange'}
            title={unsignedRequests ? t.settings.unsignedOn : undefined}
          >
            {isOperator(me) ? t.settings.unsignedWarning : t.settings.unsignedWarningOwn}
          </Alert>
          {unsignedFault !== null && (
            <Alert data-from-gateway color="gray" title={t.settings.unsignedRefused}>
              {unsignedFault}
            </Alert>
          )}
          <Switch
            name="unsignedRequests"
            label={t.settings.unsigned}
            description={canOperate(me) ? t.settings.unsignedHint : t.settings.operatorOnly}
            defaultChecked={unsignedRequests}
            disabled={!mayEdit}
            error={errors.unsignedRequests}
          />
        </>
      )}
    </SettingsCard>
  )
}

/** Hints go below the inputs, so that inputs in a row stay aligned. */
const LABEL_INPUT_HINT = ['label', 'input', 'description', 'error'] satisfies InputWrapperProps['inputWrapperOrder']
const MONEY_FIELDS = ['creditLimit', 'dailySpendLimit', 'lowBalanceThreshold'] as const

function Limits({ tenant }: { tenant: TenantDetail }) {
  const me = useSession()
  return (
    <SettingsCard
      title={`${t.settings.limitsTitle} (${tenant.currencyCode})`}
      saveTo={saveTo(tenant)}
      parse={(fields) => {
        const body: Record<string, unknown> = {}
        const errors: Record<string, string> = {}
        for (const name of canOperate(me) ? MONEY_FIELDS : (['lowBalanceThreshold'] as const)) {
          const typed = fields[name]
          const read = typed === undefined ? { amount: name === 'creditLimit' ? 0 : null } : parseMoneyInput(typed)
          if ('error' in read) errors[name] = read.error
          else body[name] = read.amount
        }
        return Object.keys(errors).length > 0 ? { errors } : { body }
      }}
    >
      {(errors) => (
        <SimpleGrid cols={{ base: 1, sm: 3 }}>
          <MoneyField
            name="creditLimit"
            label={t.settings.creditLimit}
            hint={canOperate(me) ? t.settings.creditHint : t.settings.operatorOnly}
            {...{ tenant, errors }}
            readOnly={!canOperate(me)}
          />
          <MoneyField
            name="dailySpendLimit"
            label={t.settings.dailyLimit}
            hint={canOperate(me) ? t.settings.dailyHint : t.settings.operatorOnly}
            {...{ tenant, errors }}
            readOnly={!canOperate(me)}
          />
          <MoneyField
            name="lowBalanceThreshold"
            label={t.settings.threshold}
            hint={t.settings.thresholdHint}
            {...{ tenant, errors }}
            readOnly={!canAdminister(me)}
          />
        </SimpleGrid>
      )}
    </SettingsCard>
  )
}

interface MoneyFieldProps {
  name: (typeof MONEY_FIELDS)[number]
  label: string
  hint: string
  tenant: TenantDetail
  errors: Record<string, string | undefined>
  readOnly: boolean
}

function MoneyField({ name, label, hint, tenant, errors, readOnly }: MoneyFieldProps) {
  return (
    <TextInput
      name={name}
      inputWrapperOrder={LABEL_INPUT_HINT}
      label={label}
      description={hint}
      defaultValue={formatMoneyInput(tenant[name])}
      readOnly={readOnly}
      error={errors[name]}
    />
  )
}

const BILLING_TEXTS = ['legalName', 'taxId', 'billingEmail', 'billingAddress'] as const

function Billing({ tenant }: { tenant: TenantDetail }) {
  const me = useSession()
  return (
    <SettingsCard
      title={t.settings.billingTitle}
      saveTo={saveTo(tenant)}
      parse={(fields) => ({
        body: {
          ...(isOperator(me) && { clientName: fields.clientName ?? tenant.clientName }),
          ...Object.fromEntries(BILLING_TEXTS.map((name) => [name, fields[name] ?? null])),
        },
      })}
    >
      {(errors) => {
        const field = (name: 'clientName' | (typeof BILLING_TEXTS)[number]) => ({
          name,
          defaultValue: tenant[name] ?? '',
          error: errors[name],
          readOnly: !canAdminister(me),
        })
        return (
          <SimpleGrid cols={{ base: 1, sm: 2 }}>
            {isOperator(me) && <TextInput {...field('clientName')} label={t.settings.name} required />}
            <TextInput {...field('legalName')} label={t.dealers.legalName} />
            <TextInput {...field('taxId')} label={t.dealers.taxId} />
            <TextInput {...field('billingEmail')} label={t.dealers.billingEmail} type="email" />
            <Textarea {...field('billingAddress')} label={t.dealers.billingAddress} autosize />
          </SimpleGrid>
        )
      }}
    </SettingsCard>
  )
}
