import ipaddr from 'ipaddr.js'

/** The scope of this gateway's passkeys. */
export interface RelyingParty {
  /** The host name that passkeys are bound to. A passkey for one host name does not work on another. */
  id: string
  /** The origins that may request a passkey. */
  origins: string[]
  name: string
}

const NAME = 'eSIM console'

/**
 * The relying party at the console's address, which comes from CONSOLE_URL or PUBLIC_URL and never from a request. Browsers
 * refuse passkeys on a bare IP address, so people open a local gateway as localhost. Undefined if there is no host name.
 */
export function relyingPartyOf(consoleUrl: string): RelyingParty | undefined {
  const url = new URL(consoleUrl)
  const host = url.hostname.replace(/^\[|\]$/g, '')
  if (!ipaddr.isValid(host)) return { id: host, origins: [url.origin], name: NAME }
  if (ipaddr.process(host).range() !== 'loopback') return undefined
  const port = url.port === '' ? '' : `:${url.port}`
  return { id: 'localhost', origins: [`${url.protocol}//localhost${port}`], name: NAME }
}
