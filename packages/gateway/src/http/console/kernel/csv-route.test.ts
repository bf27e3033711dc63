import { once } from 'node:events'
import type { Readable } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { csvRoute } from './csv-route.ts'
import type { Context } from './route.ts'

it('a cancelled download stops reading even before the first row is found', async () => {
  let read = 0
  const { handle } = csvRoute<string>({
    path: '/rows.csv',
    access: ['OPERATOR_ADMIN'],
    summary: 'Rows',
    file: 'rows',
    async *parts() {
      for (;;) {
        read++
        await delay(1)
        yield []
      }
    },
    columns: { row: (row) => row },
  })
  const reply = { type: () => reply, header: () => reply }
  const file = (await handle({ reply } as unknown as Context, {} as never)) as unknown as Readable
  file.resume()
  await expect.poll(() => read).toBeGreaterThan(10)
  file.destroy()
  await once(file, 'close')
  const readBefore = read
  await delay(50)
  expect(read).toBeLessThanOrEqual(readBefore + 1)
})
