import type { ProfileCodes, ProfileRow } from '@dealer-esim/gateway/http/console/esims/esims.ts'
import { Anchor, Group, Progress, Stack, Text } from '@mantine/core'
import { Link, useParams } from '@tanstack/react-router'
import { type ReactNode, useState } from 'react'
import { useApi, useChange, useReloadAfter } from '#api/use-api.ts'
import { packagePath } from '#catalogue/catalogue-paths.ts'
import { PackageFlag } from '#catalogue/package-name.tsx'
import { packageTitleText } from '#catalogue/package-title.ts'
import { type MoreAction, MoreMenu, Record, StateSentence } from '#design/record.tsx'
import { OrderNumber } from '#orders/order-number.tsx'
import { ChangeDialog } from '#parts/dialog.tsx'
import { formatPartOf, formatTime } from '#parts/format.ts'
import { LoadState } from '#parts/load-states.tsx'
import { Card, Page } from '#parts/page.tsx'
import {
  Facts,
  Hint,
  Status,
  StatusMark,
  type StatusTone,
  TechnicalDetails,
  TextLink,
  Timestamp,
} from '#parts/values.tsx'
import { canEdit, isOperator, useSession } from '#people/sign-in/session.ts'
import { formatMessage, t } from '#strings/strings.ts'
import { DealerName } from '#tenants/dealer-name.tsx'
import { Codes } from './activation-codes.tsx'
import { ActionHistory, useEsimActions } from './esim-actions.tsx'
import { formatUsage } from './esims.tsx'
import { EsimLife, PollButton } from './life.tsx'
import { Ticket } from './ticket.tsx'
import { TopUp } from './top-up-dialog.tsx'
import { TopUpHistory } from './top-up-history.tsx'

/** Usage may grow, and actions and top-ups may end, while somebody is looking at the page. */
const REFRESH_MS = 5_000

export function EsimPage() {
  const me = useSession()
  const { tenantId, profileId } = useParams({ strict: false }) as { tenantId: string; profileId: string }
  const path = `/tenants/${tenantId}/profiles/${profileId}`
  const { data: profile, error, refetch } = useApi<ProfileRow>(path, {}, { refreshMs: REFRESH_MS })
  useReloadAfter(profile && `${profile.esimStatus} ${profile.suspended}`)
  const { more, dialog } = useEsimActions(path, profile)
  const handing = useHandingOver(path)
  if (!profile) return <LoadState error={error} retry={refetch} />
  const isReported = ['GOT_RESOURCE', 'IN_USE'].includes(profile.esimStatus)
  const poll = canEdit(me) && isReported && <PollButton path={path} />
  const isTopUpPossible = canTopUp(me, profile)
  // The sentence has one action.
  const askUnderUsage = isTopUpPossible && poll
  return (
    <Page
      title={packageTitleText(profile.packageName)}
      back={{ to: '/profiles', label: t.esims.title }}
      picture={<PackageFlag name={profile.packageName} location={profile.location} />}
      mark={
        profile.suspended ? (
          <StatusMark tone="warn">{t.esims.suspended}</StatusMark>
        ) : (
          <Status status={profile.esimStatus} />
        )
      }
      actions={<MoreMenu actions={canEdit(me) ? [...handing.more, ...more] : more} />}
    >
      <StateSentence
        {...stateOf(profile)}
        actions={isTopUpPossible ? <TopUp path={path} iccid={profile.iccid} /> : poll}
      />
      {canEdit(me) && <Ticket key={`${profileId} ${handing.renewals}`} path={path} profile={profile} />}
      <Record
        rail={
          <>
            {isOperator(me) && (
              <Card title={t.common.dealer}>
                <TextLink to={`/tenants/${tenantId}`}>
                  <DealerName name={profile.clientName} />
                </TextLink>
              </Card>
            )}
            <Card title={t.esims.facts}>
              <Facts cols={1} items={factsOf(profile)} />
              <TechnicalDetails
                items={[
                  [t.esims.iccid, profile.iccid],
                  [t.esims.esimTranNo, profile.profileId],
                  [t.orders.orderNo, profile.orderNo],
                  [t.orders.transactionId, profile.transactionId],
                  [t.esims.smdpAddress, profile.smdpAddress],
                  [t.esims.eid, profile.eid],
                  [t.esims.imsi, profile.imsi],
                  [t.esims.msisdn, profile.msisdn],
                ]}
              />
            </Card>
          </>
        }
      >
        {handing.codes && <Codes codes={handing.codes} iccid={profile.iccid} onHide={handing.hideCodes} />}
        {(profile.orderUsage !== null || askUnderUsage) && (
          <Card title={t.esims.usage} actions={askUnderUsage}>
            <Usage profile={profile} />
          </Card>
        )}
        <EsimLife path={path} />
        <TopUpHistory tenantId={tenantId} profileId={profileId} />
        <ActionHistory path={path} />
      </Record>
      {dialog}
      {handing.dialog}
    </Page>
  )
}

/** Rarely needed for handing over an eSIM: its codes, and another link. */
function useHandingOver(path: string) {
  const [shown, setShown] = useState<{ path: string; codes: ProfileCodes }>()
  const [isRenewing, setIsRenewing] = useState(false)
  const [renewals, setRenewals] = useState(0)
  const show = useChange<ProfileCodes>()
  const more: MoreAction[] = [
    {
      label: t.esims.showCodes,
      onClick: () =>
        show.mutate({ method: 'POST', path: `${path}/codes` }, { onSuccess: (codes) => setShown({ path, codes }) }),
    },
    { label: t.esims.renewLink, onClick: () => setIsRenewing(true) },
  ]
  function close(): void {
    setIsRenewing(false)
    // The ticket shows the new link.
    setRenewals(renewals + 1)
  }
  const dialog = isRenewing && <RenewLink path={path} onClose={close} />
  // Never those of the eSIM that was on the page before.
  const codes = shown?.path === path ? shown.codes : undefined
  return { more, codes, hideCodes: () => setShown(undefined), renewals, dialog }
}

