import type { Config } from './config/config.ts'
import type { Running } from './lib/process/lifecycle.ts'
import type { OtlpOptions } from './lib/telemetry/otlp.ts'
import type { Traces } from './lib/telemetry/traces.ts'

/** Where no collector is configured, nothing of it is loaded. */
export async function createTraces(
  deps: Omit<OtlpOptions, 'endpoint' | 'headers' | 'percent' | 'resource'> & { config: Config; nodeId: string },
): Promise<(Traces & Running) | undefined> {
  const { config, nodeId, ...rest } = deps
  const { otlpEndpoint: endpoint, otlpHeaders: headers, tracePercent: percent, deployment, role } = config
  if (endpoint === undefined) return undefined
  const { startTraces } = await import('./lib/telemetry/otlp.ts')
  const resource = {
    'service.name': 'dealer-esim',
    'service.instance.id': nodeId,
    'deployment.environment.name': deployment,
    'dealer_esim.role': role,
  }
  return startTraces({ endpoint, headers, percent, resource, ...rest })
}
