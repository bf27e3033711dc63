import { type OperationName, operationNames, operations, parseRequest, parseStrictJson } from '@dealer-esim/contract'
import type { TenantDetail } from '@dealer-esim/gateway/console-api/routes/tenants/tenants.ts'
import { Alert, Button, Grid, Group, NativeSelect, Stack, Text, Textarea } from '@mantine/core'
import { useState } from 'react'
import { Dialog } from '../parts/dialog.tsx'
import { formatDuration } from '../parts/format.ts'
import { Card } from '../parts/page.tsx'
import { CopyIcon } from '../parts/values.tsx'
import { useSession } from '../session/session.ts'
import { interpolate, t } from '../strings/strings.ts'
import { SchemaMembers } from './schema-members.tsx'
import { type CallResponse, curlCommand, type SignedCall, sdkSnippet, sendCall, signCall } from './signed-call.ts'

const EXAMPLES: Record<OperationName, () => object> = {
  health: () => ({}),
  'account/balance': () => ({}),
  'package/list': () => ({ pageSize: 10 }),
  'esim/order': () => ({ transactionId: newTransactionId(), packageInfoList: [{ packageCode: 'JP_1_7', count: 1 }] }),
  'esim/topup': () => ({ transactionId: newTransactionId(), esimTranNo: 'E-1', packageCode: 'JP_1_7_TOPUP' }),
  'esim/query': () => ({ transactionId: 'T-1' }),
  'esim/profile/list': () => ({ pageSize: 10 }),
  'esim/cancel': () => ({ transactionId: newTransactionId(), action: 'CANCEL', esimTranNo: 'E-1' }),
  'esim/suspend': () => ({ transactionId: newTransactionId(), action: 'SUSPEND', esimTranNo: 'E-1' }),
  'esim/unsuspend': () => ({ transactionId: newTransactionId(), action: 'UNSUSPEND', esimTranNo: 'E-1' }),
  'esim/revoke': () => ({ transactionId: newTransactionId(), action: 'REVOKE', esimTranNo: 'E-1' }),
  'esim/action/query': () => ({ transactionId: 'C-1' }),
  'webhook/set': () => ({}),
  'order/list': () => ({ pageSize: 10 }),
  'account/statement': () => ({ pageSize: 10 }),
  'location/list': () => ({ language: 'en' }),
  'esim/usage/query': () => ({ esimTranNoList: ['E-1'] }),
}

const newTransactionId = () => `T-${Date.now().toString(36)}`
const toJson = (value: object) => JSON.stringify(value, null, 2)

interface SentRequest {
  call: SignedCall
  answer?: CallResponse
  error?: string
}

