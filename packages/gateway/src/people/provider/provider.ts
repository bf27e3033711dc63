import { createHmac } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { Outbound } from '@dealer-esim/lib/outbound/outbound.ts'
import { Refusal } from '@dealer-esim/lib/refusal.ts'
import type { Log } from '@dealer-esim/lib/telemetry/log.ts'
import type { Configuration, CustomFetch } from 'openid-client'
import type { Config } from '#platform/config/config.ts'

export type ProviderConfig = Pick<Config, 'deployment' | 'oidcIssuer' | 'oidcClientId' | 'oidcClientSecretFile'>

/** What the provider says about the person who signed in there. */
export interface ProviderClaims {
  issuer: string
  subject: string
  email: string | undefined
  isEmailVerified: boolean
  name: string | undefined
  groups: string[]
}

/** The operator's OpenID Connect provider. Each method first asks it for its addresses, until it has answered once. */
export interface Provider {
  /** The address for the person's sign-in. @param again the person must enter their credentials again */
  authorizationUrl(request: ProviderRequest & { again: boolean }): Promise<string>
  /**
   * Redeems the code with which the provider sent the browser back, and verifies the ID token.
   * @param query of the address to which the browser returned
   * @throws Refusal PROVIDER_REFUSED, PROVIDER_UNREACHABLE
   */
  redeem(request: ProviderRequest & { again: boolean; query: string }): Promise<ProviderClaims>
  /** The page that also signs a person out of the provider; undefined if the provider lacks one. */
  signOutUrl(returnUrl: string): Promise<string | undefined>
}

export interface ProviderRequest {
  redirectUri: string
  /** A challenge (challenge.ts). */
  state: string
  /** The key for deriving the nonce and the code verifier, so that neither needs to be stored. */
  key: Buffer
}

const SCOPE = 'openid email profile'
const TIMEOUT_MS = 10_000
/** Far more than metadata, key sets and tokens need. */
const ANSWER_SIZE_MAX_BYTES = 1_000_000
const GROUPS_MAX = 1_000

/** undefined without OIDC_ISSUER. Reads the secret now, so that a missing file is noticed at the start. */
export function createProvider(deps: { config: ProviderConfig; outbound: Outbound; log: Log }): Provider | undefined {
  const { oidcIssuer, oidcClientId, oidcClientSecretFile } = deps.config
  if (oidcIssuer === undefined || oidcClientId === undefined || oidcClientSecretFile === undefined) return undefined
  const client = {
    issuer: oidcIssuer,
    clientId: oidcClientId,
    secret: readFileSync(oidcClientSecretFile, 'utf8').trim(),
  }
  let configuration: Promise<Configuration> | undefined
  const configured = () => {
    // Metadata is kept once it has been read; after a failure, the next person's sign-in tries again.
    configuration ??= discover(deps, client).catch((error) => {
      configuration = undefined
      throw unreachable(deps.log, error)
    })
    return configuration
  }
  return {
    async authorizationUrl({ redirectUri, state, key, again }) {
      const { buildAuthorizationUrl, calculatePKCECodeChallenge } = await import('openid-client')
      const url = buildAuthorizationUrl(await configured(), {
        redirect_uri: redirectUri,
        scope: SCOPE,
        state,
        nonce: derive(key, 'nonce', state),
        code_challenge: await calculatePKCECodeChallenge(derive(key, 'code verifier', state)),
        code_challenge_method: 'S256',
        ...(again && { prompt: 'login', max_age: '0' }),
      })
      return url.href
    },
    async redeem(request) {
      const configuration = await configured()
      return redeem(configuration, request).catch((error) => {
        throw refusalOf(deps.log, error)
      })
    },
    async signOutUrl(returnUrl) {
      const { buildEndSessionUrl } = await import('openid-client')
      const configuration = await configured()
      if (configuration.serverMetadata().end_session_endpoint === undefined) return undefined
      return buildEndSessionUrl(configuration, { post_logout_redirect_uri: returnUrl }).href
    },
  }
}

async function discover(
  { config, outbound }: { config: ProviderConfig; outbound: Outbound },
  { issuer, clientId, secret }: { issuer: string; clientId: string; secret: string },
): Promise<Configuration> {
  const { allowInsecureRequests, ClientSecretBasic, customFetch, discovery, enableNonRepudiationChecks } = await import(
    'openid-client'
  )
  return discovery(new URL(issuer), clientId, secret, ClientSecretBasic(secret), {
    [customFetch]: fetchWith(outbound),
    timeout: TIMEOUT_MS / 1_000,
    // The ID token's signature is verified even though the token comes directly from the provider.
    execute: [enableNonRepudiationChecks, ...(config.deployment === 'local' ? [allowInsecureRequests] : [])],
  })
}

