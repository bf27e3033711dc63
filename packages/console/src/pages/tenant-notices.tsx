import { t } from '../strings/index.ts'
import { NoticeList } from './notice-list.tsx'
import { useTenant } from './tenant.tsx'
import { TenantSection } from './tenant-section.tsx'

export function TenantNotices() {
  const { tenantId } = useTenant()
  return (
    <TenantSection title={t.notices.title}>
      <NoticeList tenantId={tenantId} />
    </TenantSection>
  )
}
