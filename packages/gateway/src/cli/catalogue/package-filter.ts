import { DATA_TYPES, PACKAGE_STATUSES } from '@dealer-esim/contract'
import { type Command, Option } from 'commander'
import type { PackageFilter } from '#catalogue/packages/read-packages.ts'

export interface FilterOptions {
  country?: string
  keyword?: string
  status?: PackageFilter['status']
  dataType?: PackageFilter['dataType']
  supplier?: string
}

/** Adds the options that select packages. */
export function withFilterOptions(command: Command): Command {
  return command
    .option('--country <code>', 'only packages that work in this country, such as JP; !RG: regional, !GL: global')
    .option('--keyword <words>', 'only packages with these words in the name, code or location')
    .addOption(new Option('--status <status>', 'only packages with this status').choices(PACKAGE_STATUSES))
    .addOption(new Option('--data-type <type>', 'only packages of this type').choices(DATA_TYPES))
    .option('--supplier <name>', 'only packages that this supplier can deliver')
}

export function packageFilter(packageCodes: readonly string[], options: FilterOptions): PackageFilter {
  const { country, keyword, status, dataType, supplier } = options
  return {
    ...{ locationCode: country?.toUpperCase(), keyword, status, dataType, supplier },
    packageCodes: packageCodes.length > 0 ? packageCodes : undefined,
  }
}
