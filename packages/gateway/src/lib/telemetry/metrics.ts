import { collectDefaultMetrics, Registry } from '@platformatic/prom-client'

export type Metrics = Registry

/** The registry of this process. Each room declares its own figures on it, where it measures them. */
export function createMetrics(): Metrics {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  return registry
}
