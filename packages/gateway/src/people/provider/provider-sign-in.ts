import type { Tx } from '@dealer-esim/lib/postgres/db.ts'
import { Refusal } from '@dealer-esim/lib/refusal.ts'
import { SYSTEM } from '#platform/audit/audit.ts'
import type { Config } from '#platform/config/config.ts'
import { createChallenge, deadChallenge, isChallenge, spendChallenge } from '../challenge.ts'
import { createConfirmation } from '../confirmation.ts'
import { createPersonOfProvider } from '../manage-people.ts'
import { findPersonByEmail, isPersonAddress, lockPerson, normalEmail, type Person, type Role } from '../person.ts'
import { auditFailedSignIn, openSession, type SignInDeps, type SignInResult } from '../sign-in.ts'
import type { Provider, ProviderClaims } from './provider.ts'
import { findAccountPerson, linkAccount } from './provider-account.ts'
import { domainOf } from './provider-passwords.ts'

export interface ProviderSignInDeps extends SignInDeps {
  config: SignInDeps['config'] & Pick<Config, 'oidcRoles'>
}

/** A browser and its purpose at the provider: to sign in, or to confirm the identity of the signed-in person. */
export interface ProviderFlow {
  /** The token in the browser's cookie: a code obtained by a different browser cannot be redeemed here. */
  flow: string
  /** The person to be confirmed; undefined for a sign-in. */
  confirming: Person | undefined
  redirectUri: string
}

/** Starts a sign-in. Returns the provider's address that the browser goes to. */
export function startProviderSignIn(deps: SignInDeps, provider: Provider, flow: ProviderFlow): Promise<string> {
  const state = createChallenge(deps, purposeFor(flow))
  return provider.authorizationUrl({ ...requestOf(deps, flow, state), again: flow.confirming !== undefined })
}

/**
 * Signs in the person linked to the provider's account. An account is linked to the person whose address the provider has
 * verified; with OIDC_ROLES, people in its groups are created.
 * @throws Refusal CHALLENGE_DEAD, PROVIDER_REFUSED, PROVIDER_UNREACHABLE, PROVIDER_ADDRESS, PROVIDER_DOMAIN,
 * PROVIDER_PERSON_UNKNOWN, PROVIDER_ACCOUNT_OTHER, PERSON_DISABLED
 */
export async function finishProviderSignIn(
  deps: ProviderSignInDeps,
  provider: Provider,
  flow: ProviderFlow,
  input: { query: string; address: string; userAgent: string },
): Promise<SignInResult> {
  try {
    const { state, claims } = await redeem(deps, provider, flow, input.query)
    return await deps.db.tx(async (tx) => {
      await spendChallenge(tx, state)
      const person = await lockPersonOf(tx, deps, claims)
      return openSession(tx, deps, person, { ...input, signedInBy: 'PROVIDER' })
    })
  } catch (error) {
    if (error instanceof Refusal) await auditFailedSignIn(deps, { ...input, reason: 'PROVIDER' })
    throw error
  }
}

/** Confirms a signed-in person with another sign-in at the provider, using the account linked to them. */
export async function finishProviderConfirmation(
  deps: SignInDeps,
  provider: Provider,
  flow: ProviderFlow & { confirming: Person; sessionId: string },
  query: string,
): Promise<{ confirmation: string }> {
  const { state, claims } = await redeem(deps, provider, flow, query)
  await deps.db.tx(async (tx) => {
    await spendChallenge(tx, state)
    if ((await findAccountPerson(tx, claims.issuer, claims.subject)) === flow.confirming.personId) return
    throw new Refusal(
      422,
      'PROVIDER_ACCOUNT_OTHER',
      'You signed in with a different account at the provider. Start again.',
    )
  })
  return { confirmation: createConfirmation(deps, flow.confirming, flow.sessionId) }
}

async function redeem(deps: SignInDeps, provider: Provider, flow: ProviderFlow, query: string) {
  const state = new URLSearchParams(query).get('state') ?? ''
  if (!isChallenge(deps, purposeFor(flow), state)) throw deadChallenge()
  const again = flow.confirming !== undefined
  return { state, claims: await provider.redeem({ ...requestOf(deps, flow, state), again, query }) }
}

/** Finds, links or creates the person, and locks their row. */
async function lockPersonOf(tx: Tx, deps: ProviderSignInDeps, claims: ProviderClaims): Promise<Person> {
  const { issuer, subject, email } = claims
  const { oidcDomains } = deps.config
  const linked = await findAccountPerson(tx, issuer, subject)
  if (linked === undefined && (email === undefined || !claims.isEmailVerified))
    throw new Refusal(
      403,
      'PROVIDER_ADDRESS',
      'The provider has not verified your e-mail address. Verify it there first.',
    )
  if (linked === undefined && !isPersonAddress(normalEmail(email!)))
    throw new Refusal(
      403,
      'PROVIDER_ADDRESS',
      'Your e-mail address at the provider has characters that are not accepted here. Use another account.',
    )
  if (oidcDomains.length > 0 && !oidcDomains.includes(domainOf(email ?? '')))
    throw new Refusal(
      403,
      'PROVIDER_DOMAIN',
      'Your e-mail address at the provider is not allowed here. Use another account.',
    )
  const personId = linked ?? (await findPersonByEmail(tx, email!))?.personId ?? (await create(tx, deps, claims))
  const person = await lockPerson(tx, personId)
  if (person?.status !== 'ACTIVE')
    throw new Refusal(403, 'PERSON_DISABLED', 'This account is disabled. Ask an administrator.')
  if (linked === undefined) await linkAccount(tx, personId, issuer, subject)
  return person
}

async function create(tx: Tx, deps: ProviderSignInDeps, { email, name, groups }: ProviderClaims): Promise<string> {
  const role = roleOf(deps.config.oidcRoles, groups)
  if (role === undefined) {
    const message = `There is no account for ${email} here. Ask an administrator to invite this address.`
    throw new Refusal(403, 'PROVIDER_PERSON_UNKNOWN', message)
  }
  const shown = (name ?? email!).replace(/[\u0000-\u001f\u007f]/g, ' ').slice(0, NAME_LENGTH_MAX)
  return createPersonOfProvider(tx, deps.ids, { email: email!, name: shown, role, tenantId: null }, SYSTEM)
}

const NAME_LENGTH_MAX = 100

/** The role of the first group in OIDC_ROLES that the person belongs to. */
function roleOf(roles: ReadonlyMap<string, Role>, groups: readonly string[]): Role | undefined {
  for (const [group, role] of roles) if (groups.includes(group)) return role
  return undefined
}

function requestOf({ linkKey }: SignInDeps, { redirectUri }: ProviderFlow, state: string) {
  return { redirectUri, state, key: linkKey }
}

function purposeFor({ flow, confirming }: ProviderFlow): string {
  return confirming ? `provider confirmation ${confirming.personId} ${flow}` : `provider sign-in ${flow}`
}
