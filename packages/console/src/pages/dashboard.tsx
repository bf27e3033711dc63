import { Page } from '../parts/page.tsx'
import { t } from '../strings/index.ts'

export function DashboardPage() {
  return <Page title={t.dashboard.title}>{null}</Page>
}
