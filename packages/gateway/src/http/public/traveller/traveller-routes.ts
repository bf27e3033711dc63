import type { IncomingHttpHeaders } from 'node:http'
import { brandColours, DEFAULT_ACCENT } from '@dealer-esim/contract'
import type { Cipher } from '@dealer-esim/lib/crypto.ts'
import type { Db } from '@dealer-esim/lib/postgres/db.ts'
import cookie from '@fastify/cookie'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { type Brand, type BrandDeps, brandFor, UNNAMED_OPERATOR } from '#brands/brand.ts'
import { isCountry } from '#catalogue/coverage.ts'
import { chooseLanguage, findLanguage } from '#esims/languages/choose-language.ts'
import { getLanguages, withTexts } from '#esims/languages/traveller-language.ts'
import { readShareToken } from '#esims/qr/qr-link.ts'
import { qrPng, qrSvg } from '#esims/qr/qr-picture.ts'
import { type OpenedLink, openQrLink, openShareLink } from '#esims/qr/traveller-esim.ts'
import { findHandOver } from '#esims/sends/hand-over.ts'
import { markOpened } from '#esims/sends/mark-opened.ts'
import { gzipLargeAnswers } from '#http/gzip.ts'
import { cardPage } from './card-page.ts'
import { devicesPage } from './devices-page.ts'
import { endedPage, unavailablePage, unknownPage } from './ended-pages.ts'
import { installPage } from './install-page.ts'
import { isPageLoad, QR_VARY, qrFormatFor } from './page-load.ts'
import { phoneOf } from './phone.ts'
import { statusPage } from './status-page.ts'
import { policyOf, type Reader } from './traveller-page.ts'

const HEADERS = {
  'cache-control': 'no-store',
  'referrer-policy': 'no-referrer',
  'x-robots-tag': 'noindex, nofollow',
  'x-content-type-options': 'nosniff',
}

/** Answers are compressed although they hold codes: only people who hold the link can ask for one. */
const LINK = { config: { access: 'the link: its token has 128 random bits or more' }, onSend: gzipLargeAnswers }

interface LinkDeps extends Pick<BrandDeps, 'links' | 'liveBrands'> {
  db: Db
  cipher: Pick<Cipher, 'decrypt'>
  linkKey: Buffer
}

interface RouteDeps extends LinkDeps {
  twins?: { open(): Promise<LinkDeps | undefined> }
}

interface Link {
  Params: { name: string }
  Querystring: Record<string, unknown>
}

type LinkRequest = FastifyRequest<Link>

/**
 * `/qr/TOKEN` is the QR code of an eSIM that is ready to install: a picture, or for a browser's page load a page with other
 * ways to install it. `/qr/TOKEN.svg` and `/qr/TOKEN.png` are always the picture.
 * `/share/TOKEN` is the traveller's page, which remains after installation; `/share/TOKEN.svg` and `/share/TOKEN.png` are
 * its QR code until then. `?card` of both is that page as a card to print, `?devices` the list of phones that take an eSIM.
 * A link that has ended is answered with 410 and a page of its seller, a token that never was with 404 and a page of the
 * operator. Where a picture would be the answer, the status is.
 */
export function addTravellerRoutes(app: FastifyInstance, deps: RouteDeps): void {
  app.get<Link>('/qr/:name', LINK, async (request, reply) => {
    reply.headers({ ...HEADERS, vary: QR_VARY })
    const { token, format } = parseName(request.params.name)
    const { opened, owner } = await open(deps, (among) => openQrLink(among, token))
    const wanted = format ?? qrFormatFor(request.headers)
    return wanted === 'page' ? sendPage(owner, request, reply, { token, opened }) : sendPicture(reply, wanted, opened)
  })
  app.get<Link>('/share/:name', LINK, async (request, reply) => {
    reply.headers(HEADERS)
    const { token, format } = parseName(request.params.name)
    const { opened, owner } = await open(deps, (among) => openShareLink(among, token))
    if (format !== undefined) return sendPicture(reply, format, opened)
    // A mail program that looks at a link before its reader does is not the reader, nor is the dealer who prints the card.
    if (opened?.kind === 'OPEN' && isPageLoad(request.headers) && !('card' in request.query))
      await markOpened(owner.db, readShareToken(owner.linkKey, token)!)
    return sendPage(owner, request, reply, { token, opened })
  })
  // A link of ours with something behind it, or twice in a row: longer than a name may be.
  for (const path of ['/qr/*', '/share/*'])
    app.get<Link>(path, { ...LINK, config: { access: 'anybody' } }, async (request, reply) => {
      reply.headers({ ...HEADERS, vary: QR_VARY })
      if (!isPageLoad(request.headers)) return sendPicture(reply, 'png', undefined)
      return sendPage(deps, request, reply, { token: '', opened: undefined })
    })
  app.get<Link>('/flags/:name', { config: { access: 'everybody' } }, (request, reply) =>
    sendFlag(reply, request.params.name),
  )
}

/** Opens a link, which is authenticated by the key of the live dealers or by that of the test twins. */
async function open(deps: RouteDeps, openAmong: (deps: LinkDeps) => Promise<OpenedLink | undefined>) {
  const opened = await openAmong(deps)
  if (opened !== undefined) return { opened, owner: deps }
  const owner = await deps.twins?.open()
  const ofTwin = owner && (await openAmong(owner))
  return { opened: ofTwin, owner: ofTwin ? owner! : deps }
}

