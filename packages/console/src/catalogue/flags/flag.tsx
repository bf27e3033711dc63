import { IconWorld } from '@tabler/icons-react'
import { Suspense, use } from 'react'

type Pictures = Readonly<Record<string, string>>

/** Loaded after the page, because the flags together are as large as the page itself. Until they arrive, a globe is shown. */
const loaded: { plain?: Promise<Pictures>; detailed?: Promise<Pictures> } = {}

function loadPlain(): Promise<Pictures> {
  loaded.plain ??= import('./plain-flags.ts').catch(() => ({}))
  return loaded.plain
}

function loadDetailed(): Promise<Pictures> {
  loaded.detailed ??= import('./detailed-flags.ts').catch(() => ({}))
  return loaded.detailed
}

/** The flag of a country, beside its name; a globe for other locations. A picture, because Windows has no flags among its emojis. */
export function Flag({ locationCode }: { locationCode: string }) {
  if (locationCode.startsWith('!')) return <Globe />
  return (
    <Suspense fallback={<span className="flag" style={{ display: 'inline-block', width: WIDTH, height: HEIGHT }} />}>
      <Picture locationCode={locationCode} />
    </Suspense>
  )
}

const WIDTH = 18
const HEIGHT = 12

function Picture({ locationCode }: { locationCode: string }) {
  const picture = use(loadPlain())[locationCode] ?? use(loadDetailed())[locationCode]
  if (picture === undefined) return <Globe />
  const source = `data:image/svg+xml,${encodeURIComponent(picture)}`
  return <img src={source} alt="" width={WIDTH} height={HEIGHT} className="flag" />
}

function Globe() {
  return <IconWorld size={16} aria-hidden="true" className="flag" />
}
