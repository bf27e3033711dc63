import { expect, test } from 'vitest'
import { tourCommand } from './local-demo.ts'

test('the tour command finds the credentials in any DATA_DIR', () => {
  expect(tourCommand('/home/me/gateway/.data', '/home/me/gateway')).toBe('npx dealer-esim tour')
  expect(tourCommand('/var/lib/esim', '/home/me/gateway')).toBe('DATA_DIR=/var/lib/esim npx dealer-esim tour')
  expect(tourCommand("/it's here", '/')).toBe("DATA_DIR='/it'\\''s here' npx dealer-esim tour")
})