/** Gives the traveller's page another address. */
function RenewLink({ path, onClose }: { path: string; onClose(): void }) {
  return (
    <ChangeDialog
      title={t.esims.renewLink}
      onClose={onClose}
      submit={t.esims.renewLink}
      success={t.esims.linkRenewed}
      request={() => ({ method: 'POST', path: `${path}/renew-share-link` })}
    >
      <Text size="sm">{t.esims.renewLinkText}</Text>
    </ChangeDialog>
  )
}

/** The eSIM's use now, and the next step for the traveller or the dealer. */
function stateOf(profile: ProfileRow): { tone: StatusTone; title: string; text: string | undefined } {
  const { esimStatus, smdpStatus, suspended, orderUsage, totalVolume, installBefore, expiredTime } = profile
  const texts = t.esims.states
  if (suspended) return { tone: 'warn', title: texts.suspended, text: texts.suspendedText }
  if (esimStatus === 'GOT_RESOURCE') {
    const isInstalled = smdpStatus !== null && smdpStatus !== 'RELEASED'
    const by = installBefore && formatMessage(texts.installBefore, { time: formatTime(installBefore) })
    return isInstalled
      ? { tone: 'ok', title: texts.installed, text: texts.installedText }
      : { tone: 'busy', title: texts.ready, text: [texts.readyText, by].filter(Boolean).join(' ') }
  }
  if (esimStatus === 'IN_USE') {
    const left =
      orderUsage !== null && totalVolume !== null
        ? formatMessage(t.esims.left, { volume: formatPartOf(totalVolume, Math.max(0, totalVolume - orderUsage)) })
        : undefined
    const until = expiredTime && formatMessage(texts.until, { time: formatTime(expiredTime) })
    return { tone: 'ok', title: texts.inUse, text: [left && `${left}.`, until].filter(Boolean).join(' ') || undefined }
  }
  if (esimStatus === 'USED_UP') return { tone: 'warn', title: texts.usedUp, text: texts.usedUpText }
  return { tone: 'off', title: formatMessage(texts.over, { status: t.statuses[esimStatus] }), text: texts.overText }
}

/** Hides the button where no supplier accepts a top-up. The gateway makes the final decision. */
function canTopUp(me: ReturnType<typeof useSession>, profile: ProfileRow): boolean {
  return !isOperator(me) && !isOver(profile) && profile.smdpStatus !== 'DELETED'
}

/** It can never be installed again, whatever its last download status was. */
function isOver({ esimStatus }: ProfileRow): boolean {
  return ['CANCEL', 'REVOKED', 'UNUSED_EXPIRED'].includes(esimStatus)
}

/** How much of the data is used, as reported by the supplier. */
function Usage({ profile }: { profile: ProfileRow }) {
  const { orderUsage, totalVolume, usageUpdateTime } = profile
  return (
    <Stack gap={4}>
      <Group justify="space-between">
        {orderUsage === null ? <Hint>{t.esims.noUsage}</Hint> : <Text fw={600}>{formatUsage(profile)}</Text>}
        {orderUsage !== null && totalVolume !== null && (
          <Hint>
            {formatMessage(t.esims.left, { volume: formatPartOf(totalVolume, Math.max(0, totalVolume - orderUsage)) })}
          </Hint>
        )}
      </Group>
      {orderUsage !== null && !!totalVolume && (
        <Progress
          value={Math.min(100, (orderUsage / totalVolume) * 100)}
          size="xl"
          color={usageColor(orderUsage / totalVolume)}
          aria-label={t.esims.usageBar}
        />
      )}
      {usageUpdateTime && (
        <Hint size="xs">
          {t.esims.usageReported} <Timestamp time={usageUpdateTime} format="relative" />
        </Hint>
      )}
    </Stack>
  )
}

function usageColor(share: number): string {
  if (share >= 1) return 'red.6'
  return share >= NEARLY_USED ? 'orange.6' : 'teal.6'
}

const NEARLY_USED = 0.8

/** The known facts about an eSIM; unknown ones are left out. */
function factsOf(profile: ProfileRow): [string, ReactNode][] {
  const { packageCode } = profile
  const facts: [string, ReactNode][] = [
    [t.esims.order, <OrderNumber key="o" order={profile} />],
    [t.esims.package, <PackageLink key="p" packageCode={packageCode} />],
    [t.esims.supplier, profile.supplier],
    [t.esims.smdpStatus, profile.smdpStatus && !isOver(profile) && <Status key="d" status={profile.smdpStatus} />],
    [t.esims.validity, formatMessage(t.esims.days, { count: profile.totalDuration })],
    [t.esims.apn, profile.apn],
    [t.esims.installationTime, profile.installationTime && <Timestamp key="i" time={profile.installationTime} />],
  ]
  return facts.filter(([, value]) => value !== null && value !== false)
}

/** Links to the package's page for operators, and to the price for a dealer's people. */
function PackageLink({ packageCode }: { packageCode: string }) {
  const me = useSession()
  const [to, search] = isOperator(me)
    ? [packagePath(packageCode), {}]
    : [`/tenants/${me.tenant?.tenantId}/prices`, { keyword: packageCode }]
  return (
    <Anchor component={Link} to={to} search={search as never} size="sm">
      {packageCode}
    </Anchor>
  )
}
