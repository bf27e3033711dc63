/**
 * Finds what an SVG may not contain: everything that runs, loads or refers outside of the picture. The check is strict rather
 * than clever, because a logo needs none of it.
 * @returns what is wrong, and what to do; undefined if nothing is
 */
export function findSvgFault(file: Buffer): string | undefined {
  const text = file.toString('utf8')
  if (text.includes('\uFFFD')) return 'The SVG is not UTF-8. Save it again as UTF-8, or as PNG.'
  const found = FORBIDDEN.find(([pattern]) => pattern.test(text))
  return found && `The SVG contains ${found[1]}. Save it as “plain SVG” without it, or as PNG.`
}

const FORBIDDEN: readonly (readonly [RegExp, string])[] = [
  [/<!(?!--|\[CDATA\[)/, 'a document type or entities'],
  [/<\?(?!xml\s)/i, 'a processing instruction'],
  [/<([\w.-]+:)?script/i, 'a script'],
  [
    /<([\w.-]+:)?(foreignObject|iframe|embed|object|audio|video|animate\w*|set|handler|listener)[\s/>]/i,
    'active content',
  ],
  [/[\s"'/]on[a-z]+\s*=/i, 'an event handler'],
  [
    /[\s"'](xlink:)?href\s*=\s*(?!\s*["']\s*(#|data:image\/(png|jpeg|webp);base64,))/i,
    'a link to something outside of it',
  ],
  [/xml:base\s*=/i, 'a link to something outside of it'],
  [/url\(\s*(?!["']?\s*#)/i, 'a link to something outside of it'],
  [/@import/i, 'a link to something outside of it'],
  [/(java|vb)script\s*:/i, 'a script'],
  [/&(?!(amp|lt|gt|quot|apos|#\d{1,7}|#x[0-9a-f]{1,6});)/i, 'an entity'],
  [/\\[0-9a-f]/i, 'an escape in a style'],
]
