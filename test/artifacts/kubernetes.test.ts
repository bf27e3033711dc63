import { join } from 'node:path'
import { VARIABLES } from '@dealer-esim/gateway/platform/config/variables.ts'
import { describe, expect, test } from 'vitest'
import { root } from '../local-gateway.ts'
import { hasKustomize, manifestsOf } from './kustomize.ts'

describe.skipIf(!hasKustomize()).each(['one-node', 'apart', 'cells'])('the overlay %s', (overlay) => {
  const manifests = manifestsOf(join(root, 'ops/kubernetes/overlays', overlay))
  const of = (kind: string) => manifests.filter((manifest) => manifest.kind === kind)
  const deployments = of('Deployment')

  test('conforms to the schemas of Kubernetes', async () => {
    for (const manifest of manifests) await expect(faultsOf(manifest)).resolves.toBe(undefined)
    const { spec } = deployments[0]!
    const misspelled = { ...deployments[0]!, spec: { ...spec, replicas: 'two' } }
    await expect(faultsOf(misspelled)).resolves.toMatch(/replicas/)
  })

  test('runs the gateway without rights, with probes, and gives it time to stop', () => {
    expect(deployments.length).toBeGreaterThan(0)
    for (const { spec } of deployments) {
      const { containers, securityContext, terminationGracePeriodSeconds } = spec.template.spec
      const [container] = containers
      const probes = [container.startupProbe, container.livenessProbe, container.readinessProbe]
      expect(probes.map(({ httpGet }) => httpGet)).toEqual(
        ['/livez', '/livez', '/readyz'].map((path) => ({ path, port: 'metrics' })),
      )
      expect(container.ports).toContainEqual({ name: 'metrics', containerPort: Number(VARIABLES.metricsPort.default) })
      expect(securityContext).toMatchObject({ runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } })
      expect(container.securityContext).toEqual({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      })
      expect(container.resources).toMatchObject({
        requests: { memory: expect.any(String) },
        limits: { memory: expect.any(String) },
      })
      // STOP_DELAY_MS is 5 000 by default.
      expect(terminationGracePeriodSeconds * 1_000).toBeGreaterThan(5_000 + Number(VARIABLES.drainTimeoutMs.default))
    }
  })

  test('takes secrets by reference, from a Secret that it does not contain', () => {
    expect(of('Secret')).toEqual([])
    const configured = of('ConfigMap')
    for (const { spec } of deployments) {
      const { containers, volumes } = spec.template.spec
      const [container] = containers
      const map = configured.find(({ metadata }) => metadata.name === container.envFrom[0]?.configMapRef.name)!
      const mount = container.volumeMounts.find(({ name }) => name === 'secrets')!
      const secret = volumes.find(({ name }) => name === mount.name)!.secret!
      expect(secret.secretName).toMatch(/dealer-esim$/)
      for (const name of ['MASTER_KEY_FILE', 'DATABASE_URL_FILE'])
        expect(map.data[name]).toMatch(new RegExp(`^${mount.mountPath}/`))
      const known = Object.values<{ name: string; secret?: true }>(VARIABLES)
      for (const { name, secret } of known) if (secret) expect(map.data).not.toHaveProperty(name)
      expect(container.env).toBe(undefined)
    }
  })

  test('a disruption budget covers every deployment, and selects its pods', () => {
    const covers = (labels: Record<string, string>) =>
      of('PodDisruptionBudget').filter(({ spec }) => isSubset(spec.selector.matchLabels, labels))
    for (const { spec } of deployments) expect(covers(spec.template.metadata.labels)).toHaveLength(1)
  })

  test('each service leads to pods that serve', () => {
    for (const { spec } of of('Service')) {
      const chosen = deployments.filter(({ spec: each }) => isSubset(spec.selector, each.template.metadata.labels))
      expect(chosen).toHaveLength(1)
      const [container] = chosen[0]!.spec.template.spec.containers
      expect(container.args).not.toContain('worker')
      expect(container.ports).toContainEqual({ name: 'http', containerPort: 8080 })
    }
  })

  test('every process finds a worker of its own gateway', () => {
    const cells = new Set(deployments.map(({ metadata }) => metadata.labels?.['dealer-esim/cell'] ?? ''))
    for (const cell of cells) {
      const roles = deployments
        .filter(({ metadata }) => (metadata.labels?.['dealer-esim/cell'] ?? '') === cell)
        .map(({ spec }) => spec.template.spec.containers[0].args.at(-1))
      expect(roles.some((role) => role === 'all' || role === 'worker')).toBe(true)
      expect(roles.some((role) => role === 'all' || role === 'api')).toBe(true)
    }
    const names = of('ConfigMap').map(({ data }) => data.CELL_NAME)
    expect(new Set(names).size).toBe(names.length)
  })
})

const SCHEMAS: Record<string, () => Promise<object>> = {
  v1: () => import('kubernetes-models/v1'),
  'apps/v1': () => import('kubernetes-models/apps/v1'),
  'policy/v1': () => import('kubernetes-models/policy/v1'),
}

/** What Kubernetes would refuse of an object; undefined if nothing. */
async function faultsOf(manifest: object & { apiVersion: string; kind: string }): Promise<string | undefined> {
  const models = (await SCHEMAS[manifest.apiVersion]!()) as Record<string, new (data: object) => { validate(): void }>
  try {
    new models[manifest.kind]!(manifest).validate()
    return undefined
  } catch (failure) {
    return String(failure)
  }
}

function isSubset(part: Record<string, string>, whole: Record<string, string>): boolean {
  return Object.entries(part).every(([name, value]) => whole[name] === value)
}
