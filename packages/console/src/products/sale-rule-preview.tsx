import type { SaleRulePreview } from '@dealer-esim/gateway/http/console/products/sale-rules.ts'
import { Alert, Badge, Button, Group, SimpleGrid, Stack, Text } from '@mantine/core'
import { useNavigate } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import { apiUrl } from '#api/call-api.ts'
import { useChange } from '#api/use-api.ts'
import { formatCount, formatDay, formatMoney, formatPercent } from '#parts/format.ts'
import { figureColumn } from '#parts/list-columns.tsx'
import { ErrorText, LoadError, Loading } from '#parts/load-states.tsx'
import { Card, Page } from '#parts/page.tsx'
import { List } from '#parts/record-list.tsx'
import { Hint } from '#parts/values.tsx'
import { t } from '#strings/page-texts.ts'
import { formatMessage } from '#strings/strings.ts'
import { RULES } from './product-paths.ts'
import { skippedTexts } from './skipped-texts.ts'

type PreviewLine = SaleRulePreview['lines'][number]

/** The changes that applying the sale rules would make. They are applied exactly as shown, or not at all. */
export function RulePreviewPage() {
  const navigate = useNavigate()
  const load = useChange<SaleRulePreview>({ quiet: true })
  const apply = useChange<{ added: number; changed: number }>({
    quiet: true,
    success: ({ added, changed }) => formatMessage(t.rulePreview.done, { added, changed }),
  })
  const [kind, setKind] = useState<PreviewLine['change']>()
  const { mutate } = load
  useEffect(() => {
    mutate({ method: 'POST', path: '/sale-rules/preview', body: kind ? { change: kind } : {} })
  }, [mutate, kind])
  const preview = load.data
  const changes = preview ? changeCount(preview) : 0
  const again = () => mutate({ method: 'POST', path: '/sale-rules/preview', body: kind ? { change: kind } : {} })
  return (
    <Page
      title={t.rulePreview.title}
      description={t.rulePreview.text}
      back={{ to: RULES, label: t.saleRules.title }}
      actions={
        <>
          <Button component="a" href={apiUrl('/sale-rules/preview.csv').href} download variant="default">
            {t.rulePreview.csv}
          </Button>
          <Button
            disabled={!preview || changes === 0}
            loading={apply.isPending}
            onClick={() =>
              preview &&
              apply.mutate(
                { method: 'POST', path: '/sale-rules/apply', body: { basis: preview.basis } },
                { onSuccess: () => void navigate({ to: '/catalogue' }) },
              )
            }
          >
            {formatMessage(t.rulePreview.apply, { count: changes })}
          </Button>
        </>
      }
    >
      {apply.error && (
        <ErrorText>
          <Group justify="space-between">
            {apply.error.message}
            <Button size="xs" variant="default" onClick={again}>
              {t.rulePreview.again}
            </Button>
          </Group>
        </ErrorText>
      )}
      {load.error && <LoadError error={load.error} retry={again} />}
      {!preview && !load.error && <Loading />}
      {preview && <Summary preview={preview} kind={kind} onKind={setKind} />}
      {preview && <Lines preview={preview} loading={load.isPending} />}
    </Page>
  )
}

function changeCount({ counts }: SaleRulePreview): number {
  return counts.ADDED + counts.CHANGED + counts.ON_SALE + counts.OFF_SALE
}

