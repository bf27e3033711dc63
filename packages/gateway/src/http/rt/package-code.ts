import type { Snapshot } from '#catalogue/catalogue.ts'
import { listPackages } from '#catalogue/snapshot/list-packages.ts'
import type { RtCall } from './rt-call.ts'

/**
 * Finds the packageCode for a name: programs send a slug where a packageCode is expected. An unknown name is returned
 * unchanged.
 */
export function packageCodeOf(
  catalogue: Snapshot,
  buyer: RtCall['tenant'],
  { member, name, type }: { member: 'packageCode' | 'slug'; name: string; type: 'BASE' | 'TOPUP' },
): string {
  const isCode = () => catalogue.find(name) !== undefined
  if (member === 'packageCode' && isCode()) return name
  const [item] = listPackages(catalogue, buyer, { slug: name, type, pageSize: 1 }).packageList
  return item?.packageCode ?? name
}
