import type { ListMatches, RecoveryView } from '@dealer-esim/gateway/http/console/operations/recovery.ts'
import { List as Bullets, Checkbox, Radio, Stack, Text, Textarea } from '@mantine/core'
import { useState } from 'react'
import { CsvField } from '#orders/csv-field.tsx'
import { EvidenceField } from '#orders/evidence-field.tsx'
import { ChangeDialog, Dialog } from '#parts/dialog.tsx'
import { valueColumn } from '#parts/list-columns.tsx'
import { List } from '#parts/record-list.tsx'
import { t } from '#strings/page-texts.ts'
import { formatMessage } from '#strings/strings.ts'

export type Part<Name extends keyof RecoveryView> = RecoveryView[Name] extends (infer Row)[] ? Row : never

/** What an operator does about a row of the recovery page. */
export type Doing =
  | { kind: 'release'; dealer: Part<'dealers'> | 'all'; doubts: string[] }
  | { kind: 'list'; dealer: Part<'dealers'> }
  | { kind: 'decide'; transaction: Part<'transactions'> }
  | { kind: 'stock'; batch: Part<'batches'> }
  | { kind: 'settle'; supplier: string; iccid?: string }
  | { kind: 'credits' }

export function RecoveryDialog({ doing, onClose }: { doing: Doing; onClose(): void }) {
  switch (doing.kind) {
    case 'release':
      return <ReleaseDialog {...{ ...doing, onClose }} />
    case 'list':
      return <ListDialog {...{ ...doing, onClose }} />
    case 'decide':
      return <DecideDialog {...{ ...doing, onClose }} />
    case 'stock':
      return <StockDialog {...{ ...doing, onClose }} />
    case 'settle':
      return <SettleDialog {...{ ...doing, onClose }} />
    case 'credits':
      return <CreditsDialog onClose={onClose} />
    default:
      return doing satisfies never
  }
}

/** The console API's limit: some 50 000 rows. */
const CSV_LENGTH_MAX = 2_000_000
const CSV_HEADER = 'iccid'

/** Asks why doubts are accepted, if there are any. */
function ReleaseDialog(props: { dealer: Part<'dealers'> | 'all'; doubts: string[]; onClose(): void }) {
  const { dealer, doubts, onClose } = props
  const title =
    dealer === 'all' ? t.recovery.releaseAll : formatMessage(t.recovery.releaseOf, { dealer: dealer.clientName })
  return (
    <ChangeDialog
      title={title}
      submit={t.recovery.release}
      success={t.recovery.releasedNow}
      danger={doubts.length > 0}
      onClose={onClose}
      request={({ acceptedDoubt }) => ({
        method: 'POST',
        path: '/recovery/release',
        body: { ...(dealer !== 'all' && { tenantIds: [dealer.tenantId] }), ...(acceptedDoubt && { acceptedDoubt }) },
      })}
    >
      <Text size="sm">{t.recovery.releaseText}</Text>
      {doubts.length > 0 && (
        <>
          <Bullets size="sm">
            {doubts.map((doubt) => (
              <Bullets.Item key={doubt}>{doubt}</Bullets.Item>
            ))}
          </Bullets>
          <Textarea name="acceptedDoubt" label={t.recovery.accept} required minLength={3} autosize />
        </>
      )}
    </ChangeDialog>
  )
}

/** Matches a dealer's list, and shows what the database does not know. */
function ListDialog({ dealer, onClose }: { dealer: Part<'dealers'>; onClose(): void }) {
  const [matches, setMatches] = useState<ListMatches>()
  const title = formatMessage(t.recovery.matchListOf, { dealer: dealer.clientName })
  if (matches) return <MatchesDialog {...{ title, matches, onClose }} />
  return (
    <ChangeDialog<ListMatches>
      title={title}
      submit={t.recovery.matchList}
      success={t.recovery.matched}
      size="lg"
      onClose={onClose}
      onDone={setMatches}
      request={({ csv }) => ({ method: 'POST', path: '/recovery/list', body: { tenantId: dealer.tenantId, csv } })}
    >
      <CsvField label={t.recovery.orders} hint={t.recovery.ordersHint} lengthMax={CSV_LENGTH_MAX} />
    </ChangeDialog>
  )
}

