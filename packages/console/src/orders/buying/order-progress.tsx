import type { OrderDetail, OrderRow } from '@dealer-esim/gateway/http/console/orders/orders.ts'
import { Anchor, Button, Group, Progress, Stack, Text } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { useEffect, useRef } from 'react'
import { useApi } from '#api/use-api.ts'
import { PackageNames } from '#catalogue/package-name.tsx'
import { Card } from '#parts/page.tsx'
import { Amount, Status } from '#parts/values.tsx'
import { interpolate, plural, t } from '#strings/strings.ts'
import { orderNumber } from '../order-number.tsx'

/** Most orders are delivered within seconds. */
const REFRESH_MS = 2_000
const OPEN: readonly string[] = ['PAID', 'ALLOCATING', 'UNDER_REVIEW']

/** An order on its way, with its eSIMs as they arrive. */
export function OrderProgress({ order, buyMore }: { order: OrderRow; buyMore(): void }) {
  const path = `/tenants/${order.tenantId}/orders/${order.orderNo}`
  const known = useApi<OrderDetail>(path, {}, { refreshMs: REFRESH_MS })
  const { orderStatus, profiles } = known.data ?? { orderStatus: order.orderStatus, profiles: [] }
  const delivered = profiles.length
  const progress = plural(t.portal.progress, order.esims, { delivered })
  const result = useRef<HTMLDivElement>(null)
  useEffect(() => result.current?.focus(), [])
  return (
    <Card
      title={interpolate(t.portal.ordered, { number: orderNumber(order) })}
      actions={
        <>
          <Button component={Link} to={path} search={{} as never} variant="default" size="xs">
            {t.portal.openOrder}
          </Button>
          <Button size="xs" onClick={buyMore}>
            {t.portal.buyMore}
          </Button>
        </>
      }
    >
      <Group gap="sm" role="status" ref={result} tabIndex={-1}>
        <Status status={orderStatus} />
        <Text size="sm" component="div">
          <PackageNames {...order} />
        </Text>
        <Text size="sm">
          <Amount value={order.amount} currency={order.currencyCode} />
        </Text>
        <Text size="sm">{progress}</Text>
      </Group>
      <Progress value={(delivered / order.esims) * 100} animated={OPEN.includes(orderStatus)} aria-label={progress} />
      <Stack gap={4}>
        {profiles.map((profile) => (
          <Group key={profile.profileId} gap="sm" data-esim={profile.profileId}>
            <Text size="sm" className="mono">
              {profile.iccid}
            </Text>
            <Anchor
              component={Link}
              to={`/tenants/${order.tenantId}/profiles/${profile.profileId}`}
              search={{} as never}
              size="sm"
            >
              {t.portal.sendToTraveller}
            </Anchor>
          </Group>
        ))}
      </Stack>
    </Card>
  )
}
