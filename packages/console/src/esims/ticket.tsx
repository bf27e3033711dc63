import type { ProfileRow, ShareLink } from '@dealer-esim/gateway/http/console/esims/esims.ts'
import { Button, CopyButton, Group, Image, TextInput, VisuallyHidden } from '@mantine/core'
import { IconCheck, IconCopy, IconMail, IconPrinter, IconShare } from '@tabler/icons-react'
import { type FormEvent, type ReactNode, useEffect, useState } from 'react'
import { call } from '#api/call-api.ts'
import { useChange } from '#api/use-api.ts'
import { BrandSelect } from '#brands/brand-select.tsx'
import { PackageFlag } from '#catalogue/package-name.tsx'
import { packageTitle } from '#catalogue/package-title.ts'
import { formFields } from '#parts/form-values.ts'
import { formatDay, formatTime } from '#parts/format.ts'
import { ErrorText, Loading } from '#parts/load-states.tsx'
import { Hint, StatusMark } from '#parts/values.tsx'
import { isOperator, useSession } from '#people/sign-in/session.ts'
import { formatMessage, t } from '#strings/strings.ts'
import { localDay } from '#strings/zone.ts'
import { isInstalled, newKey } from './use-sends.tsx'

interface TicketProps {
  path: string
  profile: ProfileRow
  /** To whom it is to be sent, if not to the traveller who has it. */
  recipient?: string | undefined
}

/** What the dealer hands over: the package, the QR code and the link to the traveller's page, to send, copy or print. */
export function Ticket({ path, profile, recipient }: TicketProps) {
  const { link, error, show } = useShareLink(path, profile)
  const { parts, hasPlace } = packageTitle(profile.packageName)
  const [size, ...terms] = hasPlace ? parts.slice(1) : parts
  return (
    <section className="ticket" aria-label={t.esims.handOver} data-ticket={profile.profileId}>
      <div className="ticket-stub">
        <div className="ticket-place">
          <PackageFlag name={profile.packageName} location={profile.location} />
          {hasPlace && <span>{parts[0]}</span>}
        </div>
        <div>
          <div className="ticket-size" data-name={!hasPlace || undefined}>
            {size}
          </div>
          <small>{terms.join(' · ') || formatMessage(t.esims.days, { count: profile.totalDuration })}</small>
        </div>
        <div className="ticket-facts">
          {profile.traveller?.name && (
            <div>
              <small>{t.esims.traveller}</small>
              <b data-from-gateway>{profile.traveller.name}</b>
            </div>
          )}
          {profile.installBefore && (
            <div>
              <small>{t.esims.installBefore}</small>
              <b>{formatDay(localDay(Date.parse(profile.installBefore)))}</b>
            </div>
          )}
        </div>
      </div>
      <div className="ticket-body">
        {error && <ErrorText>{error.message}</ErrorText>}
        {!link && !error && show === undefined && <Loading />}
        {!link && show && (
          <div className="ticket-hand ticket-ask">
            <Hint>{t.esims.linkText}</Hint>
            <div>
              <Button variant="default" onClick={show}>
                {t.esims.showLink}
              </Button>
            </div>
          </div>
        )}
        {link && link.shareUrl === null && <Hint>{t.esims.linkEnded}</Hint>}
        {link?.shareUrl && (
          <>
            <div className="ticket-qr">
              <Image
                src={`data:image/svg+xml,${encodeURIComponent(link.qr ?? '')}`}
                alt={t.esims.linkQrAlt}
                w={176}
                h={176}
              />
              <Hint size="xs">{t.esims.scan}</Hint>
            </div>
            <div className="ticket-hand">
              <ShareUrl url={link.shareUrl} isPrimary={!link.isMailPossible && !isInstalled(profile)} />
              {link.isMailPossible && <SendForm {...{ path, profile, recipient }} />}
              <Progress profile={profile} />
              <Group gap="xs">
                {!isInstalled(profile) && (
                  <Button
                    component="a"
                    href={`${link.shareUrl}?card`}
                    target="_blank"
                    rel="noreferrer"
                    variant="default"
                    leftSection={<IconPrinter size={16} />}
                  >
                    {t.esims.print}
                  </Button>
                )}
                <ShareButton url={link.shareUrl} />
              </Group>
            </div>
          </>
        )}
      </div>
    </section>
  )
}

/**
 * The link. A dealer's people see it until the eSIM is installed, because they come for it. Everybody else has to ask for
 * it, because each view is in the audit log.
 */
function useShareLink(path: string, { esimStatus, smdpStatus }: ProfileRow) {
  const me = useSession()
  const isReady = esimStatus === 'GOT_RESOURCE' && (smdpStatus === null || smdpStatus === 'RELEASED')
  const [isShown, setIsShown] = useState(isReady && !isOperator(me) && !me.viewOnly)
  const [link, setLink] = useState<ShareLink>()
  const [error, setError] = useState<Error>()
  useEffect(() => {
    if (!isShown) return
    let isWanted = true
    const asked = call<ShareLink>('POST', `${path}/share-link`)
    asked.then(
      (found) => isWanted && setLink(found),
      (failure: Error) => isWanted && setError(failure),
    )
    return () => {
      isWanted = false
    }
  }, [path, isShown])
  return { link, error, show: isShown ? undefined : () => setIsShown(true) }
}

