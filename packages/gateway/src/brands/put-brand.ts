import type { Ids } from '@dealer-esim/lib/ids.ts'
import type { Db, Tx } from '@dealer-esim/lib/postgres/db.ts'
import { notFound, Refusal } from '@dealer-esim/lib/refusal.ts'
import sql from 'sql-template-tag'
import { audit, type By, NIL_TENANT } from '#platform/audit/audit.ts'
import { type BrandInput, checkBrand } from './brand-members.ts'
import { type BrandSettings, PICTURE_SLOTS, type PictureSlot } from './brand-settings.ts'
import { type DrawnPicture, drawPicture } from './draw-picture.ts'

interface BrandDeps {
  db: Db
  ids: Ids
}

/** A file for each picture that changes; null removes it. */
export type PictureFiles = Partial<Record<PictureSlot, Buffer | null>>

export interface BrandChange {
  input: BrandInput
  pictures: PictureFiles
  /** Makes it the brand where none is named. The first brand of a dealer is. */
  isDefault?: boolean
}

/** A dealer chooses among them in a list. */
export const BRANDS_MAX = 20

/**
 * Creates or replaces a brand of a dealer. Audited.
 * @throws Refusal for what is malformed, and beyond BRANDS_MAX
 */
export async function putBrand(
  { db, ids }: BrandDeps,
  { tenantId, brand }: { tenantId: string; brand: string },
  change: BrandChange,
  by: By,
): Promise<void> {
  const settings = checkBrand(change.input)
  const drawn = await drawAll(change.pictures)
  await db.tx(async (tx) => {
    const others = await lockBrands(tx, tenantId)
    const before = others.find((one) => one.brand === brand)
    if (before === undefined && others.length >= BRANDS_MAX)
      throw new Refusal(409, 'TOO_MANY_BRANDS', `A dealer has at most ${BRANDS_MAX} brands. Delete one first.`)
    const isDefault = change.isDefault === true || before?.isDefault === true || others.length === 0
    const after = withPictures(settings, before?.settings, change.pictures, drawn)
    if (isDefault)
      tx.send(sql`
        update brands set is_default = false where tenant_id = ${tenantId} and is_default and brand <> ${brand}`)
    tx.send(sql`
      insert into brands (tenant_id, brand, is_default, settings)
      values (${tenantId}, ${brand}, ${isDefault}, ${JSON.stringify(after)})
      on conflict (tenant_id, brand) do update
      set is_default = excluded.is_default, settings = excluded.settings, updated_at = now()`)
    savePictures(tx, tenantId, drawn)
    audit(tx, ids, {
      ...{ tenantId, action: 'brand.set', subject: brand, ...by },
      before: before && { isDefault: before.isDefault, ...before.settings },
      after: { isDefault, ...after },
    })
  })
}

/** Deletes a brand of a dealer; what was sent under it shows the default one. Audited. @throws Refusal */
export async function deleteBrand(
  { db, ids }: BrandDeps,
  { tenantId, brand }: { tenantId: string; brand: string },
  by: By,
): Promise<void> {
  await db.tx(async (tx) => {
    const all = await lockBrands(tx, tenantId)
    const before = all.find((one) => one.brand === brand)
    if (before === undefined) throw notFound('brand')
    if (before.isDefault && all.length > 1)
      throw new Refusal(409, 'BRAND_IS_DEFAULT', `“${brand}” is the default brand. Make another one the default first.`)
    tx.send({ text: 'delete from brands where tenant_id = $1 and brand = $2', values: [tenantId, brand] })
    savePictures(tx, tenantId, [])
    audit(tx, ids, { tenantId, action: 'brand.delete', subject: brand, before: before.settings, ...by })
  })
}

/** Sets the operator's own brand, of which the contact is a part. Audited. @throws Refusal for what is malformed */
export async function putOperatorBrand(
  { db, ids }: BrandDeps,
  { input, pictures }: Omit<BrandChange, 'isDefault'>,
  by: By,
): Promise<void> {
  const { name, supportEmail, supportPhone, supportHours, ...settings } = checkBrand(input)
  const contact = [name, supportEmail, supportPhone, supportHours].map((value) => value ?? null)
  const drawn = await drawAll(pictures)
  await db.tx(async (tx) => {
    tx.send({ text: 'insert into operator_settings default values on conflict do nothing', values: [] })
    const [before] = await tx.query<{ brand: BrandSettings | null }>(sql`
      select contact_name, contact_email, contact_phone, contact_hours, brand from operator_settings for update`)
    const after = withPictures(settings, before!.brand ?? undefined, pictures, drawn)
    tx.send({
      text: `update operator_settings set contact_name = $1, contact_email = $2, contact_phone = $3, contact_hours = $4, brand = $5`,
      values: [...contact, JSON.stringify(after)],
    })
    savePictures(tx, NIL_TENANT, drawn)
    const [contactName, contactEmail, contactPhone, contactHours] = contact
    audit(tx, ids, {
      ...{ tenantId: null, action: 'brand.set', before, ...by },
      after: { contactName, contactEmail, contactPhone, contactHours, brand: after },
    })
  })
}

interface StoredBrand {
  brand: string
  isDefault: boolean
  settings: BrandSettings
}

/** Locks the dealer, so that its brands change one after another. @throws Refusal if there is no such dealer */
async function lockBrands(tx: Tx, tenantId: string): Promise<StoredBrand[]> {
  const [tenant] = await tx.query(sql`select from tenants where tenant_id = ${tenantId} for no key update`)
  if (tenant === undefined) throw notFound('dealer')
  return tx.query<StoredBrand>(sql`select brand, is_default, settings from brands where tenant_id = ${tenantId}`)
}

type Drawn = { slot: PictureSlot; picture: DrawnPicture }[]

async function drawAll(pictures: PictureFiles): Promise<Drawn> {
  const drawn: Drawn = []
  // One after another: each takes the memory of its pixels.
  for (const slot of PICTURE_SLOTS) {
    const file = pictures[slot]
    if (file) drawn.push({ slot, picture: await drawPicture(slot, file) })
  }
  return drawn
}

/** Pictures that the change does not name stay. */
function withPictures(
  settings: BrandSettings,
  before: BrandSettings | undefined,
  pictures: PictureFiles,
  drawn: Drawn,
): BrandSettings {
  const after = { ...settings }
  for (const slot of PICTURE_SLOTS) {
    const hash = pictures[slot] === undefined ? before?.[slot] : drawn.find((one) => one.slot === slot)?.picture.hash
    if (hash !== undefined) after[slot] = hash
  }
  return after
}

/** Saves new pictures, and deletes those that no brand of the owner names any more. Call it after the brand was written. */
function savePictures(tx: Tx, tenantId: string, drawn: Drawn): void {
  for (const { picture } of drawn) {
    tx.send(sql`
      insert into brand_pictures (tenant_id, picture_hash, content)
      values (${tenantId}, ${picture.hash}, ${picture.content}) on conflict do nothing`)
  }
  tx.send({
    text: `delete from brand_pictures p where tenant_id = $1
           and not exists (
             select from brands b where b.tenant_id = p.tenant_id and ${names('b.settings')})
           and not (p.tenant_id = '${NIL_TENANT}' and exists (select from operator_settings o where ${names('o.brand')}))`,
    values: [tenantId],
  })
}

/** SQL: the settings name the picture p. */
function names(settings: string): string {
  return `p.picture_hash in (${PICTURE_SLOTS.map((slot) => `${settings} ->> '${slot}'`).join(', ')})`
}
