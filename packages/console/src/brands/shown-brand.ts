import type { ShownBrand } from '@dealer-esim/gateway/http/console/brands/shown-brand.ts'
import { t } from '#strings/strings.ts'

/** The operator's brand, which the gateway wrote into the page; undefined before the operator has set one. */
export const shownBrand = read()

/** In the title of the page, and on the sign-in page. */
export const consoleName = shownBrand?.name ?? t.common.product

function read(): ShownBrand | undefined {
  const text = document.querySelector<HTMLMetaElement>('meta[name=brand]')?.content
  return text ? (JSON.parse(text) as ShownBrand) : undefined
}

/** Gives the tokens of tokens.css the brand's colours. */
export function wearBrand(): void {
  if (!shownBrand?.colours) return
  const { light, dark } = shownBrand.colours
  const sheet = new CSSStyleSheet()
  sheet.replaceSync(`${ruleOf('light', light)}${ruleOf('dark', dark)}`)
  document.adoptedStyleSheets.push(sheet)
}

type Colours = NonNullable<ShownBrand['colours']>['light']

function ruleOf(scheme: 'light' | 'dark', { accent, onAccent, fill, onFill, hover, text, soft }: Colours): string {
  return `:root[data-mantine-color-scheme='${scheme}']{--accent:${accent};--accent-hover:${hover};--on-accent:${onAccent};--accent-fill:${fill};--on-fill:${onFill};--accent-text:${text};--accent-soft:${soft};--chart:${text}}`
}
