import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { inspectConfig } from '@dealer-esim/gateway/platform/config/config.ts'
import { VARIABLES } from '@dealer-esim/gateway/platform/config/variables.ts'
import { describe, expect, test } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { root } from '../local-gateway.ts'
import { hasKustomize, type Kustomization, manifestsByKubectl, manifestsOf } from './kustomize.ts'

const OVERLAYS = join(root, 'ops/kubernetes/overlays')
const hasKubectl = hasKustomize()

/** Runs beside another overlay's gateway, so it has no deployment of its own. */
const BACKUP = 'backup'

describe.each(readdirSync(OVERLAYS).filter((name) => name !== BACKUP))('the overlay %s', (overlay) => {
  const manifests = manifestsOf(join(OVERLAYS, overlay))
  const of = (kind: string) => manifests.filter((manifest) => manifest.kind === kind)
  const deployments = of('Deployment')

  test.skipIf(!hasKubectl)('is rendered by kubectl exactly as in these tests', () => {
    const sorted = (objects: typeof manifests) =>
      Object.fromEntries(objects.map((each) => [`${each.kind} ${each.metadata.name}`, each]))
    expect(sorted(manifests)).toEqual(sorted(manifestsByKubectl(join(OVERLAYS, overlay))))
  })

  test('conforms to the Kubernetes schemas', async () => {
    for (const manifest of manifests) await expect(faultsOf(manifest)).resolves.toBe(undefined)
    const { spec } = deployments[0]!
    const misspelled = { ...deployments[0]!, spec: { ...spec, replicas: 'two' } }
    await expect(faultsOf(misspelled)).resolves.toMatch(/replicas/)
  })

  test('runs the gateway without privileges, with probes and enough time to stop', () => {
    expect(deployments.length).toBeGreaterThan(0)
    for (const { spec } of deployments) {
      const { containers, securityContext, terminationGracePeriodSeconds } = spec.template.spec
      const [container] = containers
      const probes = [container.startupProbe, container.livenessProbe, container.readinessProbe]
      expect(probes.map(({ httpGet }) => httpGet)).toEqual(
        ['/livez', '/livez', '/readyz'].map((path) => ({ path, port: 'metrics' })),
      )
      expect(container.ports).toContainEqual({ name: 'metrics', containerPort: Number(VARIABLES.metricsPort.default) })
      expect(securityContext).toMatchObject({
        ...{ runAsNonRoot: true, runAsUser: 10_001, runAsGroup: 10_001, fsGroup: 10_001 },
        seccompProfile: { type: 'RuntimeDefault' },
      })
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

  test('runs this release’s image under a service account without a token, with a valid configuration', () => {
    const accounts = of('ServiceAccount')
    for (const { automountServiceAccountToken } of accounts) expect(automountServiceAccountToken).toBe(false)
    for (const { spec } of deployments) {
      const { containers, serviceAccountName } = spec.template.spec
      const [{ image, args, envFrom }] = containers
      expect(image).toBe('dealer-esim-gateway:@VERSION@') // npm run dist puts the version here
      expect(args.slice(0, -1)).toEqual(['dealer-esim-gateway', '--role'])
      expect(accounts.map(({ metadata }) => metadata.name)).toContain(serviceAccountName)
      const { data } = of('ConfigMap').find(({ metadata }) => metadata.name === envFrom[0]!.configMapRef.name)!
      const { MASTER_KEY_FILE, DATABASE_URL_FILE, CELL_NAME, ...settings } = data
      const known = Object.values(VARIABLES).map(({ name }) => name)
      expect(Object.keys(settings).filter((name) => !known.some((each) => each === name))).toEqual([])
      const secrets = { MASTER_KEY: Buffer.alloc(32, 7).toString('base64'), DATABASE_URL: 'postgres://u:p@db/gateway' }
      expect(inspectConfig({ ...settings, ...secrets }, args.slice(1)).faults).toEqual([])
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
      // Only the group fsGroup can read it.
      expect(secret.defaultMode).toBe(0o440)
      // Everything that is writable under a read-only root.
      expect(volumes.filter(({ name }) => name !== mount.name)).toEqual([{ name: 'tmp', emptyDir: {} }])
      expect(container.volumeMounts).toContainEqual({ name: 'tmp', mountPath: '/tmp' })
      for (const name of ['MASTER_KEY_FILE', 'DATABASE_URL_FILE'])
        expect(map.data[name]).toMatch(new RegExp(`^${mount.mountPath}/`))
      const known = Object.values<{ name: string; secret?: true }>(VARIABLES)
      for (const { name, secret } of known) if (secret) expect(map.data).not.toHaveProperty(name)
      expect(container.env).toBe(undefined)
    }
  })

  test('has a disruption budget that selects the pods of every deployment', () => {
    const covers = (labels: Record<string, string>) =>
      of('PodDisruptionBudget').filter(({ spec }) => isSubset(spec.selector.matchLabels, labels))
    for (const { spec } of deployments) {
      const budgets = covers(spec.template.metadata.labels)
      expect(budgets).toHaveLength(1)
      // Allows a node to be drained, but never takes the last of several processes.
      const { minAvailable, maxUnavailable } = budgets[0]!.spec
      expect([minAvailable, maxUnavailable]).toEqual(spec.replicas > 1 ? [1, undefined] : [undefined, 1])
    }
  })

  test('has services that point only to pods that serve requests', () => {
    for (const { spec } of of('Service')) {
      const chosen = deployments.filter(({ spec: each }) => isSubset(spec.selector, each.template.metadata.labels))
      expect(chosen).toHaveLength(1)
      const [container] = chosen[0]!.spec.template.spec.containers
      expect(container.args).not.toContain('worker')
      expect(container.ports).toContainEqual({ name: 'http', containerPort: 8080 })
    }
  })

  test('lets every process find a worker of the same gateway', () => {
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

test('the backup overlay makes a daily encrypted backup without privileges, using the gateway’s secrets', async () => {
  const documents = parseAllDocuments(readFileSync(join(OVERLAYS, BACKUP, 'backup.yaml'), 'utf8'), { version: '1.1' })
  const objects = documents.map((one) => one.toJS())
  for (const one of objects) await expect(faultsOf(one)).resolves.toBe(undefined)
  const { spec } = objects.find(({ kind }) => kind === 'CronJob')
  const pod = spec.jobTemplate.spec.template.spec
  const [container] = pod.containers
  expect(container.args).toEqual(['dealer-esim-admin', 'backup', '/backups', '--encrypt', '--keep', '14'])
  expect(pod.securityContext).toMatchObject({ runAsNonRoot: true, runAsUser: 10_001 })
  expect(container.securityContext).toMatchObject({ readOnlyRootFilesystem: true, capabilities: { drop: ['ALL'] } })
  expect(container.envFrom).toEqual([{ configMapRef: { name: 'dealer-esim' } }])
  expect(pod.volumes).toContainEqual({ name: 'secrets', secret: { secretName: 'dealer-esim', defaultMode: 0o440 } })
})

test('every manifest file belongs to an overlay', () => {
  const used = new Set<string>()
  const follow = (path: string) => {
    if (!path.endsWith('.yaml')) return follow(join(path, 'kustomization.yaml'))
    used.add(path)
    if (!path.endsWith('/kustomization.yaml')) return
    const { resources, patches = [] } = parse(readFileSync(path, 'utf8')) as Kustomization
    for (const name of [...resources, ...patches.map((patch) => patch.path)]) follow(join(path, '..', name))
  }
  for (const overlay of readdirSync(OVERLAYS)) follow(join(OVERLAYS, overlay))
  const folder = join(root, 'ops/kubernetes')
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.yaml'))
  expect([...used].sort()).toEqual(files.map((file) => join(folder, file)).sort())
})

const SCHEMAS: Record<string, () => Promise<object>> = {
  v1: () => import('kubernetes-models/v1'),
  'apps/v1': () => import('kubernetes-models/apps/v1'),
  'batch/v1': () => import('kubernetes-models/batch/v1'),
  'policy/v1': () => import('kubernetes-models/policy/v1'),
}

/** What Kubernetes would reject in an object; undefined if nothing. */
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
