import type { ProfileRow } from '@dealer-esim/gateway/http/console/esims/esims.ts'
import type { OrderDetail, OrderRow } from '@dealer-esim/gateway/http/console/orders/orders.ts'
import { Alert, Button, Group, Loader } from '@mantine/core'
import { IconCircleCheck } from '@tabler/icons-react'
import { Link } from '@tanstack/react-router'
import { useEffect, useRef, useState } from 'react'
import { useApi } from '#api/use-api.ts'
import { PackageName, PackageNames } from '#catalogue/package-name.tsx'
import { packagesTitleText } from '#catalogue/package-title.ts'
import { Ticket } from '#esims/ticket.tsx'
import { SentMark, TravellerName } from '#esims/use-sends.tsx'
import { formatMoney, formatTime, formatWait } from '#parts/format.ts'
import { Card, Page } from '#parts/page.tsx'
import { TextLink } from '#parts/values.tsx'
import { canSend, useSession } from '#people/sign-in/session.ts'
import { formatMessage, t } from '#strings/strings.ts'
import { orderNumber } from '../order-number.tsx'
import { OrderState } from '../order-state.tsx'
import type { Press } from './cart.tsx'

/** Most orders are delivered within seconds. */
const REFRESH_MS = 2_000
/** After this time, the page says who has not answered, and offers to ask the operator. */
const SLOW_MS = 30_000

interface OrderProgressProps {
  order: OrderRow
  /** The latest press of *Buy*, which an earlier one may have preceded; undefined: before the page was loaded. */
  press: Press | undefined
  buyMore(): void
}

/** A purchase: its progress until the eSIMs arrive, then the eSIMs to hand over. */
export function OrderProgress({ order, press, buyMore }: OrderProgressProps) {
  const me = useSession()
  const path = `/tenants/${order.tenantId}/orders/${order.orderNo}`
  const { data } = useApi<OrderDetail>(path, {}, { refreshMs: REFRESH_MS })
  const result = useRef<HTMLDivElement>(null)
  useEffect(() => result.current?.focus(), [])
  const profiles = data?.profiles ?? []
  const isDecided = data !== undefined && data.waiting === null && data.orderStatus !== 'PAID'
  const isReady = profiles.length === order.esims
  // One primary button: Send until the traveller has it, then this one.
  const isToSend = canSend(me) && profiles.some(({ sendStatus }) => sendStatus === null || sendStatus === 'FAILED')
  return (
    <Page
      title={
        isReady && order.packages.length > 1
          ? formatMessage(t.portal.severalReady, { count: order.esims })
          : formatMessage(isReady ? t.portal.ready : isDecided ? t.portal.ordered : t.portal.onItsWay, {
              number: orderNumber(order),
              title: packagesTitleText(order.packages),
            })
      }
      picture={isReady && <IconCircleCheck size={24} color="var(--ok)" aria-hidden="true" />}
      actions={
        <>
          <Button component={Link} to={path} search={{} as never} variant="default">
            {formatMessage(t.portal.openOrder, { number: orderNumber(order) })}
          </Button>
          <Button variant={isReady && !isToSend ? 'filled' : 'default'} onClick={buyMore}>
            {t.portal.nextCustomer}
          </Button>
        </>
      }
    >
      <div role="status" ref={result} tabIndex={-1} className="purchase-result">
        {formatMessage(t.portal.progress, { count: order.esims, delivered: profiles.length })}.{' '}
        {data && <Sentence order={data} {...{ isReady, isDecided }} />}
      </div>
      {data && press && <EarlierPress order={data} press={press} />}
      {data && !isReady && (isDecided || isSlow(data)) && <OrderState order={data} decide={null} />}
      {!isReady && !isDecided && (
        <Card>
          <Group gap="md">
            <Loader size="sm" aria-hidden="true" />
            <PackageNames {...order} />
          </Group>
        </Card>
      )}
      <HandOver tenantId={order.tenantId} profiles={profiles} wanted={data && otherAddress(data, press)} />
    </Page>
  )
}

