import { readFile } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { Refusal } from '@dealer-esim/lib/refusal.ts'
import type { Command } from 'commander'
import Type from 'typebox'
import Value from 'typebox/value'
import { type BrandInput, brandMembers } from '#brands/brand-members.ts'
import { PICTURE_SLOTS } from '#brands/brand-settings.ts'
import { type BrandView, getOperatorBrand, listBrands, type NamedBrand } from '#brands/list-brands.ts'
import { deleteBrand, type PictureFiles, putBrand, putOperatorBrand } from '#brands/put-brand.ts'
import { getTenantId } from '#tenants/tenant-views.ts'
import type { AdminDeps } from './kernel/cli-deps.ts'
import { UsageError } from './kernel/cli-failure.ts'
import { type AdminContext, jsonText } from './kernel/context.ts'
import { table } from './kernel/text-table.ts'

interface Options {
  tenant?: string
  brand?: string
  default?: boolean
}

const FILE_HELP = `
A file has what docs/brands.md lists, as JSON, and the paths of pictures beside it. What it leaves out is not set:
  {"name": "Lotus Travel", "accent": "#b8336a", "supportEmail": "care@lotus.example", "logoLight": "logo.svg"}

Examples:
  npm run -s admin -- brand set meridian.json
  npm run -s admin -- brand set lotus.json --tenant ID --brand lotus`

/** The operator's brand without --tenant, a dealer's with it. */
export function brandCommands(brand: Command, context: AdminContext): void {
  const { by } = context
  brand
    .command('list')
    .description("List a dealer's brands, the default one first.")
    .requiredOption('--tenant <id>', 'the dealer')
    .action((options: Options) =>
      context.withDeps(async (deps) => {
        const brands = await listBrands(deps, await getTenantId(deps.db, options.tenant!))
        const columns = [
          { title: 'brand', value: (one: NamedBrand) => one.brand },
          { title: 'name', value: (one: NamedBrand) => one.settings.name },
          { title: '', value: (one: NamedBrand) => (one.isDefault ? 'default' : '') },
        ]
        context.print(table(brands, columns, 'The dealer has no brand: its travellers see the operator’s.'), brands)
      }),
    )
  brand
    .command('show')
    .description('Print a brand as a file that `brand set` reads, without its pictures.')
    .option('--tenant <id>', "the dealer; without it, the operator's own brand")
    .option('--brand <name>', 'one of the dealer')
    .action((options: Options) =>
      context.withDeps(async (deps) => {
        const { settings } = await findView(deps, options)
        context.print(jsonText(settings), settings)
      }),
    )
  brand
    .command('set')
    .description('Create a brand, or replace it, from a file. The first brand of a dealer is its default one.')
    .argument('<file>', 'JSON')
    .option('--tenant <id>', "the dealer; without it, the operator's own brand")
    .option('--brand <name>', 'one of the dealer')
    .option('--default', 'make it the default one')
    .addHelpText('after', FILE_HELP)
    .action((file: string, options: Options) =>
      context.withDeps(async (deps) => {
        const change = await readBrandFile(file)
        if (options.tenant === undefined) {
          await putOperatorBrand(deps, change, by)
        } else {
          const subject = { tenantId: await getTenantId(deps.db, options.tenant), brand: nameOf(options) }
          await putBrand(deps, subject, { ...change, isDefault: options.default === true }, by)
        }
        context.print(`The brand “${change.input.name}” is set.`, { name: change.input.name })
      }),
    )
  brand
    .command('delete')
    .description('Delete a brand of a dealer; what was sent under it shows the default one.')
    .requiredOption('--tenant <id>', 'the dealer')
    .requiredOption('--brand <name>', 'one of the dealer')
    .action((options: Options) =>
      context.withDeps(async (deps) => {
        const subject = { tenantId: await getTenantId(deps.db, options.tenant!), brand: nameOf(options) }
        await deleteBrand(deps, subject, by)
        context.print(`The brand “${subject.brand}” is deleted.`, subject)
      }),
    )
}

function nameOf({ brand }: Options): string {
  if (brand === undefined || !/^[a-z0-9-]{1,32}$/.test(brand))
    throw new UsageError('--brand takes 1 to 32 small letters, digits and hyphens.')
  return brand
}

async function findView(deps: AdminDeps, options: Options): Promise<BrandView> {
  if (options.tenant === undefined) return getOperatorBrand(deps.db)
  const name = nameOf(options)
  const brands = await listBrands(deps, await getTenantId(deps.db, options.tenant))
  const found = brands.find(({ brand }) => brand === name)
  if (found === undefined) throw new Refusal(404, 'NOT_FOUND', `The dealer has no brand “${name}”.`)
  return found
}

const path = () => Type.Optional(Type.Union([Type.String({ minLength: 1, maxLength: 1_000 }), Type.Null()]))
const brandFile = Type.Object(
  { ...brandMembers, logoLight: path(), logoDark: path(), icon: path() },
  { additionalProperties: false },
)

/** The settings of a file, and its pictures, whose paths are relative to it. */
async function readBrandFile(file: string): Promise<{ input: BrandInput; pictures: PictureFiles }> {
  const text = await readFile(file, 'utf8')
  let parsed: unknown
  try {
    parsed = JSON.parse(text)
  } catch (error) {
    throw new Refusal(422, 'FILE_INVALID', `${file} is not JSON: ${(error as Error).message}`)
  }
  if (!Value.Check(brandFile, parsed)) {
    const [fault] = Value.Errors(brandFile, parsed)
    const where = fault?.instancePath.slice(1).replaceAll('/', '.') || 'the file'
    // What a closed schema says of a member that it does not have.
    const reason = fault?.message === 'schema is false' ? 'is not a member of a brand' : fault?.message
    throw new Refusal(422, 'FILE_INVALID', `${file}: ${where} ${reason}.`)
  }
  const { logoLight, logoDark, icon, ...input } = parsed
  const paths = { logoLight, logoDark, icon }
  const pictures: PictureFiles = {}
  for (const slot of PICTURE_SLOTS) {
    const picture = paths[slot]
    pictures[slot] = picture ? await readFile(resolve(dirname(file), picture)) : null
  }
  return { input, pictures }
}
