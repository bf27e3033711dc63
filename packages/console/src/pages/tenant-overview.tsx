import { Button, Group } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { Amount } from '../parts/amount.tsx'
import { Card } from '../parts/card.tsx'
import { Copyable } from '../parts/copy.tsx'
import { Facts } from '../parts/facts.tsx'
import { When } from '../parts/when.tsx'
import { t } from '../strings/index.ts'
import { useTenant } from './tenant.tsx'

export function TenantOverview() {
  const { data: tenant, tenantId } = useTenant()
  if (!tenant) return null
  const { currencyCode } = tenant
  return (
    <Card
      title={t.tenants.overviewFacts}
      actions={
        <Group gap="xs">
          <Button component={Link} to="/orders" search={{ tenantId } as never} variant="default" size="xs">
            {t.tenants.seeOrders}
          </Button>
          <Button component={Link} to="/profiles" search={{ tenantId } as never} variant="default" size="xs">
            {t.tenants.seeProfiles}
          </Button>
        </Group>
      }
    >
      <Facts
        of={[
          [t.tenants.balance, <Amount key="b" of={tenant.balance} currency={currencyCode} />],
          [t.settings.creditLimit, <Amount key="c" of={tenant.creditLimit} currency={currencyCode} />],
          [t.settings.dailyLimit, <Amount key="d" of={tenant.dailySpendLimit} currency={currencyCode} />],
          [t.tenants.appKey, <Copyable key="k" value={tenant.appKey} label={t.tenants.appKey} />],
          [t.settings.allowlist, tenant.ipAllowlist.join(', ') || t.common.any],
          [t.settings.qps, tenant.qpsLimit ?? t.settings.qpsDefault],
          [t.tenants.callbackUrl, tenant.callbackUrl],
          [t.tenants.legalName, tenant.legalName],
          [t.tenants.taxId, tenant.taxId],
          [t.tenants.billingEmail, tenant.billingEmail],
          [t.tenants.since, <When key="s" at={tenant.createdAt} />],
        ]}
      />
    </Card>
  )
}
