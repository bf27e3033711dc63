import type { ReactNode } from 'react'
import { Page, Tabs } from '#parts/page.tsx'
import { t } from '#strings/page-texts.ts'
import { STOCK, STOCK_BATCHES, STOCK_CODES } from '#suppliers/supplier-paths.ts'

/** Heading and tabs of the pages about stock. */
export function StockFrame(props: { description?: string | undefined; actions?: ReactNode; children: ReactNode }) {
  return (
    <Page title={t.stock.title} description={props.description} actions={props.actions}>
      <Tabs
        label={t.stock.title}
        items={[
          { to: STOCK, label: t.stock.products },
          { to: STOCK_BATCHES, label: t.stock.batches },
          { to: STOCK_CODES, label: t.stock.find },
        ]}
      />
      {props.children}
    </Page>
  )
}
