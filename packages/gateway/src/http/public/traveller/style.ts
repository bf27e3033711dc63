import type { BrandColours } from '@dealer-esim/contract'

/** The only style that differs between brands. */
export function brandSheet({ accent, onAccent, light, dark }: BrandColours): string {
  const scheme = ({ text, edge, tint }: BrandColours['light']) => `--accent-text:${text};--edge:${edge};--tint:${tint}`
  return `:root{--accent:${accent};--on-accent:${onAccent};${scheme(light)}}
@media (prefers-color-scheme:dark){:root{${scheme(dark)}}}`
}

/** What every page has. Contrast and sizes are those of BRAND_SURFACES: the ground and cards carry the brand’s colours. */
const BASE = `
:root{color-scheme:light dark;--ground:#f6f5f1;--card:#fff;--line:#e2dfd8;--ink:#1b1f23;--soft:#555d65;--good:#17663a;--good-ground:#e2f3e8}
@media (prefers-color-scheme:dark){:root{--ground:#111416;--card:#1b1f22;--line:#343a3f;--ink:#eceff0;--soft:#a9b2b8;--good:#7fd6a2;--good-ground:#16311f}}
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%;text-size-adjust:100%}
body{margin:0;background:var(--ground);color:var(--ink);font:17px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",sans-serif;overflow-wrap:break-word}
h1,h2,h3,p,ol,ul,dl,dd{margin:0;padding:0}
ol,ul{list-style:none}
a{color:var(--accent-text);text-underline-offset:.18em}
svg,img{display:block;flex:none}
:focus-visible{outline:3px solid var(--accent-text);outline-offset:2px;border-radius:6px}
.i{width:24px;height:24px;fill:none;stroke:currentColor;stroke-width:1.75;stroke-linecap:round;stroke-linejoin:round}
.wrap{max-width:1000px;margin:0 auto;padding:0 16px}
.top{display:flex;align-items:center;gap:12px;min-height:64px}
.logo{height:40px;width:auto;max-width:120px}
.letter{display:grid;place-items:center;flex:none;width:40px;height:40px;border-radius:11px;background:var(--accent);color:var(--on-accent);font-size:20px;font-weight:700}
.button bdi,.say bdi{overflow-wrap:anywhere}
.brand{flex:1;min-width:0;font-weight:700;font-size:18px;line-height:1.25;overflow-wrap:anywhere}
.lang{position:relative;max-width:50%}
summary{cursor:pointer;list-style:none}
summary::-webkit-details-marker{display:none}
.lang summary{display:flex;align-items:center;gap:6px;min-height:44px;padding:0 4px;color:var(--soft);font-size:15px;line-height:1.25}
.lang ul{position:absolute;z-index:2;inset-inline-end:0;top:46px;width:min(320px,calc(100vw - 32px));padding:8px;columns:2;column-gap:4px;background:var(--card);border:1px solid var(--line);border-radius:14px;box-shadow:0 12px 32px #0003}
.lang li{break-inside:avoid}
.lang li a{display:block;padding:9px 10px;border-radius:8px;color:var(--ink);text-decoration:none;font-size:15px;line-height:1.4;unicode-bidi:plaintext}
.lang li a[aria-current]{background:var(--tint);color:var(--accent-text);font-weight:600}
main,.column{display:grid;grid-template-columns:minmax(0,1fr);gap:16px;align-content:start;min-width:0}
main.one{max-width:560px;margin:0 auto}
.card{min-width:0;background:var(--card);border:1px solid var(--line);border-radius:18px}
.pad{display:grid;grid-template-columns:minmax(0,1fr);gap:12px;padding:18px 20px 20px}
.what{display:flex;gap:16px;align-items:center;padding:20px}
.what h1{flex:1;min-width:0}
.flag{width:60px;height:40px;border-radius:6px;box-shadow:0 0 0 1px #0002}
h1{font-size:28px;line-height:1.2;letter-spacing:-.01em;overflow-wrap:anywhere}
h1 span{display:block;font-size:19px;line-height:1.35;font-weight:500;letter-spacing:0;color:var(--soft)}
h2{font-size:20px;line-height:1.3}
h3{font-size:17px;line-height:1.35}
.tear{border-top:2px dashed var(--line);margin:0 12px}
.facts{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(128px,100%),1fr));gap:12px 16px;padding:16px 20px 18px}
.facts .wide{grid-column:1/-1}
dt,.hint,.minor{color:var(--soft);font-size:14px;line-height:1.45}
dd{font-weight:600;overflow-wrap:anywhere}
dd small{display:block;color:var(--soft);font-size:14px;font-weight:400}
.button{display:flex;align-items:center;justify-content:center;gap:12px;min-height:60px;padding:10px 20px;border:2px solid var(--edge);border-radius:16px;background:var(--accent);color:var(--on-accent);font-size:18px;font-weight:700;line-height:1.25;text-align:center;text-decoration:none}
.button small{display:block;font-size:14px;font-weight:500}
.button.second{min-height:48px;background:none;color:var(--accent-text);font-size:16px;font-weight:600}
.s,.a{fill:none;stroke:var(--ink);stroke-width:2;stroke-linecap:round;stroke-linejoin:round}
.l{opacity:.35}.S{fill:var(--ink)}.a{stroke:var(--accent-text)}.A{fill:var(--accent-text)}
.row+.row{border-top:1px solid var(--line)}
.row>summary{display:flex;align-items:center;gap:14px;min-height:60px;padding:10px 16px;font-weight:600;line-height:1.3}
.row>summary span{flex:1;min-width:0}
.row>summary .more{color:var(--soft)}
.row[open]>summary .more{transform:rotate(180deg)}
.in{display:grid;grid-template-columns:minmax(0,1fr);gap:14px;padding:2px 16px 20px}
.in ul{display:grid;gap:8px;padding-inline-start:20px;list-style:disc}
.hint{font-size:15px;text-align:center}
.code{display:grid;grid-template-columns:minmax(0,1fr) auto;gap:2px 8px;align-items:center}
.code span{grid-column:1/-1;color:var(--soft);font-size:14px}
code{display:block;padding:11px 12px;border-radius:10px;background:var(--ground);border:1px solid var(--line);font:15px/1.4 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;text-align:left;overflow-wrap:anywhere;-webkit-user-select:all;user-select:all}
.copy{min-height:48px;padding:0 12px;border:1px solid var(--line);border-radius:10px;background:var(--card);color:var(--accent-text);font:inherit;font-size:15px;font-weight:600;cursor:pointer}
footer{margin-top:24px;padding:24px 0 40px;border-top:1px solid var(--line);color:var(--soft);font-size:15px}
footer h2{margin:0 0 8px;color:var(--ink)}
.who{display:flex;flex-wrap:wrap;gap:0 24px;margin-bottom:16px}
.who li,.who a{display:flex;align-items:center;gap:12px;min-height:44px;min-width:0;overflow-wrap:anywhere}
.legal a,.legal span{display:inline-block;margin-inline-end:16px;line-height:2.2;overflow-wrap:anywhere}
.paper{display:none}
@media (min-width:860px){
.top{min-height:88px}
main.two{grid-template-columns:minmax(0,440px) minmax(0,1fr);gap:24px;align-items:start}
}
@media (max-width:359px){h1{font-size:25px}.what{padding:16px}.flag{width:48px;height:32px}.facts,.pad{padding-inline:16px}.steps li{gap:12px;align-items:flex-start}.pic{width:64px;height:64px}.code{grid-template-columns:minmax(0,1fr)}.copy{justify-self:start}}
@media print{
@page{margin:14mm}
:root{--ground:#fff;--card:#fff;--line:#bbb;--ink:#000;--soft:#333;--accent-text:#000;--tint:#fff;--edge:#000}
body{font-size:11pt}
.screen,.lang,.more,.copy{display:none!important}
main,main.two,.column{display:block}
.card{margin-bottom:5mm;border-radius:10px;break-inside:avoid}
.top{min-height:14mm}
.paper{display:grid;grid-template-columns:52mm 1fr;gap:6mm;align-items:center;margin:5mm 0}
.paper img{width:52mm;height:52mm}
.paper ul{display:grid;gap:2mm}
.pic{width:15mm;height:15mm}
.steps{grid-template-columns:1fr 1fr}
footer{margin:0;padding:3mm 0 0}
}
`

