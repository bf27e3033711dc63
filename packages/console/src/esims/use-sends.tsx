import type { SendStatus } from '@dealer-esim/contract'
import type { ProfileRow } from '@dealer-esim/gateway/http/console/esims/esims.ts'
import { useQueryClient } from '@tanstack/react-query'
import { useRef, useState } from 'react'
import { ApiError, call } from '#api/call-api.ts'
import { StatusMark } from '#parts/values.tsx'
import { t } from '#strings/strings.ts'
import { type Given, type Pair, type Result, TAKEN } from './send-pairs.ts'

/** How often, and for how long, the e-mails of a list are watched. */
const WATCH_MS = 1_500
const WATCH_LINE_MS = 200
const WATCHES_MAX = 20

/**
 * Sends one line after another, each under its own key. A repeat with the same key sends nothing and answers the present status,
 * so a line without an answer is repeated, and those on their way are watched, in the same way.
 * @param brand under which they are sent; empty: the default one
 */
export function useSends(brand: string) {
  const client = useQueryClient()
  const [results, setResults] = useState<Record<string, Result>>({})
  const [given, setGiven] = useState<Given>(new Map())
  const [isSending, setIsSending] = useState(false)
  const keys = useRef(new Map<string, string>())
  async function sendOne(pair: Pair): Promise<SendStatus | undefined> {
    if (!keys.current.has(pair.key)) keys.current.set(pair.key, newKey())
    try {
      const sendStatus = await post(pair, keys.current.get(pair.key)!, brand)
      take(pair, sendStatus)
      return sendStatus
    } catch (error) {
      if (error instanceof ApiError && error.code === 'ALREADY_SENT') {
        // Its line gets another eSIM.
        setGiven((before) => new Map(before).set(pair.esim!.profileId, TAKEN))
        return undefined
      }
      setResults((before) => ({ ...before, [pair.key]: { failure: (error as Error).message, isOver: false } }))
      const isRefused = error instanceof ApiError && error.status >= 400 && error.status < 500
      // Without an answer, the traveller may have got the eSIM. A refusal says nothing about an attempt before it.
      if (!isRefused) setGiven((before) => new Map(before).set(pair.esim!.profileId, pair.email))
      return undefined
    }
  }
  function take({ key, esim, email }: Pair, sendStatus: SendStatus): void {
    const isFailed = sendStatus === 'FAILED'
    // The next attempt is another e-mail.
    if (isFailed) keys.current.delete(key)
    setGiven((before) => {
      const after = new Map(before).set(esim!.profileId, email)
      if (isFailed) after.delete(esim!.profileId)
      return after
    })
    setResults((before) => ({ ...before, [key]: { sendStatus, isOver: !isFailed } }))
  }
  /** Waits until it is known of each e-mail whether it was sent. Without an answer, the last known status stays. */
  async function watch(pairs: readonly Pair[]) {
    let open = pairs
    for (let watches = 0; open.length > 0 && watches < WATCHES_MAX; watches++) {
      await new Promise((resolve) => setTimeout(resolve, Math.max(WATCH_MS, open.length * WATCH_LINE_MS)))
      const still: Pair[] = []
      for (const pair of open) {
        const transactionId = keys.current.get(pair.key)
        if (transactionId === undefined) continue
        const sendStatus = await post(pair, transactionId, brand).catch(() => 'QUEUED' as const)
        if (sendStatus === 'QUEUED') still.push(pair)
        else take(pair, sendStatus)
      }
      open = still
      await client.invalidateQueries()
    }
  }
  async function send(pairs: readonly Pair[]) {
    setIsSending(true)
    const queued: Pair[] = []
    for (const pair of pairs) if ((await sendOne(pair)) === 'QUEUED') queued.push(pair)
    setIsSending(false)
    await client.invalidateQueries()
    await watch(queued)
  }
  return { results, given, isSending, send }
}

async function post({ esim, email, name }: Pair, transactionId: string, brand: string): Promise<SendStatus> {
  const path = `/tenants/${esim!.tenantId}/profiles/${esim!.profileId}/share-link/mail`
  const body = {
    email,
    transactionId,
    onlyUnsent: true,
    ...(name !== null && { name }),
    ...(brand !== '' && { brand }),
  }
  return (await call<{ sendStatus: SendStatus }>('POST', path, { body })).sendStatus
}

/** A key for one e-mail: a second click sends nothing again. */
export const newKey = () => `console-${crypto.randomUUID()}`

/** The result of a line, or why it cannot be sent. */
export function SendResult({ fault, result }: { fault: string | null; result: Result | undefined }) {
  const failure = fault ?? result?.failure
  if (failure !== undefined && failure !== null) return <span className="negative">{failure}</span>
  if (result?.sendStatus === undefined) return null
  return <SendMark status={result.sendStatus} />
}

/** True once the traveller has installed it. */
export function isInstalled({ esimStatus, smdpStatus }: Pick<ProfileRow, 'esimStatus' | 'smdpStatus'>): boolean {
  return esimStatus === 'IN_USE' || ['INSTALLATION', 'ENABLED', 'DISABLED'].includes(smdpStatus ?? '')
}

/** What has become of an e-mail, in a word. */
export function SendMark({ status }: { status: SendStatus | 'INSTALLED' }) {
  const tone = status === 'FAILED' ? 'bad' : status === 'QUEUED' ? 'busy' : 'ok'
  return <StatusMark tone={tone}>{t.esims.sentWords[status]}</StatusMark>
}

/** To whom an eSIM was sent. */
export function TravellerName({ profile: { traveller } }: { profile: ProfileRow }) {
  return <span data-from-gateway>{traveller?.name ?? traveller?.email ?? '–'}</span>
}

/** How far the hand-over of an eSIM has come. */
export function SentMark({ profile }: { profile: ProfileRow }) {
  if (isInstalled(profile)) return <SendMark status="INSTALLED" />
  return profile.sendStatus === null ? <>–</> : <SendMark status={profile.sendStatus} />
}