function Summary(props: {
  preview: SaleRulePreview
  kind: PreviewLine['change'] | undefined
  onKind(kind: PreviewLine['change'] | undefined): void
}) {
  const { preview, kind, onKind } = props
  const kinds = ['ADDED', 'CHANGED', 'ON_SALE', 'OFF_SALE', 'BLOCKED'] as const
  return (
    <Card>
      <SimpleGrid cols={{ base: 2, sm: 5 }}>
        {kinds.map((name) => (
          <Button
            key={name}
            variant={kind === name ? 'light' : 'subtle'}
            color="gray"
            h="auto"
            p="xs"
            justify="flex-start"
            aria-pressed={kind === name}
            data-sum={name}
            onClick={() => onKind(kind === name ? undefined : name)}
          >
            <Stack gap={0} align="flex-start">
              <Text size="xs" c="var(--mantine-color-text)">
                {t.rulePreview.kinds[name]}
              </Text>
              <Text fw={650} fz="xl" c="var(--mantine-color-text)">
                {formatCount(preview.counts[name])}
              </Text>
            </Stack>
          </Button>
        ))}
      </SimpleGrid>
      <Hint>
        {[
          formatMessage(t.rulePreview.products, { count: preview.products }),
          formatMessage(t.rulePreview.unselected, { count: formatCount(preview.unselected) }),
          formatMessage(t.rulePreview.unchanged, { count: formatCount(preview.counts.UNCHANGED) }),
          ...skippedTexts(preview),
        ].join(' · ')}
      </Hint>
      {preview.doubtful > 0 && (
        <ErrorText>{formatMessage(t.catalogue.checkPrices, { count: preview.doubtful })}</ErrorText>
      )}
      {preview.notRead.map(({ supplier, reason }) => (
        <Alert key={supplier} color="orange" data-not-read={supplier}>
          {formatMessage(t.rulePreview.notRead[reason], { supplier })}
        </Alert>
      ))}
      {preview.oldRates.map((rate) => (
        <Alert key={`${rate.costCurrency} ${rate.saleCurrency}`} color="orange">
          {formatMessage(t.rulePreview.oldRate, {
            from: rate.costCurrency,
            to: rate.saleCurrency,
            day: formatDay(rate.ratedAt.slice(0, 10)),
          })}
        </Alert>
      ))}
    </Card>
  )
}

function Lines({ preview, loading }: { preview: SaleRulePreview; loading: boolean }) {
  return (
    <>
      <List<PreviewLine>
        label={t.rulePreview.changes}
        rows={preview.lines}
        loading={loading}
        idOf={(row) => row.packageCode}
        empty={{
          title: t.rulePreview.noChanges,
          text: preview.products === 0 ? t.rulePreview.noProductsText : t.rulePreview.noChangesText,
        }}
        columns={[
          { accessor: 'packageCode', title: t.rulePreview.package, cellsClassName: 'mono', phone: 'main' },
          { accessor: 'name', title: t.rulePreview.name, phone: 'note' },
          {
            accessor: 'change',
            title: t.rulePreview.change,
            phone: 'status',
            render: (row) => (
              <Stack gap={2} align="flex-start" className="list-lines">
                <Badge variant="light" color={COLORS[row.change]} tt="none" radius="sm">
                  {t.rulePreview.kinds[row.change]}
                </Badge>
                {row.reason && <Text size="xs">{row.reason}</Text>}
                {row.warnings.map((warning) => (
                  <Text key={warning} size="xs" c="red">
                    {warningText(row, warning)}
                  </Text>
                ))}
              </Stack>
            ),
          },
          { accessor: 'suppliers', title: t.rulePreview.suppliers, render: supplierText },
          { accessor: 'cost', title: t.rulePreview.cost, textAlign: 'right', render: (row) => money(row, row.cost) },
          figureColumn('price', t.rulePreview.price, priceText, { phone: 'value' }),
          { accessor: 'margin', title: t.rulePreview.margin, textAlign: 'right', render: marginText },
        ]}
      />
      {preview.linesLeftOut > 0 && <Hint>{formatMessage(t.rulePreview.leftOut, { count: preview.linesLeftOut })}</Hint>}
    </>
  )
}

const COLORS = { ADDED: 'teal', CHANGED: 'blue', ON_SALE: 'teal', OFF_SALE: 'orange', BLOCKED: 'gray' }

function money({ currencyCode }: PreviewLine, amount: number | null): string {
  return amount === null || currencyCode === null ? '–' : formatMoney(amount, currencyCode)
}

function priceText(row: PreviewLine): string {
  if (row.priceBefore === null || row.priceBefore === row.priceAfter) return money(row, row.priceAfter)
  return `${money(row, row.priceBefore)} → ${money(row, row.priceAfter)}`
}

function marginText(row: PreviewLine): string {
  if (row.margin === null || !row.priceAfter) return money(row, row.margin)
  return `${money(row, row.margin)} (${formatPercent(row.margin / row.priceAfter)})`
}

function supplierText({ suppliers }: PreviewLine): string {
  return suppliers.map(({ supplier }) => supplier).join(' → ')
}

function warningText(row: PreviewLine, warning: string): string {
  const text = (t.catalogue.warnings as Record<string, string>)[warning] ?? warning
  return formatMessage(text, { cost: money(row, row.cost) })
}
