import { DERIVED_ID_PREFIX } from '#limits.ts'

/**
 * The allowed form of a text in a request: a pattern, and the same rule as advice for people. Patterns are compiled with
 * the flag `u`.
 */
export interface TextPattern {
  pattern: string
  advice: string
  /** The pattern in the OpenAPI document, where `pattern` means something else to tools that compile without `u`. */
  published?: string
}

/**
 * Control characters and lone surrogates are refused everywhere: PostgreSQL cannot store U+0000, and UTF-8 cannot
 * carry a lone surrogate.
 */
export const TEXT_PATTERNS = {
  line: {
    pattern: '^[^\\u0000-\\u001f\\u007f\\p{Cs}]*$',
    published: '^[^\\u0000-\\u001f\\u007f]*$',
    advice: 'Use one line of text without control characters.',
  },
  text: {
    pattern: '^[^\\u0000-\\u0008\\u000b\\u000c\\u000e-\\u001f\\u007f\\p{Cs}]*$',
    published: '^[^\\u0000-\\u0008\\u000b\\u000c\\u000e-\\u001f\\u007f]*$',
    advice: 'Use text without control characters other than tab and line break.',
  },
  transactionId: {
    pattern: `^(?!${DERIVED_ID_PREFIX})[A-Za-z0-9_.:-]*$`,
    advice: `Use only letters A-Z and a-z, digits and the characters _ . : - and do not begin with ${DERIVED_ID_PREFIX}`,
  },
  locationCode: {
    pattern: '^([A-Z]{2}|!RG|!GL)$',
    advice: 'Use an ISO 3166-1 alpha-2 country code in capitals, such as JP, or !RG or !GL.',
  },
  countryCode: {
    pattern: '^[A-Z]{2}$',
    advice: 'Use an ISO 3166-1 alpha-2 country code in capitals, such as JP.',
  },
  currencyCode: {
    pattern: '^[A-Z]{3}$',
    advice: 'Use an ISO 4217 currency code in capitals, such as USD.',
  },
  /** The operator's codes for packages, plans and groups: easy to type, and safe in a URL. */
  code: {
    pattern: '^[A-Za-z0-9][A-Za-z0-9_.:-]*$',
    advice: 'Use letters A-Z and a-z, digits and the characters _ . : - and begin with a letter or digit.',
  },
  /** The subtags of a BCP 47 tag. requests/language-tag.ts checks their order. */
  language: {
    pattern: '^[A-Za-z]{1,8}(-[A-Za-z0-9]{1,8})*$',
    advice: 'Use a BCP 47 language tag, such as de or zh-Hans.',
  },
  /**
   * Checks only the form: only a mail shows whether the address exists. The characters of address lists are refused, so that
   * a mail goes to one address: a header reads `1,mei@example.com` as two.
   */
  email: {
    pattern:
      '^[^\\s@<>()\\[\\],;:\\\\"\\u0000-\\u001f\\u007f\\p{Cs}]+@[^\\s@.<>()\\[\\],;:\\\\"\\u0000-\\u001f\\u007f\\p{Cs}]+(\\.[^\\s@.<>()\\[\\],;:\\\\"\\u0000-\\u001f\\u007f\\p{Cs}]+)+$',
    published: '^[^\\s@<>()\\[\\],;:\\\\"]+@[^\\s@.<>()\\[\\],;:\\\\"]+(\\.[^\\s@.<>()\\[\\],;:\\\\"]+)+$',
    advice: 'Use an e-mail address, such as traveller@example.com.',
  },
  brand: {
    pattern: '^[a-z0-9-]*$',
    advice: 'Use only letters a-z, digits and hyphens.',
  },
  iccid: {
    pattern: '^[0-9]*[Ff]{0,2}$',
    advice: 'Use the digits of the ICCID, with or without the F padding.',
  },
  // Allows RFC 3339 only: the date-time format, which is also checked, accepts RFC 9557's [Europe/Paris] too.
  time: {
    pattern: '^\\d{4}-\\d\\d-\\d\\d[Tt]\\d\\d:\\d\\d:\\d\\d(\\.\\d{1,9})?([Zz]|[+-]\\d\\d:\\d\\d)$',
    advice: 'Use an RFC 3339 time with its zone, such as 2026-11-20T13:28:09.000Z.',
  },
} as const satisfies Record<string, TextPattern>

/** The advice for a pattern of the table. */
export function adviceFor(pattern: string): string {
  const found = Object.values(TEXT_PATTERNS).find((each) => each.pattern === pattern)
  return found?.advice ?? `Use text that matches ${pattern}`
}

/**
 * The pattern for the OpenAPI document. Without the flag `u`, `\p{Cs}` refuses the letters p, C and s. The published
 * pattern leaves lone surrogates out: no UTF-8 text contains one.
 */
export function publishedPattern(pattern: string): string {
  const found: TextPattern | undefined = Object.values(TEXT_PATTERNS).find((each) => each.pattern === pattern)
  return found?.published ?? pattern
}