const INSTALL = `
.note{display:flex;gap:12px;padding:14px 16px;border-radius:14px;background:var(--tint);line-height:1.4}
.note .i,.row>summary .i{color:var(--accent-text)}
.when{width:fit-content;padding:2px 12px;border-radius:99px;background:var(--tint);color:var(--accent-text);font-size:15px;font-weight:600}
.steps{display:grid;grid-template-columns:minmax(0,1fr);gap:14px}
.steps li{display:flex;gap:16px;align-items:center}
.steps p{color:var(--soft);font-size:16px;line-height:1.45}
.steps div{min-width:0}
.pic{width:84px;height:84px;border-radius:16px;background:var(--tint)}
.qr{width:min(100%,264px);height:auto;margin:0 auto;border-radius:14px;background:#fff;border:1px solid var(--line)}
.qr.big{width:min(100%,304px)}
.links{display:flex;justify-content:center}
.links a{display:inline-flex;align-items:center;gap:8px;min-height:44px}
.good{padding:12px 14px;border-radius:12px;background:var(--good-ground);color:var(--good);font-weight:600;line-height:1.35}
`

const STATUS = `
.state{flex:none;align-self:start;padding:3px 12px;border-radius:99px;background:var(--tint);font-size:15px;font-weight:600}
.state.on{background:var(--good-ground);color:var(--good)}
.what.many{flex-wrap:wrap}
.ring{display:grid;place-items:center;padding:24px 20px 8px}
.ring svg{grid-area:1/1;width:224px;height:224px}
.ring p{grid-area:1/1;max-width:160px;text-align:center;color:var(--soft);line-height:1.3}
.ring b{display:block;color:var(--ink);font-size:34px;line-height:1.15}
.gap{padding:0 20px 18px}
`

