import {
  EMAIL_LENGTH_MAX,
  ESIM_STATUSES,
  orderIdOf,
  orderNoOf,
  SEND_STATUSES,
  SMDP_STATUSES,
  TRAVELLER_NAME_LENGTH_MAX,
} from '@dealer-esim/contract'
import { LOWEST_UUID } from '@dealer-esim/lib/ids.ts'
import { notFound, Refusal } from '@dealer-esim/lib/refusal.ts'
import Type, { type Static } from 'typebox'
import type { Snapshot } from '#catalogue/catalogue.ts'
import { locationOf } from '#catalogue/coverage.ts'
import { revealCodes } from '#esims/profile-secrets.ts'
import { qrPng, qrSvg } from '#esims/qr/qr-picture.ts'
import { renewShareLink, viewShareLink } from '#esims/qr/share-link.ts'
import { countProfiles, type FoundProfile, type ProfileSort, searchProfiles } from '#esims/search-profiles.ts'
import { sendEsim } from '#esims/sends/send-esim.ts'
import { hashAddress, isMailPossible, openTraveller } from '#orders/traveller.ts'
import { isEmailAddress } from '#tenants/tenant-settings.ts'
import { type ListQuery, listRoutes } from '../kernel/list-routes.ts'
import { type Context, EVERY_ROLE, type Route, route, TENANT_STAFF } from '../kernel/route.ts'
import {
  brandName,
  CLOSED,
  entryNo,
  line,
  location,
  nullable,
  orderNo,
  profileParams,
  time,
  toDate,
  uuid,
} from '../kernel/route-schemas.ts'
import { transactionId } from '../orders/buyer.ts'

export const profileRow = Type.Object({
  tenantId: Type.String(),
  clientName: Type.String(),
  profileId: Type.String(),
  orderNo: Type.String(),
  entryNo: entryNo(),
  itemNo: Type.Integer(),
  transactionId: Type.String(),
  packageCode: Type.String(),
  packageName: Type.String({ description: 'As ordered' }),
  location: location(),
  supplier: nullable(Type.String({ description: 'For operators only' })),
  iccid: Type.String(),
  imsi: nullable(Type.String()),
  msisdn: nullable(Type.String()),
  eid: nullable(Type.String()),
  apn: nullable(Type.String()),
  smdpAddress: Type.String(),
  esimStatus: Type.Enum(ESIM_STATUSES),
  smdpStatus: nullable(Type.Enum(SMDP_STATUSES)),
  suspended: Type.Boolean(),
  totalVolume: nullable(Type.Integer()),
  orderUsage: nullable(Type.Integer()),
  usageUpdateTime: nullable(time()),
  totalDuration: Type.Integer(),
  durationUnit: Type.String(),
  installBefore: nullable(time()),
  installationTime: nullable(Type.String({ format: 'date-time', description: 'null: its supplier does not say' })),
  activateTime: nullable(time()),
  expiredTime: nullable(time()),
  createdAt: time(),
  updatedAt: time(),
  traveller: nullable(
    Type.Object(
      { email: Type.String(), name: nullable(Type.String()) },
      { description: 'To whom it was sent last. Only for people who may send it, until it is forgotten' },
    ),
  ),
  sendStatus: nullable(Type.Enum(SEND_STATUSES)),
  sentAt: nullable(time()),
  isSent: Type.Boolean({ description: 'A send has not failed, even if a later one has' }),
})
export type ProfileRow = Static<typeof profileRow>

const codes = Type.Object({
  ac: Type.String(),
  matchingId: Type.String(),
  confirmationCode: nullable(Type.String()),
  pin: nullable(Type.String()),
  puk: nullable(Type.String()),
  kycUrl: nullable(Type.String({ description: 'Where the traveller proves their identity' })),
  qr: Type.String({ description: 'SVG' }),
  qrPng: Type.String({ description: 'The same as PNG, in Base64' }),
})
export type ProfileCodes = Static<typeof codes>

/** A traveller in the body of a request. */
export const traveller = {
  email: line(EMAIL_LENGTH_MAX, 3),
  name: Type.Optional(line(TRAVELLER_NAME_LENGTH_MAX)),
  brand: Type.Optional(brandName()),
}

