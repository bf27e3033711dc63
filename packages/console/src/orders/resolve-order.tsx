import type { OrderDetail, OrderItem } from '@dealer-esim/gateway/http/console/orders/orders.ts'
import { Checkbox, Fieldset, Radio, Stack, Switch, Text, TextInput } from '@mantine/core'
import { useState } from 'react'
import { ChangeDialog } from '#parts/dialog.tsx'
import { formatMoney } from '#parts/format.ts'
import { formatMessage, t } from '#strings/strings.ts'
import { CsvField } from './csv-field.tsx'
import { EvidenceField } from './evidence-field.tsx'

type Verdict = keyof typeof t.orders.supplierAnswers

/** A top-up does not deliver an eSIM. */
const VERDICTS: Record<OrderDetail['orderType'], Verdict[]> = {
  NEW: ['refused', 'retry', 'delivered'],
  TOPUP: ['refused', 'retry', 'toppedUp'],
}

/** Records a supplier's answer about eSIMs under review. Neither an answer nor one of several eSIMs is preselected. */
export function ResolveOrder({ order, onClose }: { order: OrderDetail; onClose(): void }) {
  const items = itemsUnderReview(order)
  const [itemNos, setItemNos] = useState(items.length === 1 ? items.map((item) => item.itemNo) : [])
  const [verdict, setVerdict] = useState<Verdict>()
  const [isMissing, setIsMissing] = useState(false)
  const chosen = items.filter((item) => itemNos.includes(item.itemNo))
  return (
    <ChangeDialog
      title={`${t.orders.resolve}: ${order.transactionId}`}
      onClose={onClose}
      submit={submitLabel(order, chosen, verdict)}
      danger={verdict === 'refused'}
      success={t.orders.resolved}
      request={({ evidence, csv: file, ...fields }) => {
        const csv = file ?? (verdict === 'delivered' ? csvOfFields(fields, chosen) : undefined)
        setIsMissing(chosen.length === 0)
        if (chosen.length === 0) return null
        return {
          method: 'POST',
          path: `/tenants/${order.tenantId}/orders/${order.orderNo}/settle`,
          body: { verdict, evidence, itemNos: chosen.map((item) => item.itemNo), ...(csv && { csv }) },
        }
      }}
    >
      <Text size="sm">{t.orders.resolveText}</Text>
      <ItemChoice
        order={order}
        items={items}
        value={itemNos}
        onChange={setItemNos}
        error={isMissing && chosen.length === 0 ? t.orders.selectItems : undefined}
      />
      <Radio.Group
        name="verdict"
        label={t.orders.supplierAnswer}
        value={verdict ?? null}
        onChange={(value) => setVerdict(value as Verdict)}
        withAsterisk
      >
        <Stack gap="xs" mt="xs">
          {VERDICTS[order.orderType].map((value) => (
            <Radio key={value} value={value} label={t.orders.supplierAnswers[value]} required />
          ))}
        </Stack>
      </Radio.Group>
      {verdict === 'delivered' && <DeliveredEsims chosen={chosen} />}
      <EvidenceField />
    </ChangeDialog>
  )
}

export function itemsUnderReview(order: OrderDetail): OrderItem[] {
  return order.items.filter((item) => item.itemStatus === 'REVIEW')
}

/** What the button does, to how many eSIMs, and for how much. */
function submitLabel(order: OrderDetail, chosen: OrderItem[], verdict: Verdict | undefined): string {
  if (verdict === undefined || chosen.length === 0) return t.orders.resolve
  const sum = chosen.reduce((total, item) => total + item.price, 0)
  return formatMessage(t.orders.resolveAs[verdict], {
    count: chosen.length,
    amount: formatMoney(sum, order.currencyCode),
  })
}

function ItemChoice(props: {
  order: OrderDetail
  items: OrderItem[]
  value: number[]
  onChange(itemNos: number[]): void
  error: string | undefined
}) {
  const { order, items, value, onChange, error } = props
  const isAll = value.length === items.length
  return (
    <Stack gap="xs">
      {items.length > 1 && (
        <Checkbox
          label={formatMessage(t.orders.selectAll, { count: items.length })}
          checked={isAll}
          indeterminate={!isAll && value.length > 0}
          onChange={() => onChange(isAll ? [] : items.map((item) => item.itemNo))}
        />
      )}
      <Checkbox.Group
        label={t.orders.underReview}
        value={value.map(String)}
        onChange={(itemNos) => onChange(itemNos.map(Number))}
        error={error}
        withAsterisk
      >
        <Stack gap="xs" mt="xs">
          {items.map((item) => (
            <Checkbox
              key={item.itemNo}
              value={String(item.itemNo)}
              label={`${item.itemNo}: ${item.packageCode} · ${formatMoney(item.price, order.currencyCode)}`}
              description={[item.supplier, item.supplierKey].filter(Boolean).join(' · ')}
              className="break"
            />
          ))}
        </Stack>
      </Checkbox.Group>
    </Stack>
  )
}

/** Beyond this number, a file is required, because nobody types so many. */
const TYPED_ESIMS_MAX = 10

/** Two fields for each eSIM, or a file, which may have more columns. */
function DeliveredEsims({ chosen }: { chosen: OrderItem[] }) {
  const [isFile, setIsFile] = useState(chosen.length > TYPED_ESIMS_MAX)
  return (
    <>
      {isFile ? (
        <CsvField label={t.orders.csv} hint={t.orders.csvHint} />
      ) : (
        chosen.map(({ itemNo }) => (
          <Fieldset key={itemNo} legend={formatMessage(t.orders.esimNumber, { item: itemNo })}>
            <Stack gap="xs">
              <TextInput name={`iccid-${itemNo}`} label={t.esims.iccid} inputMode="numeric" required maxLength={22} />
              <TextInput
                name={`ac-${itemNo}`}
                label={t.esims.activationCode}
                placeholder={ACTIVATION_CODE_EXAMPLE}
                required
                maxLength={255}
              />
            </Stack>
          </Fieldset>
        ))
      )}
      <Switch label={t.orders.useCsv} checked={isFile} onChange={(event) => setIsFile(event.currentTarget.checked)} />
    </>
  )
}

const ACTIVATION_CODE_EXAMPLE = 'LPA:1$smdp.example.com$MATCHING-ID'

/** The same file that a person would write, so that the gateway checks both in the same way. */
function csvOfFields(fields: Record<string, string>, chosen: OrderItem[]): string {
  const rows = chosen.map(({ itemNo }) => [itemNo, fields[`iccid-${itemNo}`] ?? '', fields[`ac-${itemNo}`] ?? ''])
  const quoted = rows.map((row) => row.map((cell) => `"${String(cell).trim().replaceAll('"', '""')}"`).join(','))
  return ['itemNo,iccid,ac', ...quoted].join('\n')
}
