import { IconWorld } from '@tabler/icons-react'
import { Suspense, use } from 'react'

type Pictures = Readonly<Record<string, string>>

/** Loaded after the page, because the flags together are as large as the page itself. Until they arrive, a grey area stands for them. */
const FILES = [
  () => import('./plain-flags.ts'),
  () => import('./further-flags.ts'),
  () => import('./detailed-flags.ts'),
] as const

const loaded: Promise<Pictures>[] = []

function load(file: number): Promise<Pictures> {
  loaded[file] ??= (FILES[file]?.() ?? Promise.resolve({})).catch(() => ({}))
  return loaded[file]
}

/** The flag of a country, beside its name; a globe for other locations. A picture, because Windows has no flags among its emojis. */
export function Flag({ locationCode }: { locationCode: string }) {
  if (locationCode.startsWith('!')) return <Globe />
  return (
    <Suspense fallback={<span className="flag" />}>
      <Picture locationCode={locationCode} />
    </Suspense>
  )
}

const WIDTH = 18
const HEIGHT = 12

function Picture({ locationCode }: { locationCode: string }) {
  // The next file is loaded only for a flag that the files before it do not have.
  const picture = use(load(0))[locationCode] ?? use(load(1))[locationCode] ?? use(load(2))[locationCode]
  if (picture === undefined) return <Globe />
  const source = `data:image/svg+xml,${encodeURIComponent(picture)}`
  return <img src={source} alt="" width={WIDTH} height={HEIGHT} className="flag" />
}

/** As wide as a flag, so that the names in a list begin below each other. */
function Globe() {
  return <IconWorld width={WIDTH} height={16} aria-hidden="true" className="flag" />
}
