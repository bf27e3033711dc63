import { type BrandColours, brandColours } from '@dealer-esim/contract'
import { NIL_TENANT } from '#platform/audit/audit.ts'
import { accentOf, type BrandSettings, type LegalLink, type PictureSlot } from './brand-settings.ts'
import { type BrandSource, ownerOfBrands } from './brand-source.ts'
import { pictureUrl } from './picture-url.ts'

/** Whose a page or a mail is. Every text was typed by a person: escape it. */
export interface Brand {
  name: string
  /** The operator's own brand: its dealers' console, and travellers of a dealer without a brand. */
  isOperator: boolean
  /** Absolute addresses of PNG pictures with a hash of the content in their names. */
  logoLight?: string
  logoDark?: string
  icon?: string
  /** `#rrggbb`; absent: none was chosen, and the colours below are the gateway's own. */
  accent?: string
  /** The readable text on the accent. */
  accentInk: string
  colours: BrandColours
  supportEmail?: string
  supportPhone?: string
  supportHours?: string
  legalLinks: LegalLink[]
  topUpUrl?: string
  /** BCP 47. */
  language?: string
  senderName?: string
  replyTo?: string
  /** Texts of travellers' pages that the dealer has replaced, by their key. */
  texts?: Record<string, string>
}

export interface BrandDeps extends BrandSource {
  /** Base of the pictures' addresses. */
  links: { publicUrl: string }
}

/** The operator's name before anybody has set one. */
export const UNNAMED_OPERATOR = 'eSIM'

/**
 * Finds the brand of what a dealer sells: the one of that name, else the dealer's default one, else the operator's. Nothing of
 * one brand fills a gap in another: a dealer's brand without a logo has none.
 * @param tenantId null: the operator's own brand
 */
export async function brandFor(deps: BrandDeps, tenantId: string | null, brandName: string | null): Promise<Brand> {
  const owner = await ownerOfBrands(deps, tenantId)
  const [row] = await owner.db.query<BrandRow>({
    name: 'brands-find',
    text: `select b.settings, o.contact_name, o.contact_email, o.contact_phone, o.contact_hours, o.brand as operator_settings,
             (select legal_name from operator_details) as legal_name
           from (values (true)) as one (singleton) left join operator_settings o using (singleton)
           left join lateral (
             select settings from brands where tenant_id = $1 and (brand = $2 or is_default)
             order by brand = $2 desc nulls last limit 1) b on true`,
    values: [owner.tenantId, brandName],
  })
  if (owner.tenantId !== null && row!.settings !== null) return brandOf(deps, owner.tenantId, row!.settings)
  return brandOf(deps, null, operatorSettingsOf(row!))
}

/** A link that writes to an address and sets nothing else of the e-mail: in `a?bcc=b@c.example` it would. */
export function mailtoUrl(address: string): string {
  return `mailto:${encodeURIComponent(address).replace('%40', '@')}`
}

export interface OperatorRow {
  contactName: string | null
  contactEmail: string | null
  contactPhone: string | null
  contactHours: string | null
  legalName: string | null
  operatorSettings: BrandSettings | null
}

interface BrandRow extends OperatorRow {
  settings: BrandSettings | null
}

/** The operator's contact is part of its brand. */
export function operatorSettingsOf(row: OperatorRow): BrandSettings {
  return {
    ...row.operatorSettings,
    name: row.contactName ?? row.legalName ?? UNNAMED_OPERATOR,
    ...(row.contactEmail && { supportEmail: row.contactEmail }),
    ...(row.contactPhone && { supportPhone: row.contactPhone }),
    ...(row.contactHours && { supportHours: row.contactHours }),
  }
}

/** Computing them takes a millisecond, several times as long as the rest of a page. */
const coloursByAccent = new Map<string, BrandColours>()
const ACCENTS_MAX = 1_000

function coloursOf(accent: string): BrandColours {
  const known = coloursByAccent.get(accent)
  if (known) return known
  if (coloursByAccent.size >= ACCENTS_MAX) coloursByAccent.clear()
  const colours = brandColours(accent)
  coloursByAccent.set(accent, colours)
  return colours
}

function brandOf(deps: BrandDeps, tenantId: string | null, settings: BrandSettings): Brand {
  const { name = UNNAMED_OPERATOR, logoLight, logoDark, icon, legalLinks = [], ...others } = settings
  const colours = coloursOf(accentOf(settings))
  const picture = (slot: PictureSlot, hash: string | undefined) =>
    hash === undefined ? {} : { [slot]: pictureUrl(deps.links.publicUrl, tenantId ?? NIL_TENANT, hash) }
  return {
    ...others,
    name,
    isOperator: tenantId === null,
    ...picture('logoLight', logoLight),
    ...picture('logoDark', logoDark),
    ...picture('icon', icon),
    accentInk: colours.onAccent,
    colours,
    legalLinks,
  }
}
