import type { SaleRulePreview } from '@dealer-esim/gateway/http/console/products/sale-rules.ts'
import { formatCount } from '#parts/format.ts'
import { t } from '#strings/page-texts.ts'
import { formatMessage } from '#strings/strings.ts'

/** The products that no package can be made of, by reason: "3 without a cost". */
export function skippedTexts({ skipped }: Pick<SaleRulePreview, 'skipped'>): string[] {
  return Object.entries(skipped)
    .filter(([, count]) => count > 0)
    .map(([reason, count]) =>
      formatMessage(t.rulePreview.skipped[reason as keyof typeof t.rulePreview.skipped], { count: formatCount(count) }),
    )
}