/** Refuses an eSIM that another person has sent since the list of eSIMs was read. */
const onlyUnsent = Type.Optional(Type.Literal(true, { description: 'Refuse an eSIM that was sent already' }))

const shareLink = Type.Object({
  shareUrl: nullable(Type.String({ description: 'null: the eSIM has ended' })),
  qr: nullable(Type.String({ description: 'The link as a QR code, SVG' })),
  isMailPossible: Type.Boolean({ description: 'The gateway has a mail server' }),
})
export type ShareLink = Static<typeof shareLink>

const filters = {
  tenantId: Type.Optional(uuid()),
  iccid: Type.Optional(Type.String({ pattern: '^\\d{10,20}[Ff]?$' })),
  orderNo: Type.Optional(orderNo()),
  esimStatus: Type.Optional(Type.Enum(ESIM_STATUSES)),
  smdpStatus: Type.Optional(Type.Enum(SMDP_STATUSES)),
  email: Type.Optional(line(EMAIL_LENGTH_MAX, 3)),
  from: Type.Optional(time()),
  to: Type.Optional(time()),
}

/** Enough for a list of travellers whose e-mails are watched: a repeat sends nothing. */
const SHARE_MAILS_PER_MINUTE = 400

export const profileRoutes: Route[] = [
  ...listRoutes({
    name: 'profiles',
    path: '/profiles',
    access: EVERY_ROLE,
    testMode: 'TWIN',
    summary: 'eSIMs, newest first, without activation codes',
    filters,
    row: profileRow,
    sorts: { createdAt: 'INDEX', iccid: 'FILTERED', clientName: 'FILTERED' },
    firstSort: '-createdAt',
    async find(context, query, { column, ...page }) {
      const filter = filterOf(context, query)
      const found = await searchProfiles(context.deps.db, filter, { column: column as ProfileSort, ...page })
      const catalogue = await context.deps.catalogue.latest()
      return { ...found, rows: found.profiles.map((row) => rowOfProfile(context, row, catalogue)) }
    },
    count: (context, query) => countProfiles(context.deps.db, filterOf(context, query)),
    csv: {
      iccid: (row) => row.iccid,
      dealer: (row) => row.clientName,
      orderNo: (row) => row.orderNo,
      transactionId: (row) => row.transactionId,
      package: (row) => row.packageCode,
      supplier: (row) => row.supplier,
      status: (row) => row.esimStatus,
      download: (row) => row.smdpStatus,
      suspended: (row) => row.suspended,
      totalBytes: (row) => bytes(row.totalVolume),
      usedBytes: (row) => bytes(row.orderUsage),
      installBefore: (row) => row.installBefore,
      activatedAt: (row) => row.activateTime,
      expiresAt: (row) => row.expiredTime,
      createdAt: (row) => row.createdAt,
      traveller: (row) => row.traveller?.name ?? null,
      email: (row) => row.traveller?.email ?? null,
      sent: (row) => row.sendStatus,
      entryNo: (row) => Number(row.entryNo),
    },
  }),
  route('GET /tenants/:tenantId/profiles/:profileId', {
    access: EVERY_ROLE,
    testMode: 'TWIN',
    summary: 'An eSIM, without its activation code',
    params: profileParams,
    answer: profileRow,
    async handle(context, { params }) {
      const {
        profiles: [row],
      } = await searchProfiles(context.deps.db, params, { limit: 1 })
      if (!row) throw notFound('eSIM')
      return rowOfProfile(context, row, await context.deps.catalogue.latest())
    },
  }),
  route('POST /tenants/:tenantId/profiles/:profileId/codes', {
    access: TENANT_STAFF,
    testMode: 'TWIN',
    sessionOnly: true,
    summary: 'Show activation code, QR code, PIN and PUK. Audited',
    params: profileParams,
    answer: codes,
    async handle({ deps, by }, { params }) {
      const {
        ac,
        matchingId,
        confirmationCode = null,
        pin = null,
        puk = null,
        kycUrl = null,
      } = await revealCodes(deps, params, by)
      const rest = { confirmationCode, pin, puk, kycUrl }
      return { ac, matchingId, ...rest, qr: qrSvg(ac), qrPng: qrPng(ac).toString('base64') }
    },
  }),
  route('POST /tenants/:tenantId/profiles/:profileId/share-link', {
    access: TENANT_STAFF,
    testMode: 'TWIN',
    sessionOnly: true,
    summary: 'Show the link to the traveller’s page of an eSIM. Audited',
    params: profileParams,
    answer: shareLink,
    async handle({ deps, by }, { params }) {
      const shareUrl = await viewShareLink(deps, params, by)
      const qr = shareUrl === null ? null : qrSvg(shareUrl)
      return { shareUrl, qr, isMailPossible: isMailPossible(deps.config) }
    },
  }),
  route('POST /tenants/:tenantId/profiles/:profileId/share-link/mail', {
    access: TENANT_STAFF,
    testMode: 'TWIN',
    sessionOnly: true,
    summary: 'Send the link to the traveller’s page of an eSIM by e-mail. Limited per day. Audited',
    params: profileParams,
    body: Type.Object({ ...traveller, transactionId: Type.Optional(transactionId()), onlyUnsent }, CLOSED),
    ratePerMinute: SHARE_MAILS_PER_MINUTE,
    answer: Type.Object({ sendStatus: Type.Enum(SEND_STATUSES) }),
    async handle({ deps, by }, { params, body }) {
      const { email, transactionId = `console-${deps.ids.uuid()}`, ...rest } = body
      const to = { ...rest, email: checkAddress(email), transactionId, esimTranNo: params.profileId }
      const { answer } = await sendEsim(deps, params.tenantId, to, by)
      return { sendStatus: answer.sendStatus }
    },
  }),
  route('POST /tenants/:tenantId/profiles/:profileId/renew-share-link', {
    access: TENANT_STAFF,
    testMode: 'TWIN',
    summary: 'Replace the shareUrl of an eSIM. The old link ends immediately. Audited',
    params: profileParams,
    handle: ({ deps, by }, { params }) => renewShareLink(deps, params, by),
  }),
]