/** @param isPrimary copying is the way to hand it over, because no mail is possible */
function ShareUrl({ url, isPrimary }: { url: string; isPrimary: boolean }) {
  return (
    <Group gap="xs" align="end" wrap="nowrap" className="ticket-link">
      <TextInput className="grow" label={t.esims.link} value={url} readOnly data-value={t.esims.link} />
      <CopyLink url={url} label={t.esims.copyLink} variant={isPrimary ? 'filled' : 'default'} />
    </Group>
  )
}

export function CopyLink({ url, label, ...look }: { url: string; label: string; variant?: string; size?: string }) {
  return (
    <CopyButton value={url} timeout={2_000}>
      {({ copied, copy }) => (
        <>
          <Button
            variant="default"
            leftSection={copied ? <IconCheck size={16} /> : <IconCopy size={16} />}
            onClick={copy}
            {...look}
          >
            {copied ? t.common.copied : label}
          </Button>
          <VisuallyHidden role="status">{copied && t.esims.linkCopied}</VisuallyHidden>
        </>
      )}
    </CopyButton>
  )
}

/** The device's own way to share, such as WhatsApp on a phone. */
function ShareButton({ url }: { url: string }) {
  if (!('share' in navigator)) return null
  return (
    <Button
      variant="default"
      leftSection={<IconShare size={16} />}
      // Closing the device's dialog is no failure.
      onClick={() => void navigator.share({ url }).catch(() => undefined)}
    >
      {t.esims.share}
    </Button>
  )
}

/** Sends the link by e-mail. Primary until it was sent, and if the address was refused. */
function SendForm({ path, profile, recipient }: TicketProps) {
  const { traveller, sendStatus } = profile
  const [sentTo, setSentTo] = useState<string>()
  // One key for each mail: a second click sends nothing again.
  const [transactionId, setTransactionId] = useState(newKey)
  const send = useChange({ quiet: true })
  // Later its progress says what has become of the e-mail.
  const isOnItsWay =
    sentTo !== undefined && (sendStatus === 'QUEUED' || traveller?.email.toLowerCase() !== sentTo.toLowerCase())
  const hasIt = traveller !== null && sendStatus !== 'FAILED' && (recipient === undefined || sentTo !== undefined)
  function submit(event: FormEvent<HTMLFormElement>): void {
    event.preventDefault()
    const { email = '', ...rest } = formFields(event.currentTarget)
    const body = { email, ...rest, transactionId }
    send.mutate(
      { method: 'POST', path: `${path}/share-link/mail`, body },
      {
        onSuccess() {
          setSentTo(email)
          setTransactionId(newKey())
        },
      },
    )
  }
  return (
    <form aria-label={t.esims.sendLink} onSubmit={submit}>
      <Group gap="xs" align="end" className="ticket-send">
        <TextInput
          className="grow"
          name="name"
          label={t.esims.travellerName}
          defaultValue={traveller?.name ?? ''}
          maxLength={80}
          autoComplete="off"
        />
        <TextInput
          className="grow"
          name="email"
          type="email"
          label={t.esims.recipient}
          required
          withAsterisk={false}
          defaultValue={recipient ?? traveller?.email ?? ''}
          maxLength={254}
          autoComplete="off"
        />
        <BrandSelect tenantId={profile.tenantId} />
        <Button
          type="submit"
          variant={hasIt || isOnItsWay ? 'default' : 'filled'}
          loading={send.isPending}
          leftSection={<IconMail size={16} />}
        >
          {t.esims.send}
        </Button>
      </Group>
      {send.error && <ErrorText>{send.error.message}</ErrorText>}
      <Status>{isOnItsWay && formatMessage(t.esims.onItsWay, { email: sentTo })}</Status>
    </form>
  )
}

/** What has become of it: sent to whom, opened, installed. A screen reader announces what changes. */
function Progress({ profile }: { profile: ProfileRow }) {
  const { sendStatus, sentAt, traveller } = profile
  return (
    <Group gap="md" role="status" className="ticket-progress" data-sent={sendStatus}>
      {sendStatus !== null && (
        <StatusMark tone={sendStatus === 'FAILED' ? 'bad' : sendStatus === 'QUEUED' ? 'busy' : 'ok'}>
          {formatMessage(t.esims.sendStatuses[sendStatus], { time: formatTime(sentAt ?? '') })}
          {traveller && <span data-from-gateway>{` · ${traveller.email}`}</span>}
        </StatusMark>
      )}
      {isInstalled(profile) && <StatusMark tone="ok">{t.esims.isInstalled}</StatusMark>}
    </Group>
  )
}

function Status({ children }: { children: ReactNode }) {
  return (
    <div role="status" className="ticket-status">
      {children}
    </div>
  )
}
