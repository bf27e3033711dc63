import type { SaleRuleRow } from '@dealer-esim/gateway/http/console/products/sale-rules.ts'
import { Button } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { useApi } from '#api/use-api.ts'
import { countColumn, valueColumn } from '#parts/list-columns.tsx'
import { Page } from '#parts/page.tsx'
import { List } from '#parts/record-list.tsx'
import { StatusMark } from '#parts/values.tsx'
import { canOperate, useSession } from '#people/sign-in/session.ts'
import { t } from '#strings/page-texts.ts'
import { ExchangeRates } from './exchange-rates.tsx'
import { ADD_RULE, RULE_PREVIEW, rulePath } from './product-paths.ts'
import { priceText } from './sale-rule-sentence.ts'

/** Which supplier products are sold as packages, and at which price. */
export function SaleRulesPage() {
  const me = useSession()
  const list = useApi<{ rules: SaleRuleRow[] }>('/sale-rules')
  const add = canOperate(me) && (
    <Button component={Link} to={ADD_RULE} variant="default">
      {t.saleRules.add}
    </Button>
  )
  return (
    <Page
      title={t.saleRules.title}
      description={t.saleRules.text}
      actions={
        <>
          {add}
          {canOperate(me) && (
            <Button component={Link} to={RULE_PREVIEW}>
              {t.saleRules.previewAndApply}
            </Button>
          )}
        </>
      }
    >
      <List<SaleRuleRow>
        label={t.saleRules.title}
        csv={{ path: '/sale-rules' }}
        name="sale-rules"
        rows={list.data?.rules}
        query={list}
        idOf={(row) => row.ruleName}
        to={(row) => rulePath(row.ruleName)}
        empty={{ title: t.saleRules.none, text: t.saleRules.noneText, action: add }}
        columns={[
          { accessor: 'ruleName', title: t.saleRules.name, phone: 'main' },
          { accessor: 'position', title: t.saleRules.position, textAlign: 'right', render: (row) => row.rule.position },
          valueColumn('suppliers', t.saleRules.suppliers, (row) => row.rule.suppliers?.join(', ') ?? t.common.any),
          { accessor: 'price', title: t.saleRules.price, phone: 'note', render: ({ rule }) => priceText(rule) },
          countColumn('packages', t.saleRules.packages, { phone: 'value', isNamed: true }),
          {
            accessor: 'state',
            title: t.saleRules.state,
            phone: 'status',
            render: (row) => (
              <StatusMark tone={row.isApplied ? 'ok' : 'warn'}>
                {row.isApplied ? t.saleRules.applied : t.saleRules.notApplied}
              </StatusMark>
            ),
          },
        ]}
      />
      <ExchangeRates />
    </Page>
  )
}
