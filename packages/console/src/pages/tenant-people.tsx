import { t } from '../strings/index.ts'
import { PeopleList } from './people-list.tsx'
import { useTenant } from './tenant.tsx'
import { TenantSection } from './tenant-section.tsx'

export function TenantPeople() {
  const { tenantId } = useTenant()
  return (
    <TenantSection title={t.people.title} text={t.people.tenantText}>
      <PeopleList tenantId={tenantId} />
    </TenantSection>
  )
}