/** @throws Refusal */
export function checkAddress(typed: string): string {
  const email = typed.trim()
  if (isEmailAddress(email)) return email
  throw new Refusal(422, 'EMAIL_INVALID', `“${email}” is not an e-mail address.`)
}

/** Names and addresses of travellers are for people who may send to them, not for an operator who views as a dealer. */
export function maySeeTravellers({ person, signedIn }: Pick<Context, 'person' | 'signedIn'>): boolean {
  return person.role !== 'OPERATOR_READ_ONLY' && signedIn.viewedTenantId === null
}

/** Volumes arrive as bigint, which a file would show as an amount of money. */
const bytes = (volume: number | null) => (volume === null ? null : Number(volume))

function filterOf(context: Context, { orderNo, iccid, email, from, to, ...query }: ListQuery<typeof filters>) {
  const { onlyTenant, deps } = context
  // A text that is not seen is not searched either.
  const searched = email !== undefined && !maySeeTravellers(context) ? '' : email
  return {
    ...query,
    tenantId: onlyTenant ?? query.tenantId ?? null,
    iccid: iccid?.replace(/F$/i, ''),
    recipientHash: searched === undefined ? undefined : hashAddress(deps.linkKey, searched),
    // A text that is not an order number matches no order.
    orderId: orderNo === undefined ? undefined : (orderIdOf(orderNo) ?? LOWEST_UUID),
    from: toDate(from),
    to: toDate(to),
  }
}

export function rowOfProfile(
  context: Pick<Context, 'onlyTenant' | 'deps' | 'person' | 'signedIn'>,
  profile: FoundProfile,
  catalogue: Pick<Snapshot, 'find'>,
) {
  const { orderId, supplier, traveller: sealed, ...row } = profile
  const { onlyTenant, deps } = context
  const known = sealed !== null && maySeeTravellers(context) ? openTraveller(deps.cipher, row.tenantId, sealed) : null
  return {
    ...row,
    orderNo: orderNoOf(orderId),
    location: locationOf(catalogue, row.packageCode),
    supplier: onlyTenant === null ? supplier : null,
    traveller: known && { email: known.email, name: known.name ?? null },
  }
}
