import { IconWorld } from '@tabler/icons-react'
import * as flags from 'country-flag-icons/string/3x2'

const pictures: Readonly<Record<string, string>> = flags

/** The flag of a country, beside its name; a globe for other locations. A picture, because Windows has no flags among its emojis. */
export function Flag({ locationCode }: { locationCode: string }) {
  const picture = pictures[locationCode]
  if (picture === undefined) return <IconWorld size={16} aria-hidden="true" className="flag" />
  return (
    <img src={`data:image/svg+xml,${encodeURIComponent(picture)}`} alt="" width={18} height={12} className="flag" />
  )
}