/** The maximum age of a person's sign-in at the provider, if the provider was asked to verify the person again. */
const AGAIN_MAX_S = 5 * 60

async function redeem(
  configuration: Configuration,
  { redirectUri, state, key, again, query }: ProviderRequest & { again: boolean; query: string },
): Promise<ProviderClaims> {
  const { authorizationCodeGrant, fetchUserInfo } = await import('openid-client')
  const tokens = await authorizationCodeGrant(configuration, new URL(`${redirectUri}?${query.replace(/^\?/, '')}`), {
    expectedState: state,
    expectedNonce: derive(key, 'nonce', state),
    pkceCodeVerifier: derive(key, 'code verifier', state),
    idTokenExpected: true,
    ...(again && { maxAge: AGAIN_MAX_S }),
  })
  const idToken = tokens.claims()!
  const hasUserInfo = configuration.serverMetadata().userinfo_endpoint !== undefined
  // Some providers omit the address from the ID token.
  const userInfo =
    idToken.email === undefined && hasUserInfo
      ? await fetchUserInfo(configuration, tokens.access_token, idToken.sub)
      : {}
  const { name, groups } = { ...idToken, ...userInfo } as Record<string, unknown>
  // A provider vouches only for the address in the same answer as its statement, not for one in another answer.
  const { email, email_verified } = (idToken.email === undefined ? userInfo : idToken) as Record<string, unknown>
  return {
    issuer: idToken.iss,
    subject: idToken.sub,
    email: typeof email === 'string' ? email : undefined,
    isEmailVerified: email_verified === true,
    name: typeof name === 'string' ? name : undefined,
    groups: Array.isArray(groups) ? groups.slice(0, GROUPS_MAX).filter((group) => typeof group === 'string') : [],
  }
}

/** Fetches through lib/outbound. The operator configures the provider, so it may have a private address. */
function fetchWith(outbound: Outbound): CustomFetch {
  return async (url, { method, headers, body }) => {
    const outcome = await outbound.request({
      ...{ url, method: method as 'GET' | 'POST', headers, timeoutMs: TIMEOUT_MS, allowPrivate: true },
      ...(body !== undefined && body !== null && { body: bodyText(body) }),
      answerSizeMaxBytes: ANSWER_SIZE_MAX_BYTES,
    })
    if (outcome.kind === 'failed') throw new Error(outcome.message)
    if (outcome.truncated) throw new Error('the answer is longer than the limit')
    const answered = Object.entries(outcome.headers).map(([name, value]): [string, string] => [name, String(value)])
    return new Response(new Uint8Array(outcome.body), { status: outcome.status, headers: answered })
  }
}

function bodyText(body: unknown): string | Buffer {
  return body instanceof Uint8Array ? Buffer.from(body) : String(body)
}

function derive(key: Buffer, purpose: string, state: string): string {
  return createHmac('sha256', key).update(`provider ${purpose}\n${state}`).digest('base64url')
}

/** For the log. The error itself may contain claims or tokens. */
function describe(error: unknown) {
  const { message, code, cause } = error as Error & { code?: string }
  return { failure: message, code, cause: cause instanceof Error ? cause.message : undefined }
}

function unreachable(log: Log, error: unknown): Refusal {
  log.warn(describe(error), 'the OpenID Connect provider could not be reached')
  const message = 'The sign-in provider cannot be reached. Try again in a moment, or sign in another way.'
  return new Refusal(503, 'PROVIDER_UNREACHABLE', message)
}

/** The provider's own error codes are safe to show; everything else goes to the log. */
function refusalOf(log: Log, error: unknown): Refusal {
  const { error: code } = error as { error?: unknown }
  log.warn(describe(error), 'a sign-in at the provider failed')
  if (code === 'access_denied')
    return new Refusal(422, 'PROVIDER_REFUSED', 'The provider did not let you sign in. Ask its administrator.')
  const shown = typeof code === 'string' && /^[a-z_]{1,40}$/.test(code) ? ` (${code})` : ''
  return new Refusal(422, 'PROVIDER_REFUSED', `The sign-in at the provider failed${shown}. Start again.`)
}
