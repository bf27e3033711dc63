import type { BrandColours } from '@dealer-esim/contract'
import { escapeHtml } from '#platform/escape-html.ts'

/* What mails to people and to travellers share. Styles are inline, because mail programs ignore most of a style sheet. */

/** Breaks a name or an address that is longer than a phone is wide, in the cells of tables too. */
export const BREAKS = 'word-break:break-word'

/** The logo on a white tile, which survives a mail program that turns colours dark, and the seller's name. */
export function headOf(name: string, logo: string | undefined): string {
  const picture =
    logo === undefined
      ? ''
      : `<td style="padding-inline-end:12px"><img src="cid:${logo}" height="40" alt="" style="display:block;height:40px;max-width:180px;padding:4px;border:0;border-radius:10px;background:#ffffff"></td>`
  return `<table role="presentation" cellpadding="0" cellspacing="0" border="0" style="margin:0 4px 16px"><tr>${picture}<td class="ink" style="font-size:19px;line-height:28px;font-weight:700;color:#1b1f23">${escapeHtml(name)}</td></tr></table>`
}

/**
 * The one action of a mail. Outlook for Windows draws mails with Word, which gives a link neither padding nor round corners: it gets
 * a shape in VML between `[if mso]` comments, which every other program skips.
 */
export function buttonOf(
  { label, url }: { label: string; url: string },
  { accent, onAccent, light }: BrandColours,
): string {
  const [href, text] = [escapeHtml(url), escapeHtml(label)]
  const shape = `<v:roundrect xmlns:v="urn:schemas-microsoft-com:vml" xmlns:w="urn:schemas-microsoft-com:office:word" href="${href}" style="width:526px;height:54px;v-text-anchor:middle" arcsize="26%" strokecolor="${light.edge}" strokeweight="2px" fillcolor="${accent}"><w:anchorlock/><center style="color:${onAccent};font-family:'Segoe UI',Arial,sans-serif;font-size:18px;font-weight:bold">${text}</center></v:roundrect>`
  const link = `<a class="edge" href="${href}" style="display:block;padding:14px 20px;border:2px solid ${light.edge};border-radius:14px;background:${accent};color:${onAccent};font-size:18px;line-height:24px;font-weight:700;text-align:center;text-decoration:none"><span style="color:${onAccent}">${text}</span></a>`
  return `<div style="margin:24px 0 12px"><!--[if mso]>${shape}<![endif]--><!--[if !mso]><!-->${link}<!--<![endif]--></div>`
}

/** 600 px wide, also in Outlook for Windows, which knows no greatest width. */
export function columnOf(content: string): string {
  return `<!--[if mso]><table role="presentation" width="600" align="center" cellpadding="0" cellspacing="0" border="0"><tr><td><![endif]--><div style="max-width:600px;margin:0 auto">${content}</div><!--[if mso]></td></tr></table><![endif]-->`
}
