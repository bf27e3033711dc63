import type { IncomingHttpHeaders } from 'node:http'

/** The device that asks for a page, as far as it says. */
export interface Phone {
  kind: 'iphone' | 'android' | 'desktop'
  /** `iPhone` or a model as the browser names it, such as `Pixel 8`; null: the browser does not say. */
  model: string | null
  isSamsung: boolean
  /** An iPhone whose system opens installation links: iOS 17.4 and later. Others install by hand. */
  opensLinks: boolean
}

/**
 * An iPad calls itself a Mac, so it gets the desktop's page, which shows the QR code. Chrome hides the model of an Android
 * phone, but names it in `Sec-CH-UA-Model` where it has been asked to.
 */
export function phoneOf(headers: IncomingHttpHeaders): Phone {
  const agent = headers['user-agent'] ?? ''
  const system = /\b(?:iPhone|iPod)\b/.test(agent) ? / OS (\d{1,3})_(\d{1,3})/.exec(agent) : null
  if (system) {
    const [major, minor] = [Number(system[1]), Number(system[2])]
    return { kind: 'iphone', model: 'iPhone', isSamsung: false, opensLinks: major > 17 || (major === 17 && minor >= 4) }
  }
  if (!/\bAndroid\b/.test(agent)) return { kind: 'desktop', model: null, isSamsung: false, opensLinks: false }
  const model =
    hintedModel(headers) ?? /; (?!wv\b)([^;()]{2,40}?)(?: Build\/[^;)]*)?(?:; wv)?\)/.exec(agent)?.[1] ?? null
  const known = model === null || model === 'K' ? null : model
  return { kind: 'android', model: known, isSamsung: /\bSM-|SAMSUNG/i.test(`${known} ${agent}`), opensLinks: true }
}

function hintedModel(headers: IncomingHttpHeaders): string | undefined {
  const hint = headers['sec-ch-ua-model']
  const [, model] = /^"([\w .+()/-]{2,40})"$/.exec(typeof hint === 'string' ? hint : '') ?? []
  return model
}
