import type { Me } from '@dealer-esim/gateway/http/console/people/me.ts'
import { ApiError, call, consoleBase } from '#api/call-api.ts'
import { t } from '#strings/strings.ts'

/** Why the browser goes to the provider: to sign in, or to confirm who the signed-in person is. */
export type ProviderKind = 'session' | 'confirmation'

interface Started {
  kind: ProviderKind
  /** The page to return to; undefined in a separate window, which closes. */
  returnTo?: string
}

const STARTED = 'provider-sign-in'
const CHANNEL = 'provider-sign-in'

/** Redirects to the provider. The browser returns to the page `signed-in`, and from there to this one. */
export async function goToProvider(kind: ProviderKind, options: { returns: boolean }): Promise<void> {
  const path = kind === 'session' ? '/provider/request' : '/account/confirm/provider/request'
  const { url } = await call<{ url: string }>('POST', path, { body: {} })
  const started: Started = options.returns ? { kind, returnTo: location.href } : { kind }
  sessionStorage.setItem(STARTED, JSON.stringify(started))
  location.assign(url)
}

export type ProviderResult = { kind: 'session'; me: Me } | { kind: 'confirmation'; confirmation: string }

/** Finishes what this tab began, using the query that the provider appended to our address. */
export async function finishAtProvider(
  query: string,
): Promise<{ result: ProviderResult; returnTo: string | undefined }> {
  const { kind = 'session', returnTo } = JSON.parse(sessionStorage.getItem(STARTED) ?? '{}') as Partial<Started>
  sessionStorage.removeItem(STARTED)
  const result: ProviderResult =
    kind === 'session'
      ? { kind, me: await call('POST', '/provider/session', { body: { query } }) }
      : { kind, ...(await call<{ confirmation: string }>('POST', '/account/confirm/provider', { body: { query } })) }
  return { result, returnTo: isOwnPage(returnTo) ? returnTo : undefined }
}

function isOwnPage(address: string | undefined): boolean {
  return address !== undefined && URL.canParse(address) && address.startsWith(consoleBase.href)
}

/**
 * Notifies the page that opened this window. The two windows share no reference, because the provider's page may sever it.
 */
export function reportToOpener(result: ProviderResult): void {
  const channel = new BroadcastChannel(CHANNEL)
  channel.postMessage(result)
  channel.close()
}

/** Opens a window for the provider, so that the page and everything typed remain. Call it from a click handler. */
export function openProviderWindow(kind: ProviderKind): Promise<ProviderResult> {
  const address = new URL(`signed-in?start=${kind}`, consoleBase)
  const opened = open(address, '_blank', 'popup,width=520,height=680')
  if (!opened) return Promise.reject(new ApiError(0, 'WINDOW_BLOCKED', t.errors.windowBlocked))
  return new Promise((resolve) => {
    const channel = new BroadcastChannel(CHANNEL)
    channel.onmessage = ({ data }: MessageEvent<ProviderResult>) => {
      if (data.kind !== kind) return
      channel.close()
      resolve(data)
    }
  })
}
