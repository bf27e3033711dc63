import { brandColours } from '@dealer-esim/contract'
import { describe, expect, it } from 'vitest'
import { composeTravellerMail } from '#alerts/mail/traveller-mail.ts'
import type { Brand } from '#brands/brand.ts'
import { getLanguages } from '../languages/traveller-language.ts'
import type { InstallCodes, TravellerEsim } from '../qr/traveller-esim.ts'
import { travellerMailOf } from './compose-mail.ts'

const LINK = 'https://esim.example/share/TOKEN-8Kd2vQ7pXw3nTz'
const CODES: InstallCodes = {
  ...{ ac: 'LPA:1$smdp.example$MATCH-1', smdpAddress: 'smdp.example', matchingId: 'MATCH-1' },
  ...{ isConfirmationCodeRequired: true, confirmationCode: '4711', kycUrl: null },
}
const ESIM: TravellerEsim = {
  ...{ tenantId: 't', profileId: 'p', tenantName: 'Lotus', packageName: 'Japan 5 GB 3 days' },
  facts: { dataType: 'TOTAL', volume: 5_000_000_000n, days: 3, activationPolicy: 'ON_INSTALL', locations: ['JP'] },
  ...{ description: null, fupPolicy: null, iccid: '8985200000000000017', apn: null, msisdn: null },
  ...{ esimStatus: 'GOT_RESOURCE', suspended: false, totalVolume: 5_000_000_000n, orderUsage: null },
  ...{ usageUpdateTime: null, installationTime: null, expiredTime: null },
  installBefore: new Date('2027-05-27T17:04:00Z'),
}
const BRAND: Brand = {
  ...{ name: 'Lotus <Travel>', isOperator: false, colours: brandColours('#b8336a'), accentInk: '#ffffff' },
  ...{ supportEmail: 'help@lotus.example', supportPhone: '+44 20 7946 0018' },
  legalLinks: [{ label: 'Terms', url: 'https://shop.example/terms?a&b' }],
}

function mailIn(tag: string, codes: InstallCodes | undefined = CODES, name = 'Hana') {
  const language = getLanguages().get(tag)!
  const mail = travellerMailOf(language, { esim: ESIM, codes, seller: 'Lotus <Travel>', link: LINK, name })
  return composeTravellerMail(mail, BRAND, 'logo')
}

describe('the mail to a traveller', () => {
  it('says what it is, what to do, until when, and whom to ask, in both forms', () => {
    const { subject, text, html } = mailIn('en')
    expect(subject).toBe('Your eSIM: Japan · 5 GB · 3 days')
    expect(text).toBe(`Hello Hana, your eSIM is ready.

Japan · 5 GB · 3 days
Install before: 28 May 2027 at 02:04 Japan Time

Install my eSIM:
${LINK}

Open it on the phone that travels with you, on Wi-Fi. An eSIM can be installed only once.

Reading this on a computer? Point the camera of the phone that travels with you at this code, and follow what it shows.

Questions? Reply to this mail.
help@lotus.example
+44 20 7946 0018

-- 
You get this mail because an eSIM was bought for you. Seller: Lotus <Travel>
Keep it to yourself: anyone who has it can install the eSIM.
Terms: https://shop.example/terms?a&b`)
    for (const part of [
      'Hello Hana',
      'Japan',
      '28 May 2027 at 02:04 Japan Time',
      'mailto:help@lotus.example',
      'src="cid:qr"',
    ])
      expect(html).toContain(part)
    expect(html).toContain('href="https://shop.example/terms?a&amp;b"')
    expect(html.match(/class="edge"/g)).toHaveLength(1)
    expect(html).not.toMatch(/<Travel>|(src|background)="?[^"]*http/)
  })

  it.each([...getLanguages().keys()])(
    'in %s has its direction, and names no code, ICCID or confirmation code',
    (tag) => {
      const { subject, text, html } = mailIn(tag)
      expect(html).toContain(`<html lang="${tag}" dir="${getLanguages().get(tag)!.direction}">`)
      for (const secret of ['LPA:', 'MATCH-1', 'smdp.example', ESIM.iccid, '4711'])
        expect([secret, `${subject}${text}${html}`.includes(secret)]).toEqual([secret, false])
      for (const hidden of ['TOKEN', 'Hana']) expect(subject).not.toContain(hidden)
      expect(text + html).not.toMatch(/undefined|\{\w+\}(?!\s*[.@}])(?=[^{}]*<\/p>)/)
    },
  )

  it('has one button, for Outlook on Windows as a shape of the same colours, which other programs skip', () => {
    const { html } = mailIn('en')
    const links = (shown: string) =>
      [...shown.matchAll(/<(a|v:roundrect)[^>]* href="([^"]+)"/g)].map(([, tag, url]) => [tag, url])
    const others = html.replaceAll(/<!--\[if mso\]>.*?<!\[endif\]-->/gs, '')
    const outlook = html.replaceAll(/<!--\[if !mso\]><!-->.*?<!--<!\[endif\]-->/gs, '')
    expect(links(others)[0]).toEqual(['a', LINK])
    expect(links(outlook)[0]).toEqual(['v:roundrect', LINK])
    expect([others, outlook].map((shown) => shown.split('Install my eSIM').length)).toEqual([2, 2])
    expect(outlook).toMatch(/<v:roundrect[^>]* strokecolor="#b8336a"[^>]* fillcolor="#b8336a">/)
  })

  it('of an installed eSIM has no QR code, and shows its page', () => {
    const language = getLanguages().get('en')!
    const about = { esim: ESIM, codes: undefined, seller: 'Lotus', link: LINK, name: 'Hana' }
    const { text, html } = composeTravellerMail(travellerMailOf(language, about), BRAND)
    expect(html).not.toContain('cid:')
    expect(text).toMatch(/^Japan · 5 GB · 3 days\n\nShow my eSIM:\n/)
  })

  it('greets nobody by a name that mail programs would turn into a link', () => {
    expect(mailIn('en', CODES, '').text).toMatch(/^Your eSIM is ready\./)
  })
})
