import type { ProfileRow } from '@dealer-esim/gateway/console-api/routes/orders/profiles.ts'
import { Anchor, Badge, Group, Progress } from '@mantine/core'
import { Link, useParams } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { useApi } from '../api/use-api.ts'
import { LoadError, Loading } from '../parts/load-states.tsx'
import { Card, Page } from '../parts/page.tsx'
import { Copyable, Facts, Status, Timestamp } from '../parts/values.tsx'
import { canEdit, canOperate, isOperator, useSession } from '../session/session.ts'
import { plural, t } from '../strings/strings.ts'
import { ActionHistory, DealerActions } from './dealer-actions.tsx'
import { CancelEsim, Codes } from './esim-actions.tsx'
import { formatUsage } from './esims.tsx'
import { TopUp } from './top-up.tsx'
import { TopUpHistory } from './top-up-history.tsx'
import { TravellerLink } from './traveller-link.tsx'

/** Usage grows, and actions and top-ups end, while somebody looks at the page. */
const REFRESH_MS = 5_000

export function EsimPage() {
  const me = useSession()
  const { tenantId, profileId } = useParams({ strict: false }) as { tenantId: string; profileId: string }
  const path = `/tenants/${tenantId}/profiles/${profileId}`
  const { data: profile, error, refetch } = useApi<ProfileRow>(path, {}, { refreshMs: REFRESH_MS })
  if (error && !profile) return <LoadError error={error} retry={refetch} />
  if (!profile) return <Loading />
  const unused = profile.esimStatus === 'GOT_RESOURCE' && ['RELEASED', null].includes(profile.smdpStatus)
  return (
    <Page
      title={profile.iccid}
      back={{ to: '/profiles', label: t.esims.title }}
      description={
        <Group gap="xs" mt={4}>
          <Status status={profile.esimStatus} />
          {profile.smdpStatus && <Status status={profile.smdpStatus} />}
          {profile.suspended && <Badge color="orange">{t.esims.suspended}</Badge>}
          {isOperator(me) && profile.clientName}
        </Group>
      }
      actions={
        <>
          {canOperate(me) && unused && <CancelEsim path={path} iccid={profile.iccid} />}
          {canTopUp(me, profile) && <TopUp path={path} iccid={profile.iccid} />}
          {!isOperator(me) && <DealerActions path={path} profile={profile} />}
        </>
      }
    >
      <Card>
        <UsageBar profile={profile} />
        <Facts
          items={known([
            [
              t.esims.order,
              <Anchor
                key="o"
                component={Link}
                to={`/tenants/${tenantId}/orders/${profile.orderNo}`}
                search={{} as never}
                size="sm"
              >
                {profile.transactionId}
              </Anchor>,
            ],
            [t.esims.package, profile.packageCode],
            [t.esims.supplier, profile.supplier],
            [t.esims.esimTranNo, <Copyable key="e" value={profile.profileId} label={t.esims.esimTranNo} />],
            [t.esims.smdpAddress, profile.smdpAddress],
            [t.esims.eid, profile.eid],
            [t.esims.imsi, profile.imsi],
            [t.esims.msisdn, profile.msisdn],
            [t.esims.usage, formatUsage(profile)],
            [t.esims.validity, plural(t.esims.days, profile.totalDuration)],
            [t.esims.installBefore, profile.installBefore && <Timestamp key="i" time={profile.installBefore} />],
            [t.esims.activated, profile.activateTime && <Timestamp key="a" time={profile.activateTime} />],
            [t.esims.expires, profile.expiredTime && <Timestamp key="x" time={profile.expiredTime} />],
            [t.common.created, <Timestamp key="c" time={profile.createdAt} />],
          ])}
        />
      </Card>
      {canEdit(me) && <TravellerLink key={profileId} path={path} />}
      {canEdit(me) && <Codes path={path} iccid={profile.iccid} />}
      <TopUpHistory tenantId={tenantId} profileId={profileId} />
      <ActionHistory path={path} />
    </Page>
  )
}

/** Leaves out what the supplier has not reported, or does not apply. */
function known(facts: [name: string, value: ReactNode][]): [name: string, value: ReactNode][] {
  return facts.filter(([, value]) => value !== null && value !== '–')
}

/** Hides the button where no supplier takes a top-up. The gateway has the last word. */
function canTopUp(me: ReturnType<typeof useSession>, { esimStatus, smdpStatus }: ProfileRow): boolean {
  const isOver = ['CANCEL', 'REVOKED', 'UNUSED_EXPIRED'].includes(esimStatus) || smdpStatus === 'DELETED'
  return !isOperator(me) && !isOver
}

/** Nothing where the supplier does not report usage, or the volume is unlimited. */
function UsageBar({ profile: { orderUsage, totalVolume } }: { profile: ProfileRow }) {
  if (orderUsage === null || !totalVolume) return null
  const percent = Math.min(100, (orderUsage / totalVolume) * 100)
  return <Progress value={percent} size="lg" aria-label={t.esims.usageBar} />
}