function parseName(name: string): { token: string; format: 'svg' | 'png' | undefined } {
  const [, token = '', format] = /^([A-Za-z0-9_-]+)(?:\.(svg|png))?$/.exec(name) ?? []
  return { token, format: format as 'svg' | 'png' | undefined }
}

function sendPicture(reply: FastifyReply, format: 'svg' | 'png', opened: OpenedLink | undefined) {
  const codes = opened?.kind === 'OPEN' ? opened.codes : undefined
  if (codes === undefined) return reply.code(opened === undefined ? 404 : 410).send()
  const { ac } = codes
  return format === 'svg' ? reply.type('image/svg+xml').send(qrSvg(ac)) : reply.type('image/png').send(qrPng(ac))
}

async function sendPage(
  deps: LinkDeps,
  request: LinkRequest,
  reply: FastifyReply,
  { token, opened }: { token: string; opened: OpenedLink | undefined },
) {
  const reader = await readerOf(deps, request, opened)
  rememberLanguage(request, reply)
  reply.code(opened === undefined ? 404 : opened.kind === 'OPEN' ? 200 : 410)
  // Asked for with the first page, sent with the next: the model, which Chrome hides otherwise.
  reply.header('accept-ch', 'Sec-CH-UA-Model').header('content-security-policy', policyOf(reader.brand))
  return reply.type('text/html; charset=utf-8').send(render(reader, request, token, opened))
}

function render(reader: Reader, { query }: LinkRequest, token: string, opened: OpenedLink | undefined): string {
  if (opened === undefined) return unknownPage(reader)
  if (opened.kind !== 'OPEN') return endedPage(reader, opened)
  if ('devices' in query) return devicesPage(reader)
  if (opened.codes === undefined) return statusPage(reader, opened.esim)
  const show = 'card' in query ? cardPage : installPage
  return show(reader, token, opened.esim, opened.codes)
}

async function readerOf(deps: LinkDeps, request: LinkRequest, opened: OpenedLink | undefined): Promise<Reader> {
  const asked = opened === undefined ? undefined : await findHandOver(deps.db, opened.esim)
  const brand = await brandFor(deps, opened?.esim.tenantId ?? null, asked?.brand ?? null)
  const languages = getLanguages()
  const { headers } = request
  const language = chooseLanguage(languages, {
    chosen: chosenNow(request) ?? chosenBefore(headers),
    handOver: asked?.language,
    acceptLanguage: headers['accept-language'],
    brand: brand.language,
  })
  return {
    language: withTexts(language, brand.texts),
    languages: [...languages.values()],
    brand,
    seller: sellerOf(brand, opened),
    phone: phoneOf(headers),
  }
}

/**
 * The page in the place of one that failed, in the reader's language and under nobody's name, because brands are in the database.
 * @returns undefined for whatever loads no page: a line of text is enough
 */
export function unavailableFor(request: FastifyRequest, reply: FastifyReply): string | undefined {
  const { headers } = request
  if (!isPageLoad(headers)) return undefined
  const languages = getLanguages()
  const chosen = chosenNow(request as LinkRequest) ?? chosenBefore(headers)
  const language = chooseLanguage(languages, { chosen, acceptLanguage: headers['accept-language'] })
  reply.headers({ ...HEADERS, 'content-security-policy': policyOf(NOBODY) })
  return unavailablePage({
    ...{ language, languages: [...languages.values()], brand: NOBODY, seller: NOBODY.name },
    phone: phoneOf(headers),
  })
}

const COLOURS = brandColours(DEFAULT_ACCENT)
const NOBODY: Brand = {
  ...{ name: UNNAMED_OPERATOR, isOperator: true, legalLinks: [] },
  ...{ colours: COLOURS, accentInk: COLOURS.onAccent },
}

/** A dealer without a brand of its own is still who sold the eSIM; the operator's contact and colours are used. */
function sellerOf(brand: Brand, opened: OpenedLink | undefined): string {
  return brand.isOperator && opened !== undefined ? opened.esim.tenantName : brand.name
}

/** The language that a link of the page's menu asks for: `?lang=de`. */
function chosenNow({ query }: LinkRequest): string | undefined {
  const { lang } = query
  return typeof lang === 'string' ? findLanguage(getLanguages(), lang)?.tag : undefined
}

const COOKIE = 'lang'
const YEAR_S = 31_536_000

function chosenBefore(headers: IncomingHttpHeaders): string | undefined {
  return cookie.parse(headers.cookie ?? '')[COOKIE]
}

/** Without a path, so that it is sent with every link beside this one, behind whatever prefix a proxy adds. */
function rememberLanguage(request: LinkRequest, reply: FastifyReply): void {
  const tag = chosenNow(request)
  if (tag !== undefined) reply.header('set-cookie', `${COOKIE}=${tag}; Max-Age=${YEAR_S}; HttpOnly; SameSite=Lax`)
}

/** Loaded with the first flag: together they have 180 kB. */
async function sendFlag(reply: FastifyReply, name: string) {
  const [, code] = /^([A-Z]{2})\.svg$/.exec(name) ?? []
  const flags: Readonly<Record<string, string>> = await import('country-flag-icons/string/3x2')
  const flag = code !== undefined && isCountry(code) ? flags[code] : undefined
  if (flag === undefined) return reply.code(404).send()
  return reply
    .headers({ 'cache-control': `public, max-age=${YEAR_S}`, 'content-security-policy': "default-src 'none'" })
    .type('image/svg+xml')
    .send(flag)
}
