import type { SupplierSync } from '@dealer-esim/gateway/http/console/products/products.ts'
import type { SaleRulePreview, SaleRuleRow } from '@dealer-esim/gateway/http/console/products/sale-rules.ts'
import { Alert, Checkbox, Loader, SimpleGrid, Stack, Text, TextInput } from '@mantine/core'
import { useEffect, useRef, useState } from 'react'
import { useApi, useChange } from '#api/use-api.ts'
import { Dialog } from '#parts/dialog.tsx'
import { formatCount } from '#parts/format.ts'
import { ErrorText, Loading } from '#parts/load-states.tsx'
import { Hint, TextLink } from '#parts/values.tsx'
import { t } from '#strings/page-texts.ts'
import { formatMessage } from '#strings/strings.ts'
import { supplierPage } from '#suppliers/supplier-paths.ts'
import { RULE_PREVIEW, rulePath } from './product-paths.ts'
import { RuleEffect } from './rule-effect.tsx'
import { NEW_RULE, parseRule, type TypedRule, typedRule } from './sale-rule-form.ts'
import { skippedTexts } from './skipped-texts.ts'

const REFRESH_MS = 1_000

interface SellProductsProps {
  supplier: string
  onClose(): void
}

/**
 * Sells all products of a supplier in two steps: the price, then the preview. The sale rule has the supplier's name, so a
 * second time the dialog changes that rule.
 */
export default function SellProducts({ supplier, onClose }: SellProductsProps) {
  const rules = useApi<{ rules: SaleRuleRow[] }>('/sale-rules').data?.rules
  const sync = useRead(supplier)
  if (!rules || !sync) return <Loading />
  const saved = rules.find((one) => one.ruleName === supplier)?.rule
  const typed = saved ? typedRule(saved) : { ...NEW_RULE, suppliers: supplier, packageType: '' }
  return <SellDialog supplier={supplier} typed={typed} sync={sync} onClose={onClose} />
}

/** The state of the supplier's catalogue, which is read first if that was never done. */
function useRead(supplier: string): SupplierSync | undefined {
  const { data } = useApi<{ syncs: SupplierSync[] }>('/supplier-syncs', {}, { refreshMs: REFRESH_MS })
  const start = useChange()
  const hasStarted = useRef(false)
  const sync = data?.syncs.find((one) => one.supplier === supplier)
  const isUnread = sync !== undefined && sync.finishedAt === null && !sync.isRunning
  const { mutate } = start
  useEffect(() => {
    if (!isUnread || hasStarted.current) return
    hasStarted.current = true
    mutate({ method: 'POST', path: `${supplierPage(supplier)}/sync` })
  }, [isUnread, mutate, supplier])
  return sync
}

