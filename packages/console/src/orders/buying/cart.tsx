import { LINE_COUNT_MAX } from '@dealer-esim/contract'
import type { WalletView } from '@dealer-esim/gateway/http/console/wallet/wallet.ts'
import { ActionIcon, Alert, Button, Group, NumberInput, TextInput } from '@mantine/core'
import { IconMinus, IconPlus, IconX } from '@tabler/icons-react'
import { type FormEvent, type KeyboardEvent, type ReactNode, type RefObject, useEffect, useRef, useState } from 'react'
import { useApi, useChange } from '#api/use-api.ts'
import { BrandSelect } from '#brands/brand-select.tsx'
import { packageTitleText } from '#catalogue/package-title.ts'
import { formFields } from '#parts/form-values.ts'
import { formatMoney } from '#parts/format.ts'
import { ErrorText } from '#parts/load-states.tsx'
import { Amount, Hint, TextLink } from '#parts/values.tsx'
import { formatMessage, t } from '#strings/strings.ts'
import { amountOf, esimsOf, type PurchaseLine, totalOf } from './offers.ts'
import { PlaceFlag } from './place-tiles.tsx'

/** What a person wants to buy. */
export interface Press {
  amount: number
  esims: number
  /** The traveller's address. */
  email: string | undefined
}

export interface CartProps {
  tenantId: string
  transactionId: string
  lines: readonly PurchaseLine[]
  /** The gateway sends e-mail. */
  isMailPossible: boolean
  onChange(lines: PurchaseLine[]): void
  onBuy(press: Press): void
  onFailure(): void
}

/**
 * What is about to be bought, its total and the balance afterwards. The button shows the price, which the gateway checks
 * again.
 */
export function Cart({ tenantId, transactionId, lines, isMailPossible, onChange, onBuy, onFailure }: CartProps) {
  const wallet = useApi<WalletView>(`/tenants/${tenantId}/wallet`)
  // On success everything is read again, and the page shows the order.
  const order = useChange({ quiet: true })
  const card = useRef<HTMLElement>(null)
  if (!wallet.data) return null
  const { balance, creditLimit, currencyCode } = wallet.data
  const total = totalOf(lines)
  const after = balance - total
  const isShort = after + creditLimit < 0
  const count = esimsOf(lines)
  const price = formatMoney(total, currencyCode)
  const summary = formatMessage(t.portal.summary, { price, after: formatMoney(after, currencyCode) })
  const setLine = (line: PurchaseLine, change: Partial<PurchaseLine>) =>
    onChange(lines.map((one) => (one === line ? { ...one, ...change } : one)))
  function review() {
    card.current?.scrollIntoView({ block: 'nearest' })
    card.current?.querySelector<HTMLElement>('[data-buy]')?.focus({ preventScroll: true })
  }
  function buy(event: FormEvent<HTMLFormElement>) {
    event.preventDefault()
    const { email, ...traveller } = formFields(event.currentTarget)
    const deliverTo = email === undefined ? undefined : { email, ...traveller }
    const packageInfoList = lines.map(({ offer, count, days }) => ({
      ...{ packageCode: offer.packageCode, count },
      ...(days !== undefined && { periodNum: days }),
    }))
    const body = { transactionId, packageInfoList, amount: total, ...(deliverTo && { deliverTo }) }
    onBuy({ amount: total, esims: count, email })
    order.mutate({ method: 'POST', path: `/tenants/${tenantId}/orders`, body }, { onError: onFailure })
  }
  return (
    <>
      <aside
        className="panel purchase"
        aria-label={t.portal.purchase}
        data-empty={count === 0 || undefined}
        ref={card}
        tabIndex={-1}
      >
        {lines.length > 0 && (
          <button type="button" className="skip" onClick={review}>
            {t.portal.skipToBuy}
          </button>
        )}
        <div className="panel-bar">
          <h2 className="grow">{t.portal.purchase}</h2>
          {lines.length > 0 && (
            <Button variant="subtle" size="compact-sm" onClick={() => onChange([])}>
              {t.portal.clear}
            </Button>
          )}
        </div>
        {lines.length === 0 && (
          <div className="panel-part">
            <Hint>{t.portal.emptyPurchase}</Hint>
          </div>
        )}
        {lines.map((line) => (
          <Line
            key={line.offer.packageCode}
            line={line}
            onChange={(change) => setLine(line, change)}
            onRemove={() => onChange(lines.filter((one) => one !== line))}
          />
        ))}
        <form className="panel-part purchase-sums" onSubmit={buy}>
          {isMailPossible && count === 1 && <Traveller tenantId={tenantId} />}
          <dl>
            {count > 0 && <Sum name={t.portal.total} value={total} currency={currencyCode} isMain />}
            <Sum name={t.wallet.balance} value={balance} currency={currencyCode} />
            {count > 0 && <Sum name={t.portal.balanceAfter} value={after} currency={currencyCode} />}
          </dl>
          {isShort && (
            <Alert color="orange" py="xs">
              {t.portal.tooLittle} <TextLink to="/top-up-requests">{t.portal.payFirst}</TextLink>
            </Alert>
          )}
          {order.error && <ErrorText>{order.error.message}</ErrorText>}
          {order.error?.status === 0 && <Hint>{t.portal.notAnswered}</Hint>}
          <Button
            fullWidth
            size="md"
            disabled={count === 0}
            loading={order.isPending}
            type="submit"
            data-buy={lines.map((line) => line.offer.packageCode).join(' ')}
          >
            {count === 0 ? t.portal.title : formatMessage(t.portal.buyFor, { count, price })}
          </Button>
        </form>
        {/* Announces what pressing a price has done, for people who do not see it. */}
        <div role="status" className="sr">
          {lines.length > 0 && [lines.map(({ offer }) => packageTitleText(offer.name)).join(', '), summary].join('. ')}
        </div>
      </aside>
      <PurchaseBar of={card}>
        <span className="grow">
          {count === 0 ? (
            formatMessage(t.portal.balanceNow, { balance: formatMoney(balance, currencyCode) })
          ) : (
            <>
              <b>{formatMessage(t.portal.inPurchase, { count, price })}</b>
              <small>{formatMessage(t.portal.afterIt, { after: formatMoney(after, currencyCode) })}</small>
            </>
          )}
        </span>
        {count > 0 && <Button onClick={review}>{t.portal.review}</Button>}
      </PurchaseBar>
    </>
  )
}

