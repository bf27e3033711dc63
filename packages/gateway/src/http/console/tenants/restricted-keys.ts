import { KEY_LABEL_LENGTH_MAX } from '@dealer-esim/contract'
import Type, { type Static } from 'typebox'
import { ALLOWLIST_ENTRIES_MAX } from '#tenants/allowlist.ts'
import { ALLOWED_OPERATIONS, createKey, type KeyInput, listKeys, revokeKey, setKey } from '#tenants/keys/manage-keys.ts'
import { type Route, route, TENANT_ADMINS } from '../kernel/route.ts'
import { CLOSED, line, money, nullable, tenantParams, time, uuid } from '../kernel/route-schemas.ts'
import { confirmedRoute } from '../people/confirmed-route.ts'

const operations = () => Type.Array(Type.Enum([...ALLOWED_OPERATIONS]), { minItems: 1 })
const limits = { perOrderMax: nullable(money()), perDayMax: nullable(money()), totalMax: nullable(money()) }

const keyRow = Type.Object({
  appKey: Type.String(),
  label: Type.String(),
  operations: Type.Array(Type.String()),
  ...limits,
  ipAllowlist: Type.Array(Type.String()),
  expiresAt: nullable(time()),
  revokedAt: nullable(time()),
  daySpent: money(),
  totalSpent: money(),
  lastUsedAt: nullable(time()),
  createdAt: time(),
})
export type KeyRow = Static<typeof keyRow>

/** All members of a key that people set. Operations that are left out: those that read packages and the balance. */
const keyBody = {
  label: line(KEY_LABEL_LENGTH_MAX),
  operations: Type.Optional(operations()),
  ...limits,
  ipAllowlist: Type.Array(Type.String({ maxLength: 60 }), { maxItems: ALLOWLIST_ENTRIES_MAX }),
  expiresAt: nullable(time()),
}
const keyParams = Type.Object({ tenantId: uuid(), appKey: Type.String({ maxLength: 64 }) }, CLOSED)

/** Changes require the password, because a stolen session must not be enough. */
export const keyRoutes: Route[] = [
  route('GET /tenants/:tenantId/keys', {
    access: TENANT_ADMINS,
    testMode: 'TWIN',
    summary: 'The restricted keys of a dealer, with their limits and what they have spent',
    params: tenantParams,
    answer: Type.Object({ keys: Type.Array(keyRow) }),
    handle: async ({ deps }, { params }) => ({ keys: await listKeys(deps.db, params.tenantId) }),
  }),
  confirmedRoute('POST /tenants/:tenantId/keys', {
    access: TENANT_ADMINS,
    testMode: 'TWIN',
    summary: 'Create a restricted key. Requires the password. The AppSecret is answered only now',
    params: tenantParams,
    body: Type.Object(keyBody),
    answer: Type.Object({ appKey: Type.String(), appSecret: Type.String() }),
    handle: ({ deps, by }, { params, body }) => createKey(deps, params.tenantId, inputOf(body), by),
  }),
  confirmedRoute('PATCH /tenants/:tenantId/keys/:appKey', {
    access: TENANT_ADMINS,
    testMode: 'TWIN',
    summary: 'Change a restricted key. Requires the password',
    params: keyParams,
    body: Type.Object(keyBody),
    handle: ({ deps, by }, { params, body }) => setKey(deps, params.tenantId, params.appKey, inputOf(body), by),
  }),
  confirmedRoute('POST /tenants/:tenantId/keys/:appKey/revoke', {
    access: TENANT_ADMINS,
    testMode: 'TWIN',
    summary: 'Revoke a restricted key for good. Requires the password',
    params: keyParams,
    handle: ({ deps, by }, { params }) => revokeKey(deps, params.tenantId, params.appKey, by),
  }),
]

type KeyBody = Pick<KeyRow, 'label' | 'perOrderMax' | 'perDayMax' | 'totalMax' | 'ipAllowlist' | 'expiresAt'> & {
  operations?: string[]
}

function inputOf({ label, operations, ipAllowlist, expiresAt, ...amounts }: KeyBody): KeyInput & { label: string } {
  const units = (amount: number | null) => (amount === null ? null : BigInt(amount))
  return {
    ...{ label, ipAllowlist, ...(operations !== undefined && { operations }) },
    ...{
      perOrderMax: units(amounts.perOrderMax),
      perDayMax: units(amounts.perDayMax),
      totalMax: units(amounts.totalMax),
    },
    expiresAt: expiresAt === null ? null : new Date(expiresAt),
  }
}
