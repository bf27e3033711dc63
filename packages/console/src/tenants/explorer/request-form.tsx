import {
  hasDryRun,
  type OperationName,
  operationNames,
  operations,
  parseRequest,
  parseStrictJson,
} from '@dealer-esim/contract'
import type { TenantDetail } from '@dealer-esim/gateway/http/console/tenants/tenants.ts'
import { Button, Grid, Group, NativeSelect, Stack, Text, Textarea } from '@mantine/core'
import { useMemo, useState } from 'react'
import { isTestMode } from '#api/call-api.ts'
import { Prose } from '#code/prose.tsx'
import { DocsLink } from '#docs/docs-link.tsx'
import { OPERATION_DOCS } from '#docs/operation-docs.ts'
import { Dialog } from '#parts/dialog.tsx'
import { Card } from '#parts/page.tsx'
import { Hint } from '#parts/values.tsx'
import { useSession } from '#people/sign-in/session.ts'
import { t } from '#strings/page-texts.ts'
import { formatMessage } from '#strings/strings.ts'
import { Answer, type SentRequest } from './answer-card.tsx'
import { requestHistory } from './call-history.ts'
import { HistoryCard } from './history-card.tsx'
import { SchemaMembers } from './schema-members.tsx'
import { sendCall, signCall } from './signed-call.ts'
import { SnippetCard } from './snippet-card.tsx'
import { isDryRun } from './snippets.ts'

const EXAMPLES: Record<OperationName, () => object> = {
  health: () => ({}),
  'account/balance': () => ({}),
  'package/list': () => ({ pageSize: 10 }),
  'esim/order': () => ({ transactionId: newTransactionId(), packageInfoList: [{ packageCode: 'JP_1_7', count: 1 }] }),
  'esim/topup': () => ({ transactionId: newTransactionId(), esimTranNo: 'E-1', packageCode: 'JP_1_7_TOPUP' }),
  'esim/query': () => ({ transactionId: 'T-1' }),
  'esim/profile/list': () => ({ pageSize: 10 }),
  'esim/profile/send': () => ({ transactionId: newTransactionId(), esimTranNo: 'E-1', email: 'traveller@example.com' }),
  'brand/list': () => ({}),
  'esim/cancel': () => ({ transactionId: newTransactionId(), action: 'CANCEL', esimTranNo: 'E-1' }),
  'esim/suspend': () => ({ transactionId: newTransactionId(), action: 'SUSPEND', esimTranNo: 'E-1' }),
  'esim/unsuspend': () => ({ transactionId: newTransactionId(), action: 'UNSUSPEND', esimTranNo: 'E-1' }),
  'esim/revoke': () => ({ transactionId: newTransactionId(), action: 'REVOKE', esimTranNo: 'E-1' }),
  'esim/action/query': () => ({ transactionId: 'C-1' }),
  'webhook/set': () => ({}),
  'webhook/test': () => ({ notifyType: 'ORDER_PAID' }),
  'order/list': () => ({ pageSize: 10 }),
  'account/statement': () => ({ pageSize: 10 }),
  'ledger/checkpoint': () => ({}),
  'ledger/proof': () => ({ entryNo: '1', treeSize: 1 }),
  'ledger/consistency': () => ({ fromSize: 1, toSize: 1 }),
  'ledger/keys': () => ({}),
  'location/list': () => ({ language: 'en' }),
  'device/list': () => ({ pageSize: 10 }),
  'esim/usage/query': () => ({ esimTranNoList: ['E-1'] }),
  'test/balance/set': () => ({ balance: 1_000_000 }),
  'test/esim/update': () => ({ esimTranNo: 'E-1', smdpStatus: 'ENABLED', usedPercent: 80 }),
  'test/clock/advance': () => ({ hours: 24 }),
  'test/order/resolve': () => ({ orderNo: 'O-1', outcome: 'DELIVERED' }),
}

/** The consequence of an operation for money and eSIMs, which must be confirmed before it is sent on a production gateway. */
const CONSEQUENCES: Partial<Record<OperationName, string>> = {
  'esim/order': t.explorer.consequences.debits,
  'esim/topup': t.explorer.consequences.debits,
  'esim/cancel': t.explorer.consequences.ends,
  'esim/revoke': t.explorer.consequences.ends,
  'esim/suspend': t.explorer.consequences.stops,
}

const newTransactionId = () => `T-${Date.now().toString(36)}`
const toJson = (value: object) => JSON.stringify(value, null, 2)

