import type {
  GatewayConfiguration,
  OperatorSettingsView,
} from '@dealer-esim/gateway/http/console/operations/operator-settings.ts'
import type { CurrencyPaymentSettings, OperatorDetailsView } from '@dealer-esim/gateway/http/console/wallet/payments.ts'
import { Alert, Button, Checkbox, Stack, Switch, Text, Textarea, TextInput, Title } from '@mantine/core'
import { type ReactNode, useState } from 'react'
import { useApi, useChange } from '#api/use-api.ts'
import { Prose } from '#code/prose.tsx'
import { parseQpsInput } from '#parts/form-values.ts'
import { capitalised } from '#parts/format.ts'
import { figureColumn, valueColumn } from '#parts/list-columns.tsx'
import { LoadState } from '#parts/load-states.tsx'
import { Card, Page } from '#parts/page.tsx'
import { List } from '#parts/record-list.tsx'
import { SettingsCard } from '#parts/settings-card.tsx'
import { UnsavedWarning } from '#parts/unsaved.tsx'
import { Facts, Hint, TextLink } from '#parts/values.tsx'
import { isOperatorAdmin, useSession } from '#people/sign-in/session.ts'
import { t } from '#strings/page-texts.ts'
import { formatMessage } from '#strings/strings.ts'

type Variable = GatewayConfiguration['variables'][number]
type Retained = GatewayConfiguration['retention'][number]

/** Settings of the whole gateway: those that administrators change here, and those from the environment. */
export function OperatorSettingsPage() {
  const settings = useApi<OperatorSettingsView>('/operator-settings')
  const configuration = useApi<GatewayConfiguration>('/gateway-configuration')
  const error = settings.error ?? configuration.error
  const isLoaded = settings.data && configuration.data
  return (
    <Page title={t.operatorSettings.title} description={t.operatorSettings.text}>
      {!isLoaded && (
        <LoadState error={error} retry={() => Promise.all([settings.refetch(), configuration.refetch()])} />
      )}
      {isLoaded && (
        <UnsavedWarning>
          <Stack gap="md">
            <Operator />
            <Defaults
              key={JSON.stringify(settings.data)}
              settings={settings.data}
              variables={configuration.data.variables}
            />
            <MailCard variables={configuration.data.variables} />
            <Retention rows={configuration.data.retention} />
            <Variables rows={configuration.data.variables} />
          </Stack>
        </UnsavedWarning>
      )}
    </Page>
  )
}

function Operator() {
  const me = useSession()
  const { data: details } = useApi<OperatorDetailsView>('/operator-details')
  const { data: payments } = useApi<{ currencies: CurrencyPaymentSettings[] }>('/payment-settings')
  const currencies = payments?.currencies.map(({ currencyCode }) => currencyCode).join(', ')
  return (
    <Card title={t.operatorSettings.operator} actions={<TextLink to="/payment-settings">{t.payments.title}</TextLink>}>
      <Facts
        cols={4}
        items={[
          [t.operatorSettings.legalName, details?.legalName],
          [t.operatorSettings.currencies, currencies === '' ? t.operatorSettings.noCurrencies : currencies],
          [t.operatorSettings.deployment, t.deployment[me.deployment]],
          [
            t.operatorSettings.address,
            <span data-from-gateway key="address">
              {me.publicUrl}
            </span>,
          ],
        ]}
      />
    </Card>
  )
}

function Defaults({ settings, variables }: { settings: OperatorSettingsView; variables: Variable[] }) {
  const mayEdit = isOperatorAdmin(useSession())
  const addresses = settingOf(variables, 'OPERATOR_EMAIL')
  const { alertEmailsHint, alertEmailsFrom, alertEmailsPeople } = t.operatorSettings
  const otherwise = addresses === null ? alertEmailsPeople : formatMessage(alertEmailsFrom, { addresses })
  return (
    <SettingsCard
      title={t.operatorSettings.defaults}
      saveTo={{ method: 'PUT', path: '/operator-settings' }}
      mayEdit={mayEdit}
      parse={({ qpsLimit, alertEmails = '', twinsByDealers }) => {
        const qps = parseQpsInput(qpsLimit)
        if (qps === undefined) return { errors: { qpsLimit: t.settings.qpsInvalid } }
        const lines = alertEmails.split('\n').flatMap((line) => line.trim() || [])
        const isAllowed = twinsByDealers !== undefined
        return { body: { newDealerQpsLimit: qps, alertEmails: lines, twinsByDealers: isAllowed } }
      }}
    >
      {(errors) => (
        <>
          <Hint>{t.operatorSettings.defaultsText}</Hint>
          <TextInput
            name="qpsLimit"
            label={t.operatorSettings.qps}
            description={formatMessage(t.operatorSettings.qpsHint, {
              limit: settingOf(variables, 'DEFAULT_QPS_LIMIT') ?? '',
            })}
            defaultValue={settings.newDealerQpsLimit ?? ''}
            inputMode="numeric"
            error={errors.qpsLimit}
            readOnly={!mayEdit}
            maw={360}
          />
          <Textarea
            name="alertEmails"
            label={t.operatorSettings.alertEmails}
            description={`${alertEmailsHint} ${otherwise}`}
            defaultValue={settings.alertEmails.join('\n')}
            error={errors.alertEmails}
            readOnly={!mayEdit}
            autosize
            minRows={2}
          />
          <Checkbox
            name="twinsByDealers"
            label={t.operatorSettings.twinsByDealers}
            description={t.operatorSettings.twinsByDealersHint}
            defaultChecked={settings.twinsByDealers}
            disabled={!mayEdit}
          />
        </>
      )}
    </SettingsCard>
  )
}

