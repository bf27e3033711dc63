import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Provider } from 'oidc-provider'

/** A person as described by the provider. */
export interface ProviderPerson {
  email?: string
  email_verified?: boolean
  name?: string
  groups?: string[]
  /** Claims in the ID token. All others are only in the user info. */
  inIdToken?: { email?: string; email_verified?: boolean }
}

const CLIENT = { id: 'esim-console', secret: 'a secret of the operator, long enough' }

/**
 * An OpenID Connect provider on the loopback interface (oidc-provider) that signs anybody in as the person in `signIn`,
 * without pages. A browser signs in as `current`.
 */
export async function startProvider(redirectUris: string[]) {
  const people = new Map<string, ProviderPerson>()
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: CLIENT.id,
        client_secret: CLIENT.secret,
        redirect_uris: redirectUris,
        post_logout_redirect_uris: redirectUris.map((uri) => uri.replace(/signed-in$/, '')),
      },
    ],
    claims: {
      openid: ['sub', 'email', 'email_verified'],
      email: ['email', 'email_verified'],
      profile: ['name', 'groups'],
    },
    pkce: { required: () => true },
    findAccount: (_, subject) => ({
      accountId: subject,
      claims: async (use) => {
        const { inIdToken, ...inUserInfo } = people.get(subject) ?? {}
        return { sub: subject, ...(use === 'id_token' ? inIdToken : inUserInfo) }
      },
    }),
    features: { devInteractions: { enabled: false } },
    interactions: { url: (_, interaction) => `/interaction/${interaction.uid}` },
    cookies: { keys: ['a key of the test'] },
    ttl: { Session: 600, Grant: 600, Interaction: 600, AccessToken: 600, IdToken: 600 },
  })
  const state = { issuer, client: CLIENT, people, current: '', refuse: false }
  const answer = provider.callback()
  server.on('request', async (request, response) => {
    if (!request.url?.startsWith('/interaction/')) return answer(request, response)
    if (state.refuse)
      return provider.interactionFinished(request, response, { error: 'access_denied', error_description: 'no' })
    const { prompt, params, grantId } = await provider.interactionDetails(request, response)
    const login = { login: { accountId: state.current } }
    if (prompt.name === 'login') return provider.interactionFinished(request, response, login)
    const clientId = String(params.client_id)
    const grant =
      (grantId && (await provider.Grant.find(grantId))) || new provider.Grant({ accountId: state.current, clientId })
    grant.addOIDCScope('openid email profile')
    const consent = { consent: { grantId: await grant.save() } }
    return provider.interactionFinished(request, response, consent, { mergeWithLastSubmission: true })
  })
  return Object.assign(state, {
    /**
     * Follows the provider's redirects as a separate browser would.
     * @returns the query of the page that it returns to
     */
    async signIn(url: string, subject: string, refuse = false): Promise<string> {
      Object.assign(state, { current: subject, refuse })
      const jar = new Map<string, string>()
      let at = url
      for (let hops = 0; hops < 10; hops++) {
        const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ')
        const response = await fetch(at, { redirect: 'manual', headers: { cookie } })
        for (const set of response.headers.getSetCookie()) {
          const [pair = ''] = set.split(';')
          jar.set(pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1))
        }
        const location = response.headers.get('location')
        if (location === null) throw new Error(`the provider answered ${response.status}: ${await response.text()}`)
        at = new URL(location, at).href
        if (!at.startsWith(issuer)) return new URL(at).search
      }
      throw new Error('the provider redirects without end')
    },
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  })
}

export type ProviderServer = Awaited<ReturnType<typeof startProvider>>