/**
 * What a second press of *Buy* has not changed: the answer of the first one was lost, and the purchase is the first one's. Without this
 * a corrected address would seem to be in use.
 */
function EarlierPress({ order, press }: { order: OrderDetail; press: Press }) {
  const isOther = order.amount !== press.amount || order.esims !== press.esims
  const wanted = otherAddress(order, press)
  const first = order.deliverTo[0]?.email
  if (!isOther && wanted === undefined && (first === undefined || press.email !== undefined)) return null
  return (
    <Alert color="orange" role="alert" title={t.portal.earlierPress} data-earlier-press>
      {isOther && <div>{t.portal.changesNotBought}</div>}
      {first !== undefined && <div>{formatMessage(t.portal.goesToFirst, { email: first })}</div>}
      {wanted !== undefined && <div>{formatMessage(t.portal.sendToSecond, { email: wanted })}</div>}
    </Alert>
  )
}

/** The address that was entered last, if the order is sent to another one. */
function otherAddress({ deliverTo }: OrderDetail, press: Press | undefined): string | undefined {
  const email = press?.email
  const isSame = deliverTo.some((to) => to.email.toLowerCase() === email?.toLowerCase())
  return isSame ? undefined : email
}

function isSlow({ waiting, createdAt }: OrderDetail): boolean {
  return waiting !== null && Date.now() - Date.parse(createdAt) > SLOW_MS
}

/** What has happened, when, and for how much. */
function Sentence(props: { order: OrderDetail; isReady: boolean; isDecided: boolean }) {
  const { order, isReady, isDecided } = props
  const { amount, balanceAfter, currencyCode, createdAt, profiles, deliverTo } = order
  const paid = formatMessage(t.portal.paid, {
    amount: formatMoney(amount, currencyCode),
    balance: formatMoney(balanceAfter, currencyCode),
  })
  const [to] = deliverTo
  const sent = profiles.find(({ traveller }) => traveller?.email === to?.email)?.sendStatus ?? 'QUEUED'
  const last = Math.max(...profiles.map((profile) => Date.parse(profile.createdAt)))
  const took = formatWait(Math.max(100, last - Date.parse(createdAt)))
  return (
    <>
      {isReady
        ? formatMessage(t.portal.deliveredAfter, { duration: took })
        : !isDecided && formatMessage(t.portal.preparedSince, { time: formatTime(createdAt) })}{' '}
      {paid} {to && formatMessage(t.portal.goesTo[sent], { email: to.email })}
    </>
  )
}

/** One ticket, and the purchase's other eSIMs to choose from. */
function HandOver(props: { tenantId: string; profiles: readonly ProfileRow[]; wanted: string | undefined }) {
  const { tenantId, profiles, wanted } = props
  const [chosenId, setChosenId] = useState<string>()
  const chosen = profiles.find(({ profileId }) => profileId === chosenId) ?? profiles[0]
  if (!chosen) return null
  const pathOf = ({ profileId }: ProfileRow) => `/tenants/${tenantId}/profiles/${profileId}`
  return (
    <>
      <Ticket key={chosen.profileId} path={pathOf(chosen)} profile={chosen} recipient={wanted} />
      {profiles.length > 1 && (
        <Card title={t.portal.allEsims}>
          {profiles.map((profile) => (
            <Group key={profile.profileId} gap="sm" data-esim={profile.profileId}>
              <Button
                size="compact-sm"
                variant={profile === chosen ? 'light' : 'default'}
                aria-pressed={profile === chosen}
                onClick={() => setChosenId(profile.profileId)}
              >
                {t.portal.handOver}
              </Button>
              <TextLink to={pathOf(profile)}>
                <PackageName name={profile.packageName} location={profile.location} />
              </TextLink>
              <TravellerName profile={profile} />
              <SentMark profile={profile} />
            </Group>
          ))}
        </Card>
      )}
    </>
  )
}