function MailCard({ variables }: { variables: Variable[] }) {
  const me = useSession()
  const send = useChange({ success: formatMessage(t.operatorSettings.testSent, { email: me.email }) })
  const hasServer = variables.some(({ name, state }) => name === 'SMTP_URL' && state !== 'NOT_SET')
  return (
    <Card
      title={t.operatorSettings.mail}
      actions={
        hasServer &&
        isOperatorAdmin(me) && (
          <Button
            variant="default"
            size="xs"
            loading={send.isPending}
            onClick={() => send.mutate({ method: 'POST', path: '/operator-settings/test-mail', body: {} })}
          >
            {t.operatorSettings.sendTest}
          </Button>
        )
      }
    >
      {hasServer ? (
        <Facts
          cols={2}
          items={[
            [t.operatorSettings.mailServer, t.operatorSettings.mailServerSet],
            [
              t.operatorSettings.sender,
              <span data-from-gateway key="sender">
                {settingOf(variables, 'MAIL_FROM') ?? '–'}
              </span>,
            ],
          ]}
        />
      ) : (
        <Alert color="orange" title={t.operatorSettings.noMail}>
          {t.operatorSettings.mailServerMissing}
        </Alert>
      )}
    </Card>
  )
}

/** A card that is read rarely, closed at first. */
function ClosedCard({ title, children }: { title: string; children: ReactNode }) {
  return (
    <Card>
      <details>
        <summary>
          <Title order={2} display="inline">
            {title}
          </Title>
        </summary>
        <Stack gap="sm" mt="sm">
          {children}
        </Stack>
      </details>
    </Card>
  )
}

function Retention({ rows }: { rows: Retained[] }) {
  return (
    <ClosedCard title={formatMessage(t.operatorSettings.retentionKinds, { count: rows.length })}>
      <Hint>{t.operatorSettings.retentionText}</Hint>
      <List<Retained>
        label={t.operatorSettings.retention}
        rows={rows}
        idOf={(row) => row.what}
        empty={{ title: t.operatorSettings.retention }}
        columns={[
          {
            accessor: 'what',
            title: t.operatorSettings.what,
            phone: 'main',
            wraps: true,
            width: 600,
            render: (row) => <span data-from-gateway>{capitalised(row.what)}</span>,
          },
          figureColumn(
            'days',
            t.operatorSettings.keptFor,
            ({ days }) => formatMessage(t.operatorSettings.days, { count: days }),
            { phone: 'value' },
          ),
        ]}
      />
    </ClosedCard>
  )
}

const STATES = ['SET', 'SECRET', 'DEFAULT', 'NOT_SET'] as const satisfies Variable['state'][]

function Variables({ rows }: { rows: Variable[] }) {
  const [showsAll, setShowsAll] = useState(false)
  const byState = STATES.map((state) => rows.filter((row) => row.state === state))
  const [set = [], secret = []] = byState
  return (
    <ClosedCard title={formatMessage(t.operatorSettings.variablesSet, { count: set.length + secret.length })}>
      <Hint>{t.operatorSettings.variablesText}</Hint>
      <Switch
        label={t.operatorSettings.showUnset}
        checked={showsAll}
        onChange={(event) => setShowsAll(event.currentTarget.checked)}
      />
      <List<Variable>
        label={t.operatorSettings.variables}
        rows={byState.slice(0, showsAll ? undefined : -1).flat()}
        idOf={(row) => row.name}
        empty={{ title: t.operatorSettings.variables }}
        columns={[
          valueColumn('name', t.operatorSettings.variable, (row) => <code data-from-gateway>{row.name}</code>, {
            phone: 'main',
            width: 260,
          }),
          valueColumn('value', t.operatorSettings.value, (row) => <span data-from-gateway>{row.value ?? '–'}</span>, {
            phone: 'note',
            width: 220,
          }),
          {
            accessor: 'state',
            title: t.operatorSettings.source,
            phone: 'status',
            width: 110,
            render: (row) => <span data-source={row.state}>{t.operatorSettings.sources[row.state]}</span>,
          },
          {
            accessor: 'description',
            title: t.operatorSettings.meaning,
            wraps: true,
            width: 480,
            render: (row) => (
              <Text span size="xs" c="dimmed" data-from-gateway>
                <Prose text={row.description} />
              </Text>
            ),
          },
        ]}
      />
    </ClosedCard>
  )
}

function settingOf(variables: Variable[], name: string): string | null {
  return variables.find((variable) => variable.name === name)?.value ?? null
}