const MESSAGE = `
.say{display:grid;gap:12px;justify-items:center;padding:28px 20px 24px;text-align:center}
.say h1{font-size:26px;text-wrap:balance}
.say p{max-width:34em;text-wrap:pretty}
.say .button{width:100%;max-width:360px;margin-top:8px}
.scene{width:200px;height:140px}
`

const TABLE = `
table{width:100%;border-collapse:collapse}
th,td{padding:6px 8px 6px 0;text-align:start;vertical-align:top;border-bottom:1px solid var(--line);font-size:15px;overflow-wrap:anywhere}
th{font-weight:600}
`

/**
 * One side of A6, 105 × 148 mm, the same on a screen. Black on white, so that a thermal printer loses nothing. Follows BASE, whose
 * colours and paper it replaces.
 */
const CARD = `
:root{color-scheme:light;--ground:#d9d9d6;--card:#fff;--line:#777;--ink:#000;--soft:#000;--accent-text:#000;--edge:#000;--tint:#fff}
body{font-size:7.5pt;line-height:1.25}
.wrap{width:105mm;max-width:100%;min-height:148mm;margin:8mm auto;padding:4mm 6mm 3mm;background:#fff;color:#000}
main.one{display:grid;max-width:none;gap:1.5mm}
.top.top{min-height:9mm;gap:2.5mm;margin-bottom:1.5mm}
.logo,.letter{height:9mm}
.letter{width:9mm;border-radius:2mm}
.brand{font-size:12pt}
.what,.what.many{flex-wrap:nowrap;gap:3mm;padding:1.5mm 0;border-block:.3mm dashed var(--line)}
.flag{width:12mm;height:8mm;border-radius:1mm}
h1{font-size:13pt;line-height:1.1}
h1 span{font-size:9.5pt;line-height:1.2}
.what dl{flex:none;max-width:38%;text-align:end}
dt,dd small{font-size:7pt}
dd{font-size:8.5pt;line-height:1.25}
.scan{display:grid;grid-template-columns:44mm minmax(0,1fr);gap:2mm;align-items:center}
.scan img{width:44mm;height:44mm;background:#fff}
.scan div{display:grid;gap:1mm}
h2{font-size:10pt;line-height:1.2}
.path b{display:block}
.must{padding:.5mm 1.5mm;border:.3mm solid var(--ink);font-size:7pt;font-weight:700}
.must+.steps .pic{display:none}
.steps{display:grid;grid-template-columns:repeat(3,minmax(0,1fr));gap:2mm}
.steps li,.path,.codes,footer{font-size:7pt}
.pic{width:8mm;height:8mm;margin-bottom:.5mm;border:.25mm solid var(--line);border-radius:2mm}
h3{font-size:7.5pt;line-height:1.2}
code{display:inline;padding:0;border:0;background:none;font-size:7pt}
footer{margin:1.5mm 0 0;padding:1mm 0 0;border-top:.3mm solid var(--ink)}
footer h2{margin:0;font-size:8.5pt}
.who{margin:0;gap:0 3mm}
.who li,.who a{min-height:0;gap:1mm}
.who a{color:inherit;text-decoration:none}
.i{width:3mm;height:3mm}
.legal a{display:none}
.legal span{margin:0;line-height:1.3}
@media print{
@page{size:105mm 148mm;margin:0}
body{background:#fff}
.wrap{width:105mm;max-width:none;min-height:0;margin:0}
}
`

/** The style sheet of each kind of page, which carries only what it needs. Narrow screens and paper, in BASE, come last. */
export const SHEETS = {
  install: INSTALL + BASE,
  status: STATUS + BASE,
  message: MESSAGE + BASE,
  table: TABLE + BASE,
  card: BASE + CARD,
} as const
