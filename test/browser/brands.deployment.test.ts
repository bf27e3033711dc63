import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { isBrowserAvailable } from './chromium.ts'
import { type ConsoleTestbed, heading, signInAsOperator, startTestbed } from './console-testbed.ts'

const LOGO = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><circle cx="4" cy="4" r="4" fill="#b8336a"/></svg>`

describe.skipIf(!isBrowserAvailable())('the operator’s brand', () => {
  let testbed: ConsoleTestbed
  beforeAll(async () => {
    testbed = await startTestbed()
  })
  afterAll(() => testbed?.stop())

  it('is previewed while it is typed, and worn by console and sign-in page once it is saved', async () => {
    const page = await testbed.open()
    await signInAsOperator(testbed, page)
    await page.goto(`${testbed.access.consoleUrl}/brand`)
    await heading(page, 'Brand').waitFor()
    await page.locator('input[name=name]').fill('Meridian Mobile')
    await page.locator('input[name=accent]').fill('#F5B800')
    await page.locator('input[name=supportEmail]').fill('care@meridian.test')
    const file = { name: 'logo.svg', mimeType: 'image/svg+xml', buffer: Buffer.from(LOGO) }
    await page.locator('input[type=file]').first().setInputFiles(file)
    await page.getByText('White text cannot be read on this colour').waitFor()
    await page.locator('.brand-preview').getByText('Help from Meridian Mobile').waitFor()
    await page.getByRole('button', { name: 'Save' }).click()
    await page.waitForFunction(() => document.title.endsWith('Meridian Mobile'))
    const stranger = await testbed.open()
    await heading(stranger, 'Sign in').waitFor()
    expect(await stranger.title()).toBe('Sign in · Meridian Mobile')
    const button = stranger.getByRole('button', { name: 'Sign in' })
    const colours = await button.evaluate((element) => {
      const { backgroundColor, color } = getComputedStyle(element)
      return [backgroundColor, color]
    })
    expect(colours).toEqual(['rgb(245, 184, 0)', 'rgb(0, 0, 0)'])
    expect(testbed.browserErrors).toEqual([])
    const logo = stranger.locator('img').first()
    expect(await logo.evaluate((element: HTMLImageElement) => element.naturalWidth)).toBeGreaterThan(0)
  })
})
