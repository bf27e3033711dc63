/** The style sheet of the documentation: the system's own fonts, quiet colours, light and dark. */
export const DOCS_STYLE = `
:root {
  color-scheme: light dark;
  --ground: #fcfcfb; --panel: #f3f4f2; --ink: #1d2326; --soft: #5b666c; --line: #dde1de; --accent: #1b6a5c;
}
@media (prefers-color-scheme: dark) {
  :root { --ground: #15191b; --panel: #1e2427; --ink: #e3e7e6; --soft: #98a4a8; --line: #30393d; --accent: #6fc7b3; }
}
* { box-sizing: border-box }
html { scroll-padding-top: 1rem; -webkit-text-size-adjust: 100% }
body { margin: 0; background: var(--ground); color: var(--ink); font: 16px/1.6 system-ui, sans-serif }
a { color: var(--accent); text-underline-offset: .15em }
a:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px }
.skip { position: absolute; left: -99rem }
.skip:focus { left: 1rem; top: .5rem; background: var(--ground); padding: .25rem .5rem }
header { display: flex; justify-content: space-between; border-bottom: 1px solid var(--line); padding: .75rem 1.5rem }
header a { color: inherit; text-decoration: none }
header a:first-child { font-weight: 600 }
header .narrow { display: none }
.columns { display: grid; grid-template-columns: 15rem minmax(0, 46rem); gap: 2.5rem; max-width: 68rem; margin: 0 auto; padding: 1.5rem }
nav { font-size: .95rem; position: sticky; top: 1.5rem; align-self: start; max-height: calc(100vh - 3rem); overflow: auto }
nav h2 { font-size: .8rem; font-weight: 600; color: var(--soft); margin: 1.2rem .6rem .3rem }
nav h2:first-of-type { margin-top: 0 }
nav ul { list-style: none; margin: 0; padding: 0 }
nav a { display: block; padding: .15rem .6rem; border-radius: .3rem; color: inherit; text-decoration: none }
nav a:hover { background: var(--panel) }
nav a[aria-current] { background: var(--panel); color: var(--accent); font-weight: 600 }
main { min-width: 0 }
h1 { font-size: 1.9rem; line-height: 1.2; margin: 0 0 1rem; letter-spacing: -.01em }
h2 { font-size: 1.3rem; line-height: 1.3; margin: 2.2rem 0 .6rem }
h3 { font-size: 1.05rem; margin: 1.6rem 0 .4rem }
p, ul, ol, .wide, pre { margin: 0 0 1rem }
li { margin: .2rem 0 }
img { display: block; max-width: 100%; max-height: 40rem; height: auto; border: 1px solid var(--line); border-radius: .4rem }
code { font: .88em ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; background: var(--panel); border-radius: .25rem; padding: .1em .3em; overflow-wrap: anywhere }
pre { background: var(--panel); border: 1px solid var(--line); border-radius: .4rem; padding: .8rem 1rem; overflow-x: auto; line-height: 1.45 }
pre code { background: none; padding: 0; overflow-wrap: normal }
.wide { overflow-x: auto }
table { border-collapse: collapse; width: 100%; font-size: .93rem }
th, td { border-bottom: 1px solid var(--line); padding: .4rem .8rem .4rem 0; text-align: left; vertical-align: top }
th { color: var(--soft); font-weight: 600 }
td code { overflow-wrap: normal; white-space: nowrap }
blockquote { margin: 0 0 1rem; padding: .1rem 1rem; border-left: 3px solid var(--accent); color: var(--soft) }
hr { border: 0; border-top: 1px solid var(--line); margin: 2rem 0 }
@media (max-width: 52rem) {
  .columns { grid-template-columns: minmax(0, 1fr); gap: 1rem; padding: 1rem }
  header { padding: .75rem 1rem }
  header .narrow { display: inline; color: var(--accent) }
  nav { order: 2; position: static; max-height: none; border-top: 1px solid var(--line); padding-top: 1rem }
}
@media print { nav, header, .skip { display: none } .columns { display: block } }
`

/** A SIM card with its contacts. */
export const DOCS_ICON = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><path d="M9 3h10l6 6v17a3 3 0 0 1-3 3H9a3 3 0 0 1-3-3V6a3 3 0 0 1 3-3Z" fill="#1b6a5c"/><path d="M11 15h10v9H11zM16 15v9M11 19.500h10" fill="none" stroke="#fff" stroke-width="1.500"/></svg>
`
