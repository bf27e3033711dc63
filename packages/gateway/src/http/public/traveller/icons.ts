/* Our own drawings, as symbols of one hidden SVG at the start of a page, of which each page has only those that it uses. */

const LINE = {
  wifi: '<path d="M2.5 9.500a14 14 0 0 1 19 0M5.8 13a9.2 9.2 0 0 1 12.4 0M9 16.500a4.5 4.5 0 0 1 6 0"/><circle cx="12" cy="19.5" r=".6" fill="currentColor"/>',
  phone: '<rect x="6.5" y="2.5" width="11" height="19" rx="2.5"/><path d="M10.5 5.500h3M12 11v5m0 0-2-2m2 2 2-2"/>',
  other: '<rect x="2.5" y="4.5" width="9" height="15" rx="2"/><rect x="14.5" y="8.5" width="7" height="11" rx="1.6"/>',
  down: '<path d="m8 10 4 4 4-4"/>',
  keys: '<rect x="3" y="5" width="18" height="14" rx="2.5"/><path d="M7 10h.01M10.3 10h.01M13.7 10h.01M17 10h.01M8 14.500h8"/>',
  signal: '<path d="M4.5 20v-3M9.5 20v-7M14.5 20V9M17.5 3.500l4 4m0-4-4 4"/>',
  question:
    '<circle cx="12" cy="12" r="9"/><path d="M9.5 9.500a2.5 2.5 0 1 1 3.6 2.200c-.8.4-1.1.9-1.1 1.8"/><circle cx="12" cy="16.6" r=".6" fill="currentColor"/>',
  mail: '<rect x="3" y="5" width="18" height="14" rx="2.5"/><path d="m4 7 8 6 8-6"/>',
  call: '<path d="M5 3.500h3.200l1.6 4.3-2 1.600a12 12 0 0 0 6.8 6.800l1.6-2 4.3 1.600V19a1.7 1.7 0 0 1-1.8 1.700A16 16 0 0 1 3.3 5.3 1.7 1.7 0 0 1 5 3.500z"/>',
  clock: '<circle cx="12" cy="12" r="9"/><path d="M12 7v5.200l3.3 2"/>',
  globe: '<circle cx="12" cy="12" r="9"/><path d="M3.2 12h17.600M12 3c5 5.4 5 12.6 0 18M12 3c-5 5.4-5 12.6 0 18"/>',
  save: '<path d="M12 4v11m0 0-4-4m4 4 4-4M4.5 19.500h15"/>',
  plus: '<path d="M12 5v14M5 12h14"/>',
  home: '<path d="M4 11.5 12 4l8 7.500M6.5 10v9.500h11V10"/>',
} as const

const BODY = '<path class="s" d="M18 84V23a9 9 0 0 1 9-9h30a9 9 0 0 1 9 9v61"/>'
/** The top of the screen: an iPhone's, and that of a Pixel or a Galaxy. */
const TOPS = {
  i: '<rect class="S" x="35" y="19" width="14" height="4" rx="2"/>',
  p: '<circle class="S" cx="42" cy="21" r="2.2"/>',
  g: '<circle class="S" cx="42" cy="19" r="1.6"/><path class="s l" d="M33 80h18"/>',
} as const
/** What the screen shows at each step. */
const SCREENS = {
  install:
    '<path class="a" d="M36 31h8l6 6v13a2 2 0 0 1-2 2H36a2 2 0 0 1-2-2V33a2 2 0 0 1 2-2zM38 41h8v6h-8z"/><rect class="A" x="24" y="59" width="36" height="11" rx="5.5"/>',
  scan: '<path class="a" d="M27 40v-6h6M51 34h6v6M57 58v6h-6M33 64h-6v-6"/><path class="s" d="M33 40h6v6h-6zM45 40h6v6h-6zM33 52h6v6h-6zM46 53h1M51 58h-2"/>',
  name: '<rect class="s l" x="24" y="33" width="36" height="14" rx="4"/><path class="s l" d="M30 40h14"/><rect class="a" x="24" y="53" width="36" height="18" rx="4"/><path class="a" d="M30 62h12M49 62l2 2 4-4"/>',
  data: '<path class="a" d="M36 52V33m0 0-5.5 5.500M36 33l5.5 5.500M48 33v19m0 0-5.5-5.500M48 52l5.5-5.5"/><path class="s l" d="M25 62h34M25 72h20"/><circle class="A" cx="55" cy="72" r="3"/>',
  roam: '<circle class="s" cx="42" cy="41" r="12"/><path class="s" d="M30 41h24M42 29c7 7 7 17 0 24M42 29c-7 7-7 17 0 24"/><rect class="A" x="27" y="60" width="30" height="15" rx="7.5"/><circle cx="49.5" cy="67.5" r="5.5" fill="var(--card)"/>',
} as const

