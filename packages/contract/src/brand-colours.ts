/** The colours of a page, mail or card under one brand, as `#rrggbb`. All are computed from its one accent colour. */
export interface BrandColours {
  /** As chosen: buttons. */
  accent: string
  /** Text on the accent: white where it has a contrast of 4.5, else black. */
  onAccent: string
  light: SchemeColours
  dark: SchemeColours
}

/** What differs between the light and the dark scheme. */
export interface SchemeColours {
  /** Links and icons: a contrast of 4.5 on the ground, on cards and on the tint. */
  text: string
  /** The border of a button: a contrast of 3, so that a white or a black button keeps its shape. */
  edge: string
  /** A background that carries ordinary text, never white text. */
  tint: string
}

/** The accent of a brand that has none. */
export const DEFAULT_ACCENT = '#14655a'

/** An accent colour as it is stored, such as `#f5b800`. */
export const ACCENT_PATTERN = '^#[0-9a-f]{6}$'

/** The smallest contrast of text (WCAG 2.2 §1.4.3) and of the shape of a control (§1.4.11). */
export const TEXT_CONTRAST_MIN = 4.5
export const SHAPE_CONTRAST_MIN = 3

type Surfaces = Readonly<Record<'light' | 'dark', readonly [ground: string, card: string, ...others: string[]]>>

/** What brand colours lie on in mails and on travellers' pages. */
export const BRAND_SURFACES = {
  light: ['#f6f5f1', '#ffffff'],
  dark: ['#111416', '#1b1f22'],
} as const satisfies Surfaces

/** What they lie on in the console: canvas, surface, and what is hovered or raised. */
export const CONSOLE_SURFACES = {
  light: ['#f6f5f2', '#ffffff', '#f3f1ed'],
  dark: ['#101214', '#191c1f', '#22262a'],
} as const satisfies Surfaces

/** The share of the accent in the tint, mixed with the card. */
const TINT_SHARE = { light: 0.09, dark: 0.16 } as const
const LIGHTNESS_STEP = 0.01

/** Computes the colours of an accent, whichever it is: `#f5b800` has black text on buttons and `#8f6a00` for links. */
export function brandColours(accent: string, surfaces: Surfaces = BRAND_SURFACES): BrandColours {
  return {
    accent,
    onAccent: readableOn(accent),
    light: coloursIn('light', accent, surfaces.light),
    dark: coloursIn('dark', accent, surfaces.dark),
  }
}

/** White or black: one of them has a contrast of 4.5 on any colour. */
export function readableOn(colour: string): string {
  return contrastOf('#ffffff', colour) >= TEXT_CONTRAST_MIN ? '#ffffff' : '#000000'
}

function coloursIn(scheme: 'light' | 'dark', accent: string, surfaces: Surfaces['light']): SchemeColours {
  const tint = mix(accent, surfaces[1], TINT_SHARE[scheme])
  const step = scheme === 'light' ? -LIGHTNESS_STEP : LIGHTNESS_STEP
  return {
    text: shift(accent, step, [...surfaces, tint], TEXT_CONTRAST_MIN),
    edge: shift(accent, step, surfaces, SHAPE_CONTRAST_MIN),
    tint,
  }
}

/** The contrast of two colours by WCAG 2, from 1 to 21. */
export function contrastOf(left: string, right: string): number {
  const [one, other] = [luminanceOf(left), luminanceOf(right)]
  return (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05)
}

function luminanceOf(colour: string): number {
  const [red, green, blue] = linearOf(colour)
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}

/** Changes the lightness of a colour until it has the contrast on each surface. Black and white always have it. */
function shift(colour: string, step: number, surfaces: readonly string[], contrastMin: number): string {
  const { lightness, chroma, hue } = polarOf(labOf(colour))
  let shifted = colour
  for (let steps = 1; surfaces.some((surface) => contrastOf(shifted, surface) < contrastMin); steps++) {
    const next = lightness + steps * step
    if (next <= 0 || next >= 1) return step < 0 ? '#000000' : '#ffffff'
    shifted = colourOf(next, chroma, hue)
  }
  return shifted
}

function mix(colour: string, base: string, share: number): string {
  const [one, other] = [labOf(colour), labOf(base)]
  return hexOf(linearOfLab(one.map((value, index) => value * share + other[index]! * (1 - share)) as Triple))
}

// OKLab and OKLCH by Björn Ottosson (https://bottosson.github.io/posts/oklab/): equal steps of lightness look equal.

type Triple = [number, number, number]

interface Polar {
  lightness: number
  chroma: number
  hue: number
}

/** The colour of a lightness and hue, with as much of the chroma as sRGB has. */
function colourOf(lightness: number, chroma: number, hue: number): string {
  const at = (part: number) => linearOfLab([lightness, part * Math.cos(hue), part * Math.sin(hue)])
  if (isInSrgb(at(chroma))) return hexOf(at(chroma))
  let [low, high] = [0, chroma]
  for (let round = 0; round < CHROMA_ROUNDS; round++) {
    const middle = (low + high) / 2
    if (isInSrgb(at(middle))) low = middle
    else high = middle
  }
  return hexOf(at(low))
}

/** Each round halves the step: the last one is finer than one in 255. */
const CHROMA_ROUNDS = 20
const ROUNDING = 1e-6

function isInSrgb(linear: Triple): boolean {
  return linear.every((value) => value >= -ROUNDING && value <= 1 + ROUNDING)
}

function polarOf([lightness, a, b]: Triple): Polar {
  return { lightness, chroma: Math.hypot(a, b), hue: Math.atan2(b, a) }
}

function linearOf(colour: string): Triple {
  const channel = (at: number) => {
    const value = Number.parseInt(colour.slice(at, at + 2), 16) / 255
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4
  }
  return [channel(1), channel(3), channel(5)]
}

function hexOf(linear: Triple): string {
  const channels = linear.map((value) => {
    const within = Math.min(1, Math.max(0, value))
    const encoded = within <= 0.0031308 ? within * 12.92 : 1.055 * within ** (1 / 2.4) - 0.055
    return Math.round(encoded * 255)
      .toString(16)
      .padStart(2, '0')
  })
  return `#${channels.join('')}`
}

function labOf(colour: string): Triple {
  const [red, green, blue] = linearOf(colour)
  const l = Math.cbrt(0.4122214708 * red + 0.5363325363 * green + 0.0514459929 * blue)
  const m = Math.cbrt(0.2119034982 * red + 0.6806995451 * green + 0.1073969566 * blue)
  const s = Math.cbrt(0.0883024619 * red + 0.2817188376 * green + 0.6299787005 * blue)
  return [
    0.2104542553 * l + 0.793617785 * m - 0.0040720468 * s,
    1.9779984951 * l - 2.428592205 * m + 0.4505937099 * s,
    0.0259040371 * l + 0.7827717662 * m - 0.808675766 * s,
  ]
}

function linearOfLab([lightness, a, b]: Triple): Triple {
  const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3
  const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3
  const s = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3
  return [
    4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
    -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
    -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s,
  ]
}