/** On small screens, the purchase in one line, while its button is not in view. */
function PurchaseBar({ of: card, children }: { of: RefObject<HTMLElement | null>; children: ReactNode }) {
  const [isBuyShown, setIsBuyShown] = useState(false)
  useEffect(() => {
    const button = card.current?.querySelector('[data-buy]')
    if (!button) return
    const observer = new IntersectionObserver(([entry]) => setIsBuyShown(entry?.isIntersecting === true), {
      // What lies under the bar and the tabs is not in view.
      rootMargin: '0px 0px -120px 0px',
    })
    observer.observe(button)
    return () => observer.disconnect()
  }, [card])
  return (
    <div className="purchase-bar" hidden={isBuyShown}>
      {children}
    </div>
  )
}

/** The traveller to whom the eSIM is sent automatically. Several eSIMs go to several travellers, who are named later. */
function Traveller({ tenantId }: { tenantId: string }) {
  const [name, setName] = useState('')
  return (
    <fieldset className="purchase-traveller">
      <legend>{t.portal.traveller}</legend>
      <Group gap="xs" className="purchase-fields">
        <TextInput
          name="name"
          aria-label={t.esims.travellerName}
          placeholder={t.portal.name}
          maxLength={80}
          autoComplete="off"
          onChange={({ currentTarget: { value } }) => setName(value)}
          onKeyDown={goOnWithEnter}
        />
        <TextInput
          name="email"
          type="email"
          aria-label={t.esims.recipient}
          placeholder={t.portal.email}
          maxLength={254}
          autoComplete="off"
          required={name.trim() !== ''}
          onKeyDown={goOnWithEnter}
        />
      </Group>
      <BrandSelect tenantId={tenantId} />
      <Hint size="xs">{t.portal.travellerText}</Hint>
    </fieldset>
  )
}

/** Enter goes to the next field and then to the button: people who type a name have not decided to buy yet. */
function goOnWithEnter(event: KeyboardEvent<HTMLInputElement>) {
  const isEnter = event.key === 'Enter' && !event.nativeEvent.isComposing
  if (!isEnter) return
  event.preventDefault()
  const stops = [...event.currentTarget.form!.querySelectorAll<HTMLElement>('input, [data-buy]')]
  stops[stops.indexOf(event.currentTarget) + 1]?.focus()
}

function Sum(props: { name: string; value: number; currency: string; isMain?: boolean }) {
  const { name, value, currency, isMain } = props
  return (
    <div data-main={isMain}>
      <dt>{name}</dt>
      <dd>
        <Amount value={value} currency={currency} />
      </dd>
    </div>
  )
}

interface LineProps {
  line: PurchaseLine
  onChange(change: Partial<PurchaseLine>): void
  onRemove(): void
}

function Line({ line, onChange, onRemove }: LineProps) {
  const { offer, count, days } = line
  const name = packageTitleText(offer.name)
  const step = { variant: 'default', size: 40 } as const
  return (
    <div className="panel-part purchase-line" data-line={offer.packageCode}>
      <Group gap="xs" wrap="nowrap" align="baseline">
        <PlaceFlag
          place={offer.place}
          locationCode={offer.locationCodes.length === 1 ? offer.locationCodes[0]! : '!RG'}
        />
        <b className="grow">{name}</b>
        <b>
          <Amount value={amountOf(line)} currency={offer.currencyCode} />
        </b>
      </Group>
      {offer.ekycRequired && <Hint size="xs">{t.portal.identityNeeded}</Hint>}
      <Group justify="space-between" wrap="nowrap" align="end">
        <Group gap={4} role="group" aria-label={formatMessage(t.portal.quantityOf, { name })}>
          <ActionIcon
            {...step}
            aria-label={t.portal.oneLess}
            disabled={count === 1}
            onClick={() => onChange({ count: count - 1 })}
          >
            <IconMinus size={16} />
          </ActionIcon>
          <b className="purchase-count" data-count={count}>
            {count}
          </b>
          <ActionIcon
            {...step}
            aria-label={t.portal.oneMore}
            disabled={count === LINE_COUNT_MAX}
            onClick={() => onChange({ count: count + 1 })}
          >
            <IconPlus size={16} />
          </ActionIcon>
        </Group>
        {days !== undefined && (
          <NumberInput
            label={t.portal.days}
            value={days}
            min={offer.periodNumMin ?? 1}
            max={offer.periodNumMax ?? 1}
            allowDecimal={false}
            clampBehavior="strict"
            w={80}
            onChange={(value) => onChange({ days: Number(value) || (offer.periodNumMin ?? 1) })}
          />
        )}
        <ActionIcon
          variant="subtle"
          color="gray"
          aria-label={formatMessage(t.portal.remove, { name })}
          size={40}
          onClick={onRemove}
        >
          <IconX size={16} />
        </ActionIcon>
      </Group>
    </div>
  )
}
