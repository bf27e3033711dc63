/** An e-mail as plain text and as HTML with the same content. */
export interface MailText {
  subject: string
  text: string
  html: string
}

/** A page to open, as a button in HTML. */
export interface MailLink {
  label: string
  url: string
}

export interface MailParts {
  subject: string
  /** Links, and paragraphs without line breaks, because mail programs wrap text themselves. */
  paragraphs: readonly (string | MailLink)[]
  /** Why the reader receives the e-mail, in small print. */
  footer: string
}

/** Writes both forms. All texts are escaped, because names and messages may contain anything. */
export function composeMail({ subject, paragraphs, footer }: MailParts): MailText {
  const texts = paragraphs.map((part) => (typeof part === 'string' ? part : `${part.label}:\n${part.url}`))
  return { subject, text: [...texts, footer].join('\n\n'), html: htmlOf(subject, paragraphs, footer) }
}

// Mail programs ignore style sheets, so styles are inline. Nothing is loaded from elsewhere.
const FONT = 'font-family:system-ui,-apple-system,Segoe UI,Roboto,Helvetica,Arial,sans-serif'
const PARAGRAPH = 'margin:0 0 16px;font-size:15px;line-height:1.5'
const BUTTON =
  'display:inline-block;padding:10px 18px;border-radius:8px;background:#0b7285;color:#ffffff;text-decoration:none;font-weight:600'

function htmlOf(subject: string, paragraphs: MailParts['paragraphs'], footer: string): string {
  const body = paragraphs.map((part) => (typeof part === 'string' ? paragraph(escapeHtml(part)) : button(part)))
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${escapeHtml(subject)}</title></head>
<body style="margin:0;padding:24px;background:#f1f3f5;color:#212529;${FONT}">
<div style="max-width:560px;margin:0 auto;padding:28px;background:#ffffff;border-radius:12px">
<h1 style="margin:0 0 16px;font-size:19px;line-height:1.3">${escapeHtml(subject)}</h1>
${body.join('\n')}
<p style="margin:24px 0 0;font-size:12px;line-height:1.5;color:#5c636a">${escapeHtml(footer)}</p>
</div></body></html>`
}

function paragraph(html: string): string {
  return `<p style="${PARAGRAPH}">${html}</p>`
}

/** A button. Also shows the address as text, so that readers see where it leads. */
function button({ label, url }: MailLink): string {
  const href = escapeHtml(url)
  return `${paragraph(`<a href="${href}" style="${BUTTON}">${escapeHtml(label)}</a>`)}
<p style="margin:0 0 16px;font-size:12px;line-height:1.5;word-break:break-all"><a href="${href}" style="color:#0b7285">${href}</a></p>`
}

function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}
