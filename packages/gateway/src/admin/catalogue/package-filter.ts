import { DATA_TYPES, PACKAGE_STATUSES } from '@dealer-esim/contract'
import { type Command, Option } from 'commander'
import type { PackageFilter } from '../../catalogue/packages/read.ts'

export interface FilterOptions {
  country?: string
  keyword?: string
  status?: PackageFilter['status']
  dataType?: PackageFilter['dataType']
  supplier?: string
}

/** The options that say which packages are meant. */
export function withFilterOptions(command: Command): Command {
  return command
    .option('--country <code>', 'that work there, such as JP; !RG regional ones, !GL global ones')
    .option('--keyword <words>', 'with these words in name, code or place')
    .addOption(new Option('--status <status>', 'on sale or not').choices(PACKAGE_STATUSES))
    .addOption(new Option('--data-type <type>', 'how the volume is meant').choices(DATA_TYPES))
    .option('--supplier <name>', 'that this supplier may deliver')
}

export function packageFilter(packageCodes: readonly string[], options: FilterOptions): PackageFilter {
  const { country, keyword, status, dataType, supplier } = options
  return {
    ...{ locationCode: country?.toUpperCase(), keyword, status, dataType, supplier },
    packageCodes: packageCodes.length > 0 ? packageCodes : undefined,
  }
}