function SellDialog(props: SellProductsProps & { typed: TypedRule; sync: SupplierSync }) {
  const { supplier, sync, onClose } = props
  const texts = t.saleRules.sell
  const [typed, setTyped] = useState(props.typed)
  const preview = useChange<SaleRulePreview>({ quiet: true })
  const save = useChange({ quiet: true })
  const apply = useChange<{ added: number; changed: number }>({
    quiet: true,
    success: ({ added, changed }) => formatMessage(t.rulePreview.done, { added, changed }),
  })
  const parsed = parseRule(typed)
  const rule = 'rule' in parsed ? parsed.rule : undefined
  const isReading = sync.isRunning || sync.finishedAt === null
  const shown = preview.data
  const changes = shown ? shown.counts.ADDED + shown.counts.CHANGED + shown.counts.ON_SALE + shown.counts.OFF_SALE : 0
  function submit() {
    if (!shown) {
      save.reset()
      apply.reset()
      return preview.mutate({
        method: 'POST',
        path: '/sale-rules/preview',
        body: { draft: { ruleName: supplier, rule } },
      })
    }
    const applied = { method: 'POST', path: '/sale-rules/apply', body: { basis: shown.basis } } as const
    save.mutate(
      { method: 'PUT', path: rulePath(supplier), body: rule },
      {
        onSuccess: () => apply.mutate(applied, { onSuccess: onClose, onError: preview.reset }),
        onError: preview.reset,
      },
    )
  }
  const field = (name: 'currencyCode' | 'percent' | 'rounding', description?: string) => (
    <TextInput
      name={name}
      label={t.saleRules.fields[name]}
      description={description}
      required
      value={typed[name] ?? ''}
      onChange={({ currentTarget: { value } }) => setTyped((before) => ({ ...before, [name]: value }))}
    />
  )
  return (
    <Dialog
      title={formatMessage(texts.title, { supplier })}
      opened
      size="lg"
      onClose={shown ? preview.reset : onClose}
      closing={shown ? texts.back : undefined}
      submit={shown ? submitText(shown, changes) : texts.preview}
      isDisabled={isReading || rule === undefined || (shown !== undefined && changes === 0)}
      busy={preview.isPending || save.isPending || apply.isPending}
      error={preview.error ?? save.error ?? apply.error}
      onSubmit={submit}
    >
      <Reading sync={sync} isReading={isReading} />
      {shown ? (
        <PreviewSummary preview={shown} supplier={supplier} />
      ) : (
        <>
          <Text size="sm">{texts.text}</Text>
          <SimpleGrid cols={{ base: 1, sm: 3 }} style={{ alignItems: 'end' }}>
            {field('percent')}
            {field('rounding')}
            {field('currencyCode')}
          </SimpleGrid>
          <Checkbox
            label={texts.topUps}
            checked={typed.packageType === ''}
            onChange={({ currentTarget: { checked } }) =>
              setTyped((before) => ({ ...before, packageType: checked ? '' : 'BASE' }))
            }
          />
          {rule && !isReading && <RuleEffect ruleName={supplier} rule={rule} />}
        </>
      )}
    </Dialog>
  )
}

/** The progress of reading the catalogue, or why its latest version is not used. */
function Reading({ sync, isReading }: { sync: SupplierSync; isReading: boolean }) {
  if (!sync.isRunning && sync.message && sync.outcome !== 'DONE') return <ErrorText>{sync.message}</ErrorText>
  if (!isReading) return null
  return (
    <Alert color="blue" icon={<Loader size={16} />}>
      {formatMessage(t.saleRules.sell.reading, { supplier: sync.supplier })}{' '}
      {formatMessage(t.products.reading, { count: sync.productsRead })}
    </Alert>
  )
}

function submitText({ counts }: SaleRulePreview, changes: number): string {
  return changes === counts.ADDED
    ? formatMessage(t.saleRules.sell.apply, { count: changes })
    : formatMessage(t.saleRules.sell.applyChanges, { count: changes })
}

/** What applying the rules would change, in sentences. All lines are on the page of the preview. */
function PreviewSummary({ preview, supplier }: { preview: SaleRulePreview; supplier: string }) {
  const { counts, doubtful, notRead } = preview
  const texts = t.saleRules.sell
  const others = counts.CHANGED + counts.ON_SALE + counts.OFF_SALE
  return (
    <Stack gap="sm">
      <Text fw={600}>{formatMessage(texts.added, { count: counts.ADDED })}</Text>
      {others > 0 && (
        <Text size="sm">
          {formatMessage(texts.others, {
            changed: formatCount(counts.CHANGED),
            again: formatCount(counts.ON_SALE),
            off: formatCount(counts.OFF_SALE),
          })}{' '}
          {texts.allRules}
        </Text>
      )}
      {counts.BLOCKED > 0 && (
        <Text size="sm">
          {formatMessage(texts.blocked, { count: counts.BLOCKED })}{' '}
          <TextLink to={RULE_PREVIEW}>{t.saleRules.previewAndApply}</TextLink>
        </Text>
      )}
      {doubtful > 0 && <ErrorText>{formatMessage(t.catalogue.checkPrices, { count: doubtful })}</ErrorText>}
      {notRead.map((one) => (
        <Alert key={one.supplier} color="orange">
          {formatMessage(t.rulePreview.notRead[one.reason], { supplier: one.supplier })}
        </Alert>
      ))}
      <Hint>{[...skippedTexts(preview), formatMessage(texts.ruleText, { rule: supplier })].join(' · ')}</Hint>
    </Stack>
  )
}
