import type { DocsBrand } from './docs-site.ts'

/** The style sheet: the system's own fonts, quiet colours, light and dark, with the accent of the operator's brand. */
export function docsStyle(brand: DocsBrand | undefined): string {
  const { light, dark } = brand?.colours ?? {}
  if (light === undefined || dark === undefined) return STYLE
  return `${STYLE}:root { --accent: ${light.text} }
@media (prefers-color-scheme: dark) { :root { --accent: ${dark.text} } }
`
}

const STYLE = `
:root {
  color-scheme: light dark;
  --ground: #fcfcfb; --panel: #f3f4f2; --ink: #1d2326; --soft: #5b666c; --line: #dde1de; --edge: #7c868b; --accent: #1b6a5c;
}
@media (prefers-color-scheme: dark) {
  :root { --ground: #15191b; --panel: #1e2427; --ink: #e3e7e6; --soft: #98a4a8; --line: #30393d; --edge: #6f7b80; --accent: #6fc7b3; }
}
* { box-sizing: border-box }
html { scroll-padding-top: 4.5rem; -webkit-text-size-adjust: 100% }
body { margin: 0; background: var(--ground); color: var(--ink); font: 16px/1.6 system-ui, sans-serif }
a { color: var(--accent); text-underline-offset: .15em }
a:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px }
.skip { position: absolute; left: -99rem }
.skip:focus { left: 1rem; top: .5rem; background: var(--ground); padding: .25rem .5rem }
header { position: sticky; top: 0; z-index: 1; display: flex; align-items: center; gap: 1rem; background: var(--ground); border-bottom: 1px solid var(--line); padding: .6rem 1.5rem }
header a { color: inherit; text-decoration: none }
.home { display: flex; align-items: center; gap: .6rem; font-weight: 600; min-width: 0 }
.home span { overflow-wrap: anywhere }
.logo { max-height: 2rem; max-width: 9rem; max-width: min(9rem, 30vw); border: 0; border-radius: 0 }
header form { position: relative; flex: 0 1 24rem; margin-inline-start: auto }
header input { width: 100%; font: inherit; font-size: .95rem; color: inherit; background: var(--panel); border: 1px solid var(--edge); border-radius: .4rem; padding: .35rem .7rem }
header input:focus-visible { outline: 2px solid var(--accent); outline-offset: 1px }
header kbd { position: absolute; right: .5rem; top: .45rem; font: .8rem ui-monospace, monospace; color: var(--soft); border: 1px solid var(--line); border-radius: .25rem; padding: 0 .35rem; pointer-events: none }
header input:focus + kbd, header input:not(:placeholder-shown) + kbd { display: none }
.language { white-space: nowrap; font-size: .95rem }
header .narrow { display: none }
.hits { position: absolute; right: 0; top: calc(100% + .4rem); width: min(34rem, calc(100vw - 2rem)); max-height: calc(100vh - 6rem); overflow: auto; background: var(--ground); border: 1px solid var(--line); border-radius: .5rem; box-shadow: 0 .8rem 2rem #0003; padding: .4rem 1rem }
.hits .none { margin: .6rem 0 }
.results { list-style: none; padding: 0; margin: 0 }
.results > li { padding: .7rem 0; border-bottom: 1px solid var(--line) }
.results > li:last-child { border: 0 }
.results > li > a { font-weight: 600; color: var(--accent) }
.results p { margin: .1rem 0 .3rem; color: var(--soft); font-size: .93rem }
.results ul { list-style: none; display: flex; flex-wrap: wrap; gap: .2rem 1rem; margin: 0; padding: 0; font-size: .93rem }
.results li { margin: 0 }
.results ul a { color: var(--accent) }
.columns { display: grid; grid-template-columns: 14rem minmax(0, 46rem) 13rem; gap: 2rem; max-width: 80rem; margin: 0 auto; padding: 1.5rem }
nav, aside { font-size: .95rem; position: sticky; top: 4.75rem; align-self: start; max-height: calc(100vh - 6rem); overflow: auto }
nav h2, aside h2 { font-size: .8rem; font-weight: 600; color: var(--soft); margin: 1.2rem .6rem .3rem }
nav > h2:first-child { margin-top: 0 }
nav ul, aside ul { list-style: none; margin: 0; padding: 0 }
nav a { display: block; padding: .15rem .6rem; border-radius: .3rem; color: inherit; text-decoration: none }
nav a:hover { background: var(--panel) }
nav a[aria-current] { background: var(--panel); color: var(--accent); font-weight: 600 }
.parts { display: flex; gap: .25rem; margin: 0 .6rem; padding: .2rem; background: var(--panel); border-radius: .4rem }
.parts a { flex: 1; text-align: center; padding: .2rem .4rem; border-radius: .3rem }
.parts a[aria-current] { background: var(--ground); color: var(--accent); font-weight: 600 }
aside { font-size: .88rem; border-inline-start: 1px solid var(--line); padding-inline-start: 1rem }
aside h2 { margin: 0 0 .4rem }
aside a { display: block; padding: .12rem 0; color: var(--soft); text-decoration: none; overflow-wrap: anywhere }
aside a:hover { color: var(--accent) }
aside .h3 { padding-inline-start: .8rem }
main { min-width: 0 }
.note { background: var(--panel); border-inline-start: 3px solid var(--accent); padding: .5rem 1rem }
.turns { display: flex; justify-content: space-between; gap: 1rem; border-top: 1px solid var(--line); margin: 2.5rem 0 0; padding-top: 1rem }
.turns a { text-decoration: none }
.turns a[rel=next] { margin-inline-start: auto; text-align: end }
.turns small { display: block; color: var(--soft) }
.source { margin: 1rem 0 0; font-size: .88rem }
.source a { color: var(--soft) }
h1 { font-size: 1.9rem; line-height: 1.2; margin: 0 0 1rem; letter-spacing: -.01em }
h2 { font-size: 1.3rem; line-height: 1.3; margin: 2.2rem 0 .6rem }
h3 { font-size: 1.05rem; margin: 1.6rem 0 .4rem }
p, ul, ol, .wide, pre { margin: 0 0 1rem }
li { margin: .2rem 0 }
main img { display: block; max-width: 100%; max-height: 40rem; height: auto; border: 1px solid var(--line); border-radius: .4rem }
code { font: .88em ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; background: var(--panel); border-radius: .25rem; padding: .1em .3em; overflow-wrap: anywhere }
pre { background: var(--panel); border: 1px solid var(--line); border-radius: .4rem; padding: .8rem 1rem; overflow-x: auto; line-height: 1.45 }
pre code { background: none; padding: 0; overflow-wrap: normal }
.code { position: relative }
.more-right { mask-image: linear-gradient(to left, #0003, #000 3rem) }
.more-below { mask-image: linear-gradient(to top, transparent, #000 4rem) }
.copy { position: absolute; right: .4rem; top: .4rem; font: .8rem system-ui, sans-serif; color: var(--soft); background: var(--ground); border: 1px solid var(--line); border-radius: .3rem; padding: .15rem .5rem; cursor: pointer; opacity: 0 }
.code:hover .copy, .copy:focus-visible { opacity: 1 }
@media (hover: none), (max-width: 52rem) { .copy { opacity: 1 } .code:has(> .copy) > pre { padding-top: 2.3rem } }
.copy:focus-visible, .tabs button:focus-visible { outline: 2px solid var(--accent); outline-offset: 1px }
figure { margin: 0 }
figcaption { color: var(--soft); font-size: .88rem; font-weight: 600; margin-bottom: .2rem }
.tabs .list { display: flex; flex-wrap: wrap; gap: .25rem; margin-bottom: .4rem }
.tabs .list button { font: inherit; font-size: .88rem; color: var(--soft); background: none; border: 1px solid transparent; border-radius: .3rem; padding: .15rem .7rem; cursor: pointer }
.tabs .list button[aria-selected=true] { color: var(--accent); border-color: var(--line); background: var(--panel); font-weight: 600 }
.wide, p:has(> img[src$='.svg']) { overflow-x: auto }
main img[src$='.svg'] { max-width: max(100%, 46rem); max-height: none }
main img:is([src$='signing.svg'], [src$='order-way.svg']) { max-width: max(100%, 51rem) }
table { border-collapse: collapse; width: 100%; font-size: .93rem }
th, td { border-bottom: 1px solid var(--line); padding: .4rem .8rem .4rem 0; text-align: left; vertical-align: top }
th { color: var(--soft); font-weight: 600 }
td code, code span { overflow-wrap: normal; white-space: nowrap }
blockquote { margin: 0 0 1rem; padding: .1rem 1rem; border-left: 3px solid var(--accent); color: var(--soft) }
hr { border: 0; border-top: 1px solid var(--line); margin: 2rem 0 }
@media (max-width: 78rem) {
  .columns { grid-template-columns: 14rem minmax(0, 46rem); max-width: 66rem }
  aside { display: none }
}
@media (max-width: 52rem) {
  html { scroll-padding-top: 1rem }
  .columns { grid-template-columns: minmax(0, 1fr); gap: 1rem; padding: 1rem }
  header { position: static; flex-wrap: wrap; gap: .5rem 1rem; padding: .75rem 1rem }
  header form { order: 1; flex: 1 0 100%; margin: 0 }
  header kbd { display: none }
  .home { margin-inline-end: auto }
  header .narrow { display: inline; color: var(--accent) }
  header .parts.narrow { display: flex; order: 2; flex: 1 0 100%; margin: 0; color: inherit }
  nav .parts { display: none }
  nav.more-below { mask-image: none }
  nav { order: 2; position: static; max-height: none; border-top: 1px solid var(--line); padding-top: 1rem }
  nav a { padding-block: .35rem }
}
@media print { nav, header, aside, .skip, .copy, .turns, .source { display: none } .more-right { mask-image: none } .columns { display: block } }
`

/** A SIM card with its contacts. */
export const DOCS_ICON = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><path d="M9 3h10l6 6v17a3 3 0 0 1-3 3H9a3 3 0 0 1-3-3V6a3 3 0 0 1 3-3Z" fill="#1b6a5c"/><path d="M11 15h10v9H11zM16 15v9M11 19.500h10" fill="none" stroke="#fff" stroke-width="1.500"/></svg>
`