function MatchesDialog(props: { title: string; matches: ListMatches; onClose(): void }) {
  const { title, matches, onClose } = props
  return (
    <Dialog
      title={title}
      opened
      submit={t.common.close}
      hasCancel={false}
      size="xl"
      onClose={onClose}
      onSubmit={onClose}
    >
      <Text size="sm" role="status">
        {formatMessage(t.recovery.matchCount, { known: matches.known, all: matches.orders })}
      </Text>
      {matches.unknown.length > 0 && (
        <List<ListMatches['unknown'][number]>
          label={t.recovery.matched}
          rows={matches.unknown}
          empty={{ title: t.recovery.matched }}
          idOf={(row) => String(row.row)}
          columns={[
            valueColumn('transactionId', t.recovery.transactionId, (row) => row.transactionId),
            valueColumn('match', t.recovery.match, (row) => t.recovery.matches[row.match]),
            valueColumn('detail', t.recovery.matchDetail, (row) => row.detail ?? '–', { wraps: true }),
          ]}
        />
      )}
    </Dialog>
  )
}

function DecideDialog({ transaction, onClose }: { transaction: Part<'transactions'>; onClose(): void }) {
  const { tenantId, transactionId } = transaction
  const [isAll, setIsAll] = useState(false)
  return (
    <ChangeDialog
      title={formatMessage(t.recovery.decideOf, { transactionId })}
      submit={t.recovery.decide}
      success={t.recovery.decided}
      onClose={onClose}
      request={({ state, evidence }) => ({
        method: 'POST',
        path: '/recovery/decide',
        body: { tenantId, ...(!isAll && { transactionIds: [transactionId] }), state, evidence },
      })}
    >
      <Choice name="state" label={t.recovery.decision} labels={t.recovery.decisions} />
      <Checkbox
        label={t.recovery.decideAll}
        checked={isAll}
        onChange={(event) => setIsAll(event.currentTarget.checked)}
      />
      <EvidenceField />
    </ChangeDialog>
  )
}

function StockDialog({ batch, onClose }: { batch: Part<'batches'>; onClose(): void }) {
  const { supplier, batchId, batchName } = batch
  const [sold, setSold] = useState<string>()
  return (
    <ChangeDialog
      title={`${t.recovery.saySold}: ${batchName}`}
      submit={t.recovery.saySold}
      success={t.recovery.soldSaid}
      danger={sold === 'REST_UNSOLD'}
      onClose={onClose}
      request={({ sold: kind, csv, evidence }) => ({
        method: 'POST',
        path: '/recovery/stock',
        body: { supplier, batchId, sold: kind, ...(csv && { csv }), evidence },
      })}
    >
      <Choice name="sold" label={t.recovery.sold} labels={t.recovery.soldKinds} onChange={setSold} />
      {sold === 'ICCIDS' && <IccidsField />}
      <EvidenceField />
    </ChangeDialog>
  )
}

function SettleDialog({ supplier, iccid, onClose }: { supplier: string; iccid?: string; onClose(): void }) {
  const [part, setPart] = useState<string>()
  return (
    <ChangeDialog
      title={formatMessage(t.recovery.settleOf, { of: iccid ?? supplier })}
      submit={t.recovery.settle}
      success={t.recovery.settled}
      onClose={onClose}
      request={({ part: kind = 'ICCIDS', csv = [CSV_HEADER, iccid].join('\n'), evidence }) => ({
        method: 'POST',
        path: '/recovery/settle',
        body: { supplier, part: kind, ...(kind === 'ICCIDS' && { csv }), evidence },
      })}
    >
      {iccid === undefined && (
        <Choice name="part" label={t.recovery.settlePart} labels={t.recovery.parts} onChange={setPart} />
      )}
      {part === 'ICCIDS' && <IccidsField />}
      <EvidenceField />
    </ChangeDialog>
  )
}

function CreditsDialog({ onClose }: { onClose(): void }) {
  return (
    <ChangeDialog
      title={t.recovery.creditsTitle}
      submit={t.recovery.settle}
      success={t.recovery.settled}
      onClose={onClose}
      request={({ evidence }) => ({ method: 'POST', path: '/recovery/credits', body: { evidence } })}
    >
      <Text size="sm">{t.recovery.credits}</Text>
      <EvidenceField />
    </ChangeDialog>
  )
}

/** One of several answers, none of them preselected. */
function Choice(props: {
  name: string
  label: string
  labels: Record<string, string>
  onChange?(value: string): void
}) {
  const { name, label, labels, onChange } = props
  return (
    <Radio.Group name={name} label={label} withAsterisk {...(onChange && { onChange })}>
      <Stack gap="xs" mt="xs">
        {Object.entries(labels).map(([value, text]) => (
          <Radio key={value} value={value} label={text} required />
        ))}
      </Stack>
    </Radio.Group>
  )
}

function IccidsField() {
  return <CsvField label={t.recovery.iccids} hint={t.recovery.iccidsHint} lengthMax={CSV_LENGTH_MAX} />
}