const SCENES = {
  ended:
    '<path class="s l" d="M14 122h172"/><path class="s" d="M62 52v-9a9 9 0 0 1 9-9h22a9 9 0 0 1 9 9v9M54 116v6M110 116v6"/><rect class="s" x="40" y="52" width="84" height="64" rx="10"/><path class="s l" d="M60 52v64M104 52v64"/><path class="a" d="M124 66l11 7v20h-18V73z"/><circle class="A" cx="166" cy="34" r="10"/>',
  replaced:
    '<path class="s l" d="M14 122h172"/><path class="s l" d="M34 40h60v14a8 8 0 0 0 0 16v14H34V70a8 8 0 0 0 0-16z"/><path class="a" d="M70 104c14 8 30 6 38-6m0 0-9 1m9-1 2 9"/><path class="s" d="M106 34h62v18a9 9 0 0 0 0 18v18h-62V70a9 9 0 0 0 0-18z"/><path class="a" d="m124 61 9 9 17-19"/>',
  mistyped:
    '<path class="s l" d="M14 122h172"/><path class="s" d="M88 58 72 74a17 17 0 0 0 24 24l13-13M112 74l16-16a17 17 0 0 0-24-24L91 47"/><path class="a" d="m76 40-8-9M66 52l-12-3M88 34l-2-12M124 92l8 9M134 80l12 3M112 98l2 12"/>',
} as const

export type IconName = keyof typeof LINE
export type SceneName = keyof typeof SCENES
export type PhoneMaker = keyof typeof TOPS
export type StepPicture = keyof typeof SCREENS

export function icon(name: IconName, classes = ''): string {
  return `<svg class="i${classes && ` ${classes}`}" aria-hidden="true"><use href="#${name}"/></svg>`
}

/** A phone's screen at one step of the installation. */
export function stepPicture(maker: PhoneMaker, picture: StepPicture): string {
  return `<svg class="pic" viewBox="0 0 84 84" aria-hidden="true"><use href="#top-${maker}"/><use href="#${picture}"/></svg>`
}

export function scene(name: SceneName): string {
  return `<svg class="scene" viewBox="0 0 200 140" aria-hidden="true">${SCENES[name]}</svg>`
}

/** The symbols that the HTML refers to. */
export function symbolsFor(html: string): string {
  const used = new Set([...html.matchAll(/<use href="#([\w-]+)"/g)].map(([, name]) => name!))
  const symbols = [...used].map((name) => symbol(name))
  return `<svg width="0" height="0" aria-hidden="true" focusable="false"><defs>${symbols.join('')}</defs></svg>`
}

function symbol(name: string): string {
  if (name in LINE) return `<symbol id="${name}" viewBox="0 0 24 24">${LINE[name as IconName]}</symbol>`
  const drawing = name.startsWith('top-')
    ? BODY + TOPS[name.slice('top-'.length) as PhoneMaker]
    : SCREENS[name as StepPicture]
  return `<symbol id="${name}" viewBox="0 0 84 84">${drawing}</symbol>`
}
