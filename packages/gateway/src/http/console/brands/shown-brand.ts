import { type BrandColours, brandColours, CONSOLE_SURFACES, readableOn } from '@dealer-esim/contract'
import { type Brand, brandFor, UNNAMED_OPERATOR } from '#brands/brand.ts'
import type { BrandReader } from '#brands/brand-source.ts'

/** The operator's brand, as the console's page brings it along. */
export interface ShownBrand {
  name: string
  /** Relative to /console/. */
  logoLight?: string
  logoDark?: string
  icon?: string
  /** Absent: the console's own colours. */
  colours?: Record<'light' | 'dark', ShownColours>
}

interface ShownColours {
  /** Edges of buttons, check boxes, whatever is seen by its shape: a contrast of 3. */
  accent: string
  onAccent: string
  /** Buttons: the accent as chosen. */
  fill: string
  onFill: string
  /** Further from the colour of its text, so that this stays readable. */
  hover: string
  text: string
  soft: string
}

/** The page must not wait for a database that does not answer: it then shows the brand of the last time. */
const READ_MS = 1_000

/** @returns undefined before the operator has set a brand, or while it is not known */
export function createShownBrand(db: BrandReader): () => Promise<ShownBrand | undefined> {
  let last: ShownBrand | undefined
  const read = async () => {
    last = shownOf(await brandFor({ db, links: { publicUrl: '' } }, null, null))
    return last
  }
  const readInTime = () => {
    const timeOut = new Promise<ShownBrand | undefined>((resolve) => {
      setTimeout(() => resolve(last), READ_MS).unref()
    })
    return Promise.race([read().catch(() => last), timeOut])
  }
  let reading: Promise<ShownBrand | undefined> | undefined
  // Pages that are requested meanwhile share it: one caller requests a thousand a second.
  return () => {
    reading ??= readInTime().finally(() => {
      reading = undefined
    })
    return reading
  }
}

function shownOf(brand: Brand): ShownBrand | undefined {
  const { name, logoLight, logoDark, icon, accent } = brand
  if (name === UNNAMED_OPERATOR) return undefined
  const colours = accent === undefined ? undefined : brandColours(accent, CONSOLE_SURFACES)
  return {
    name,
    ...(logoLight && { logoLight: logoLight.slice(1) }),
    ...(logoDark && { logoDark: logoDark.slice(1) }),
    ...(icon && { icon: icon.slice(1) }),
    ...(colours && { colours: { light: schemeOf(colours, 'light'), dark: schemeOf(colours, 'dark') } }),
  }
}

function schemeOf({ accent, onAccent, ...schemes }: BrandColours, scheme: 'light' | 'dark'): ShownColours {
  const { text, edge, tint } = schemes[scheme]
  const hover = `color-mix(in oklab, ${accent} 88%, ${onAccent === '#ffffff' ? '#000' : '#fff'})`
  return { accent: edge, onAccent: readableOn(edge), fill: accent, onFill: onAccent, hover, text, soft: tint }
}
