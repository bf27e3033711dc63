import Type, { type Static } from 'typebox'
import { type BrandInput, brandMembers } from '#brands/brand-members.ts'
import { PICTURE_SLOTS } from '#brands/brand-settings.ts'
import { PICTURE_SIZE_MAX_BYTES } from '#brands/draw-picture.ts'
import { listBrands } from '#brands/list-brands.ts'
import { deleteBrand, type PictureFiles, putBrand } from '#brands/put-brand.ts'
import { EVERY_ROLE, type Route, route, TENANT_ADMINS } from '../kernel/route.ts'
import { brandName, CLOSED, nullable, tenantParams, uuid } from '../kernel/route-schemas.ts'

/** In base64, three pictures of the largest size and the texts. */
export const BODY_SIZE_MAX_BYTES = 3 * 1024 * 1024
export const LARGE_BODY_ADVICE = 'Choose pictures below 512 kB.'

const address = () => Type.Optional(Type.String({ description: 'Relative to PUBLIC_URL, and to /console' }))
export const brandView = Type.Object({
  settings: Type.Object(brandMembers),
  pictures: Type.Object({ logoLight: address(), logoDark: address(), icon: address() }),
})
const namedBrand = Type.Object({ brand: Type.String(), isDefault: Type.Boolean(), ...brandView.properties })
const brandList = Type.Object({ brandList: Type.Array(namedBrand) })
export type BrandListView = Static<typeof brandList>
export type NamedBrandView = Static<typeof namedBrand>

const picture = () =>
  Type.Optional(
    nullable(
      Type.String({
        maxLength: Math.ceil(PICTURE_SIZE_MAX_BYTES / 3) * 4,
        pattern: '^[A-Za-z0-9+/]*={0,2}$',
        description: 'A PNG, JPEG, WebP or SVG file in base64; null removes the picture',
      }),
    ),
  )
export const pictures = Type.Optional(
  Type.Object(
    { logoLight: picture(), logoDark: picture(), icon: picture() },
    { ...CLOSED, description: 'Only what changes: pictures that are not named stay' },
  ),
)

const brandParams = Type.Object({ tenantId: uuid(), brand: brandName() }, CLOSED)

export const brandRoutes: Route[] = [
  route('GET /tenants/:tenantId/brands', {
    access: EVERY_ROLE,
    // A test twin has those of its dealer, which are changed outside of test mode.
    testMode: 'TWIN',
    summary: 'The brands under which a dealer’s travellers see it, the default one first',
    params: tenantParams,
    answer: brandList,
    handle: async ({ deps }, { params }) => ({ brandList: await listBrands(deps, params.tenantId) }),
  }),
  route('PUT /tenants/:tenantId/brands/:brand', {
    access: TENANT_ADMINS,
    summary: 'Create or replace a brand of a dealer. The first one is the default. Audited',
    params: brandParams,
    body: Type.Object({ ...brandMembers, pictures, isDefault: Type.Optional(Type.Boolean()) }, CLOSED),
    limit: 'upload',
    bodyLimit: BODY_SIZE_MAX_BYTES,
    largeBodyAdvice: LARGE_BODY_ADVICE,
    handle: ({ deps, by }, { params, body: { isDefault = false, ...body } }) =>
      putBrand(deps, params, { ...changeOf(body), isDefault }, by),
  }),
  route('DELETE /tenants/:tenantId/brands/:brand', {
    access: TENANT_ADMINS,
    summary: 'Delete a brand of a dealer; what was sent under it shows the default one. Audited',
    params: brandParams,
    handle: ({ deps, by }, { params }) => deleteBrand(deps, params, by),
  }),
]

export function changeOf(body: BrandInput & { pictures?: Static<typeof pictures> }): {
  input: BrandInput
  pictures: PictureFiles
} {
  const { pictures: sent = {}, ...input } = body
  const files: PictureFiles = {}
  for (const slot of PICTURE_SLOTS) {
    const file = sent[slot]
    if (file !== undefined) files[slot] = file === null ? null : Buffer.from(file, 'base64')
  }
  return { input, pictures: files }
}
