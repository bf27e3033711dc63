// Exits with 0 if the gateway of this container is ready, for health checks of container engines.
const port = process.env.METRICS_PORT?.trim() || '9464'
const host = process.env.METRICS_HOST?.trim() || '127.0.0.1'
const address = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '[::1]' : host
try {
  const { ok } = await fetch(`http://${address}:${port}/readyz`, { signal: AbortSignal.timeout(4_000) })
  process.exitCode = ok ? 0 : 1
} catch {
  process.exitCode = 1
}
