import { Pool } from 'undici'

// The baseline: a loop of POSTs, signed in advance, with the HTTP client that the gateway uses.
process.on('message', async ({ url, headers, body, count, concurrency }) => {
  const { origin, pathname: path } = new URL(url)
  const pool = new Pool(origin, { connections: concurrency, pipelining: 1 })
  let left = count
  const worker = async () => {
    while (left-- > 0) {
      const answer = await pool.request({
        method: 'POST',
        path,
        headers: { ...headers, 'webhook-id': `${left}` },
        body,
      })
      await answer.body.dump()
    }
  }
  const started = performance.now()
  await Promise.all(Array.from({ length: concurrency }, worker))
  const durationS = (performance.now() - started) / 1000
  await pool.close()
  process.send({ durationS })
})
process.on('disconnect', () => process.exit(0))
