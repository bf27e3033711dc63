import { expect, test } from 'vitest'
import { tourLine } from './local-demo.ts'

test('the command to try first finds the credentials, wherever they are kept', () => {
  expect(tourLine('/home/me/gateway/.data', '/home/me/gateway')).toBe('npx dealer-esim tour')
  expect(tourLine('/var/lib/esim', '/home/me/gateway')).toBe('DATA_DIR=/var/lib/esim npx dealer-esim tour')
  expect(tourLine("/it's here", '/')).toBe("DATA_DIR='/it'\\''s here' npx dealer-esim tour")
})