/** The request on the left; on the right the answer, or the purpose of the operation. */
export function RequestForm({ tenant, secret }: { tenant: TenantDetail | undefined; secret: string | undefined }) {
  const me = useSession()
  const history = useMemo(() => requestHistory(isTestMode ? `${me.personId}:test` : me.personId), [me.personId])
  const [past, setPast] = useState(history.list)
  const [operation, setOperation] = useState<OperationName>('health')
  const [body, setBody] = useState(() => toJson(EXAMPLES.health()))
  const [sent, setSent] = useState<SentRequest>()
  const [busy, setBusy] = useState(false)
  const [dialogOpen, setDialogOpen] = useState(false)
  const problem = bodyError(operation, body)

  function enter(next: OperationName, text: string) {
    setOperation(next)
    setBody(text)
    setSent(undefined)
  }

  async function send() {
    if (secret === undefined || !tenant) return
    setDialogOpen(false)
    setBusy(true)
    const call = await signCall(tenant.appKey, secret, operation, body)
    const request = { time: new Date().toISOString(), tenantId: tenant.tenantId, operation, body }
    try {
      const answer = await sendCall(call)
      setSent({ operation, call, answer })
      setPast(history.add({ ...request, status: answer.status }))
    } catch (error) {
      setSent({ operation, call, error: error instanceof Error ? error.message : String(error) })
      setPast(history.add({ ...request, status: null }))
    }
    setBusy(false)
  }

  const isForReal = me.deployment === 'production' && !isTestMode
  const needed = tenant ? secret === undefined && t.explorer.needSecret : t.explorer.chooseDealer
  return (
    <Grid gap="md">
      <Grid.Col span={{ base: 12, md: 6 }}>
        <Card>
          <NativeSelect
            label={t.explorer.operation}
            value={operation}
            data={[...operationNames]}
            onChange={(event) => {
              const next = event.currentTarget.value as OperationName
              enter(next, toJson(EXAMPLES[next]()))
            }}
          />
          <Textarea
            label={t.explorer.body}
            value={body}
            onChange={(event) => setBody(event.currentTarget.value)}
            autosize
            minRows={6}
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
              disabled={needed !== false}
              onClick={() =>
                CONSEQUENCES[operation] && isForReal && !isDryRun(body) ? setDialogOpen(true) : void send()
              }
            >
              {t.explorer.send}
            </Button>
            <BodyButtons operation={operation} body={body} onChange={setBody} />
            {needed && <Hint>{needed}</Hint>}
          </Group>
        </Card>
      </Grid.Col>
      <Grid.Col span={{ base: 12, md: 6 }}>
        <Stack gap="md">
          {sent && <Answer sent={sent} />}
          <OperationCard operation={operation} />
        </Stack>
      </Grid.Col>
      <Grid.Col span={{ base: 12, md: 6 }}>
        <SnippetCard
          call={{ publicUrl: me.publicUrl, appKey: tenant?.appKey ?? t.explorer.yourAppKey, operation, body }}
        />
      </Grid.Col>
      <Grid.Col span={{ base: 12, md: 6 }}>
        <HistoryCard
          requests={past}
          onChoose={(request) => enter(request.operation, request.body)}
          onClear={() => {
            history.clear()
            setPast([])
          }}
        />
      </Grid.Col>
      <Dialog
        title={formatMessage(t.explorer.confirmTitle, { operation })}
        opened={dialogOpen}
        onClose={() => setDialogOpen(false)}
        submit={t.explorer.send}
        danger
        onSubmit={() => void send()}
      >
        {CONSEQUENCES[operation]}
      </Dialog>
    </Grid>
  )
}

/** Changes the body without typing: a new transactionId, or a dry run of the order. */
function BodyButtons({
  operation,
  body,
  onChange,
}: {
  operation: OperationName
  body: string
  onChange: (body: string) => void
}) {
  return (
    <>
      {body.includes('"transactionId"') && (
        <Button variant="default" onClick={() => onChange(withMember(body, { transactionId: newTransactionId() }))}>
          {t.explorer.newTransaction}
        </Button>
      )}
      {hasDryRun(operation) && !isDryRun(body) && (
        <Button variant="default" onClick={() => onChange(withMember(body, { validateOnly: true }))}>
          {t.explorer.dryRun}
        </Button>
      )}
    </>
  )
}

/** Describes an operation and its members, with a link to the section of the documentation about it. */
function OperationCard({ operation }: { operation: OperationName }) {
  return (
    <Card title={operation} actions={<DocsLink to={OPERATION_DOCS[operation]} subject={operation} />}>
      <Text size="sm" component="div">
        <Prose text={t.explorer.operations[operation]} />
      </Text>
      <SchemaMembers schema={operations[operation].request} />
    </Card>
  )
}

/** Validates the body as the gateway does, on every keystroke. An invalid body can still be sent. */
function bodyError(operation: OperationName, body: string): string | undefined {
  const json = parseStrictJson(new TextEncoder().encode(body))
  if (!json.ok) return formatMessage(t.explorer.bodyNotJson, { reason: json.reason })
  const parsed = parseRequest(operation, json.value)
  if (parsed.ok) return undefined
  return `${parsed.code}: ${parsed.details.map((detail) => `${detail.field} ${detail.reason}`).join(' ')}`
}

function withMember(body: string, member: object): string {
  try {
    return toJson({ ...(JSON.parse(body) as object), ...member })
  } catch {
    return body
  }
}
