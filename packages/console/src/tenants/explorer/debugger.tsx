import { type OperationName, operationNames } from '@dealer-esim/contract'
import type { TenantDetail } from '@dealer-esim/gateway/http/console/tenants/tenants.ts'
import { Alert, Button, Group, List, NativeSelect, Text, Textarea, ThemeIcon } from '@mantine/core'
import { IconCheck, IconMinus, IconX } from '@tabler/icons-react'
import { useState } from 'react'
import { call } from '#api/call-api.ts'
import { formFields } from '#parts/form-values.ts'
import { notifyError } from '#parts/notify.ts'
import { Card } from '#parts/page.tsx'
import { Hint } from '#parts/values.tsx'
import { t } from '#strings/page-texts.ts'
import { formatMessage } from '#strings/strings.ts'
import { type CheckResult, diagnose } from './diagnose-signature.ts'

interface Clock {
  serverTime: string
}

/** Shows which of the gateway's checks a pasted request fails, and why. Only the RequestID is sent to the gateway. */
export function Debugger({ tenant, secret }: { tenant: TenantDetail; secret: string | undefined }) {
  const [results, setResults] = useState<CheckResult[]>()
  const [busy, setBusy] = useState(false)
  const path = `/tenants/${tenant.tenantId}`

  async function check(fields: Record<string, string>) {
    setBusy(true)
    try {
      const { serverTime } = await call<Clock>('GET', '/clock')
      setResults(
        await diagnose({
          headersText: fields.headers ?? '',
          body: fields.body ?? '',
          operation: fields.operation as OperationName,
          appKey: tenant.appKey,
          secret: secret ?? '',
          serverTimeMs: Date.parse(serverTime),
          isRequestIdUsed: async (requestId) =>
            (await call<{ used: boolean }>('GET', `${path}/request-ids/${requestId.toLowerCase()}`)).used,
        }),
      )
    } catch (error) {
      notifyError(error)
    }
    setBusy(false)
  }

  const failure = results?.find((result) => result.ok === false)
  return (
    <>
      <Card>
        <form
          onSubmit={(event) => {
            event.preventDefault()
            void check(formFields(event.currentTarget))
          }}
        >
          <Textarea
            name="headers"
            label={t.debugger.headers}
            description={t.debugger.headersHint}
            autosize
            minRows={5}
            maxRows={14}
            spellCheck={false}
            classNames={{ input: 'mono' }}
            required
            mb="sm"
          />
          <Textarea
            name="body"
            label={t.debugger.body}
            autosize
            minRows={4}
            maxRows={16}
            spellCheck={false}
            classNames={{ input: 'mono' }}
            mb="sm"
          />
          <Group align="flex-end">
            <NativeSelect name="operation" label={t.debugger.operation} data={[...operationNames]} />
            <Button type="submit" loading={busy} disabled={secret === undefined}>
              {t.debugger.check}
            </Button>
            {secret === undefined && <Hint>{t.explorer.needSecret}</Hint>}
          </Group>
        </form>
      </Card>
      {results && (
        <Card>
          <Alert color={failure ? 'red' : 'teal'} role="status" data-verdict={failure?.code ?? 'fine'}>
            {failure ? formatMessage(t.debugger.stopsHere, { code: failure.code ?? '' }) : t.debugger.allPassed}
          </Alert>
          <List spacing="xs" center={false} listStyleType="none">
            {results.map((result) => (
              <List.Item key={result.check} icon={<CheckIcon ok={result.ok} />} data-check={result.check}>
                <Text size="sm" fw={600}>
                  {t.debugger.checks[result.check]}
                </Text>
                <Text size="sm" {...(result.ok !== false && { c: 'dimmed' })}>
                  {result.message}
                </Text>
              </List.Item>
            ))}
          </List>
        </Card>
      )}
    </>
  )
}

function CheckIcon({ ok }: { ok: boolean | undefined }) {
  const Icon = ok === undefined ? IconMinus : ok ? IconCheck : IconX
  return (
    <ThemeIcon size={22} radius="xl" color={ok === undefined ? 'gray' : ok ? 'teal' : 'red'} variant="light">
      <Icon size={14} />
    </ThemeIcon>
  )
}