export function RequestForm({ tenant, secret }: { tenant: TenantDetail; secret: string | undefined }) {
  const me = useSession()
  const [operation, setOperation] = useState<OperationName>('health')
  const [body, setBody] = useState(() => toJson(EXAMPLES.health()))
  const [sent, setSent] = useState<SentRequest>()
  const [busy, setBusy] = useState(false)
  const [dialogOpen, setDialogOpen] = useState(false)
  const problem = bodyError(operation, body)

  async function send() {
    if (secret === undefined) return
    setDialogOpen(false)
    setBusy(true)
    const call = await signCall(tenant.appKey, secret, operation, body)
    try {
      setSent({ call, answer: await sendCall(call) })
    } catch (error) {
      setSent({ call, error: error instanceof Error ? error.message : String(error) })
    }
    setBusy(false)
  }

  return (
    <Grid gap="md">
      <Grid.Col span={{ base: 12, md: 7 }}>
        <Card>
          <NativeSelect
            label={t.explorer.operation}
            value={operation}
            data={[...operationNames]}
            onChange={(event) => {
              const next = event.currentTarget.value as OperationName
              setOperation(next)
              setBody(toJson(EXAMPLES[next]()))
              setSent(undefined)
            }}
          />
          <Textarea
            label={t.explorer.body}
            value={body}
            onChange={(event) => setBody(event.currentTarget.value)}
            autosize
            minRows={8}
            maxRows={24}
            spellCheck={false}
            classNames={{ input: 'mono' }}
          />
          <Text size="sm" role="status" {...(problem ? { className: 'negative' } : { c: 'dimmed' })}>
            {problem ?? t.explorer.bodyValid}
          </Text>
          <Group>
            <Button
              loading={busy}
              disabled={secret === undefined}
              title={secret === undefined ? t.explorer.needSecret : undefined}
              onClick={() =>
                operation === 'esim/order' && me.deployment === 'production' ? setDialogOpen(true) : void send()
              }
            >
              {t.explorer.send}
            </Button>
            {operation === 'esim/order' && (
              <Button variant="default" onClick={() => setBody(withNewTransaction(body))}>
                {t.explorer.newTransaction}
              </Button>
            )}
            {secret === undefined && (
              <Text size="sm" c="dimmed">
                {t.explorer.needSecret}
              </Text>
            )}
          </Group>
        </Card>
      </Grid.Col>
      <Grid.Col span={{ base: 12, md: 5 }}>
        <Card title={operation}>
          <Text size="sm">{operations[operation].description}</Text>
          <SchemaMembers schema={operations[operation].request} />
        </Card>
      </Grid.Col>
      {sent && (
        <Grid.Col span={12}>
          <Result sent={sent} tenant={tenant} operation={operation} />
        </Grid.Col>
      )}
      <Dialog
        title={t.explorer.sendOrderTitle}
        opened={dialogOpen}
        onClose={() => setDialogOpen(false)}
        submit={t.explorer.sendOrder}
        danger
        onSubmit={() => void send()}
      >
        {t.explorer.sendOrderText}
      </Dialog>
    </Grid>
  )
}

/** Validates the body as the gateway does, on every keystroke. An invalid body can still be sent. */
function bodyError(operation: OperationName, body: string): string | undefined {
  const json = parseStrictJson(new TextEncoder().encode(body))
  if (!json.ok) return interpolate(t.explorer.bodyNotJson, { reason: json.reason })
  const parsed = parseRequest(operation, json.value)
  if (parsed.ok) return undefined
  return `${parsed.code}: ${parsed.details.map((detail) => `${detail.field} ${detail.reason}`).join(' ')}`
}

function withNewTransaction(body: string): string {
  try {
    return toJson({ ...(JSON.parse(body) as object), transactionId: newTransactionId() })
  } catch {
    return body
  }
}

function Result({ sent, tenant, operation }: { sent: SentRequest; tenant: TenantDetail; operation: OperationName }) {
  const me = useSession()
  const { call, answer, error } = sent
  return (
    <Card
      title={t.explorer.response}
      actions={
        answer && (
          <Text size="sm" data-answer={answer.status}>
            {interpolate(t.explorer.responseStatus, { status: answer.status, time: formatDuration(answer.durationMs) })}
          </Text>
        )
      }
    >
      {error && <Alert color="red">{interpolate(t.explorer.cannotSend, { reason: error })}</Alert>}
      {answer && <pre className="code">{answer.text}</pre>}
      <Snippet label={t.explorer.stringToSign} text={call.stringToSign} />
      <Snippet label={t.explorer.signature} text={call.signature} />
      <Snippet label={t.explorer.curl} text={curlCommand(me.publicUrl, operation, call)} />
      <Snippet label={t.explorer.sdk} text={sdkSnippet(me.publicUrl, tenant.appKey, operation, call.body)} />
    </Card>
  )
}

function Snippet({ label, text }: { label: string; text: string }) {
  return (
    <Stack gap={4}>
      <Group gap={4}>
        <Text size="sm" fw={600}>
          {label}
        </Text>
        <CopyIcon value={text} label={label} />
      </Group>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls has to be reached by the keyboard */}
      <pre className="code" tabIndex={0}>
        {text}
      </pre>
    </Stack>
  )
}
