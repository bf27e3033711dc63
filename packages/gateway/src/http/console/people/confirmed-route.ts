import Type, { type TObject, type TSchema } from 'typebox'
import { type Reauthentication, reauthenticate } from '#people/sign-in.ts'
import { type Access, type Address, type Context, type Declaration, type Route, route } from '../kernel/route.ts'
import { CLOSED, REAUTHENTICATIONS_PER_MINUTE, reauthentication } from '../kernel/route-schemas.ts'
import { sessionCredential } from './sign-in.ts'

/**
 * Declares a route for which people confirm who they are, by their password or what replaces it: a stolen session must not be
 * enough. The request has these members in addition to those of `body`, and the handler runs once they are verified.
 */
export function confirmedRoute<
  A extends TSchema | undefined = undefined,
  P extends TSchema | undefined = undefined,
  Q extends TSchema | undefined = undefined,
  B extends TObject | undefined = undefined,
>(at: Address, declaration: Declaration<P, Q, B, A, Context> & { access: Exclude<Access, 'anyone'> }): Route {
  const handle = async (context: Context, { body, ...parts }: { body: Credentials }) => {
    const { live, person, signedIn, address } = context
    const { password, code, confirmation, ...input } = body
    const credentials = { password, code, confirmation, ...sessionCredential(signedIn) }
    await reauthenticate(live.deps, person, { ...credentials, address })
    return declaration.handle(context, { ...parts, body: input } as never)
  }
  return route(at, {
    ...declaration,
    sessionOnly: declaration.access !== 'session',
    ratePerMinute: REAUTHENTICATIONS_PER_MINUTE,
    body: Type.Object({ ...reauthentication, ...declaration.body?.properties }, CLOSED),
    handle,
  } as never)
}

type Credentials = Omit<Reauthentication, 'sessionId'>
