import { NIL_TENANT } from '#platform/audit/audit.ts'
import { type OperatorRow, operatorSettingsOf, UNNAMED_OPERATOR } from './brand.ts'
import { type BrandSettings, PICTURE_SLOTS, type PictureSlot } from './brand-settings.ts'
import { type BrandReader, type BrandSource, ownerOfBrands } from './brand-source.ts'
import { pictureUrl, readPictureName } from './picture-url.ts'

/** A brand for the people who set it. */
export interface BrandView {
  settings: Omit<BrandSettings, PictureSlot> & { name: string }
  /** Addresses of its pictures, without the host. */
  pictures: Partial<Record<PictureSlot, string>>
}

export interface NamedBrand extends BrandView {
  brand: string
  isDefault: boolean
}

/** The default brand of a dealer first, then by name. */
export async function listBrands(source: BrandSource, sellerId: string): Promise<NamedBrand[]> {
  const { db, tenantId } = await ownerOfBrands(source, sellerId)
  const rows = await db.query<{ brand: string; isDefault: boolean; settings: BrandSettings }>({
    name: 'brands-list',
    text: `select brand, is_default, settings from brands where tenant_id = $1 order by is_default desc, brand`,
    values: [tenantId],
  })
  return rows.map(({ brand, isDefault, settings }) => ({ brand, isDefault, ...viewOf(tenantId, settings) }))
}

/** The names among these that are no brand of the dealer. */
export async function listUnknownBrands(
  source: BrandSource,
  sellerId: string,
  names: readonly string[],
): Promise<string[]> {
  if (names.length === 0) return []
  const { db, tenantId } = await ownerOfBrands(source, sellerId)
  const rows = await db.query<{ name: string }>({
    name: 'brands-unknown',
    text: `select name from unnest($2::text[]) as asked (name)
           where not exists (select from brands where tenant_id = $1 and brand = name)`,
    values: [tenantId, names],
  })
  return rows.map(({ name }) => name)
}

/** The operator's brand as it is set; its name is the contact's. */
export async function getOperatorBrand(db: BrandReader): Promise<BrandView & { isSet: boolean }> {
  const [row] = await db.query<OperatorRow>({
    name: 'brands-operator',
    text: `select o.contact_name, o.contact_email, o.contact_phone, o.contact_hours, o.brand as operator_settings,
             (select legal_name from operator_details) as legal_name
           from (values (true)) as one (singleton) left join operator_settings o using (singleton)`,
    values: [],
  })
  return { ...viewOf(NIL_TENANT, operatorSettingsOf(row!)), isSet: row!.contactName !== null }
}

/** The content of a picture, a PNG; undefined if no brand has it. */
export async function findPicture(
  db: BrandReader,
  { tenantId, hash }: { tenantId: string; hash: string },
): Promise<Buffer | undefined> {
  const [picture] = await db.query<{ content: Buffer }>({
    name: 'brands-picture',
    text: 'select content from brand_pictures where tenant_id = $1 and picture_hash = $2',
    values: [tenantId, hash],
  })
  return picture?.content
}

/** The picture at an address of ours. */
export async function findPictureAt(
  { db, liveBrands }: BrandSource,
  url: string | undefined,
): Promise<Buffer | undefined> {
  const subject = readPictureName(url?.split('/').at(-1) ?? '')
  return subject && findPicture(liveBrands?.db ?? db, subject)
}

function viewOf(
  tenantId: string,
  { logoLight, logoDark, icon, name = UNNAMED_OPERATOR, ...settings }: BrandSettings,
): BrandView {
  const hashes = { logoLight, logoDark, icon }
  const pictures: BrandView['pictures'] = {}
  for (const slot of PICTURE_SLOTS) {
    const hash = hashes[slot]
    if (hash !== undefined) pictures[slot] = pictureUrl('', tenantId, hash)
  }
  return { settings: { name, ...settings }, pictures }
}
