import { execFileSync } from 'node:child_process'
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { canRun } from '@dealer-esim/gateway/test/harness/can-run.ts'
import { parseAllDocuments } from 'yaml'

/**
 * The objects of one overlay, as `kubectl apply -k` would send them. Supports the part of kustomize that our overlays use,
 * so that they are tested without kubectl, and refuses the rest. A test compares it with kubectl's own.
 * @throws if a resource is missing, or a patch has no target
 */
export function manifestsOf(overlay: string): Manifest[] {
  const kustomization = readYaml(join(overlay, 'kustomization.yaml'))[0] as unknown as Kustomization
  const { resources, patches = [], namePrefix = '', labels = [], images = [], ...others } = kustomization
  if (Object.keys(others).length > 0)
    throw new Error(`${overlay}: extend this reader for ${Object.keys(others).join(', ')}`)
  const objects = resources.flatMap((resource) => {
    const path = join(overlay, resource)
    return statSync(path).isDirectory() ? manifestsOf(path) : readYaml(path)
  })
  for (const { path } of patches) for (const patch of readYaml(join(overlay, path))) applyPatch(objects, patch)
  if (namePrefix !== '') addPrefix(objects, namePrefix)
  for (const { pairs, includeSelectors } of labels) for (const each of objects) addLabels(each, pairs, includeSelectors)
  for (const container of objects.flatMap(containersOf)) {
    const [name, tag] = container.image.split(':') as [string, string]
    container.image = `${name}:${images.find((image) => image.name === name)?.newTag ?? tag}`
  }
  return objects
}

/** The kustomize of kubectl before 1.24, which Debian 12 has, reads no folders as resources. */
export function hasKustomize(): boolean {
  if (!canRun('the Kubernetes overlays by kubectl', 'kubectl')) return false
  const version = JSON.parse(execFileSync('kubectl', ['version', '--client', '-o', 'json'], { encoding: 'utf8' }))
  return version.kustomizeVersion !== undefined
}

/** The objects of one overlay by kubectl itself. */
export function manifestsByKubectl(overlay: string): Manifest[] {
  const command = ['kustomize', overlay]
  return readManifests(execFileSync('kubectl', command, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }))
}

/** @throws if the text is not YAML, or repeats a member */
export function readManifests(text: string): Manifest[] {
  // As Kubernetes parses YAML: 0440 is octal.
  return parseAllDocuments(text, { version: '1.1' }).map((document) => {
    if (document.errors[0]) throw document.errors[0]
    return document.toJS() as Manifest
  })
}

export interface Kustomization {
  resources: string[]
  patches?: { path: string }[]
  namePrefix?: string
  labels?: { pairs: Record<string, string>; includeSelectors: boolean }[]
  images?: { name: string; newTag: string }[]
}

interface Container {
  args: string[]
  image: string
  envFrom: { configMapRef: { name: string } }[]
  env?: object[]
  startupProbe: Probe
  livenessProbe: Probe
  readinessProbe: Probe
  resources: { requests: object; limits: object }
  securityContext: object
  ports: { name: string; containerPort: number }[]
  volumeMounts: { name: string; mountPath: string }[]
}

interface Probe {
  httpGet: { path: string; port: string }
}

export interface Manifest {
  apiVersion: string
  kind: string
  metadata: { name: string; labels?: Record<string, string> }
  data: Record<string, string>
  automountServiceAccountToken?: boolean
  spec: {
    replicas: number
    minAvailable?: number
    maxUnavailable?: number
    selector: { matchLabels: Record<string, string> } & Record<string, string>
    template: PodTemplate
    jobTemplate?: { metadata?: { labels?: Record<string, string> }; spec: { template: PodTemplate } }
  }
}

interface PodTemplate {
  metadata: { labels: Record<string, string> }
  spec: {
    terminationGracePeriodSeconds: number
    serviceAccountName: string
    securityContext: object
    containers: [Container]
    volumes: Volume[]
  }
}

interface Volume {
  name: string
  secret?: { secretName: string; defaultMode: number }
  emptyDir?: object
  persistentVolumeClaim?: { claimName: string }
}

function readYaml(path: string): Manifest[] {
  return readManifests(readFileSync(path, 'utf8'))
}

function applyPatch(objects: Manifest[], patch: Manifest): void {
  const index = objects.findIndex(({ kind, metadata }) => kind === patch.kind && metadata.name === patch.metadata.name)
  if (index < 0) throw new Error(`no ${patch.kind} ${patch.metadata.name} for its patch`)
  objects[index] = merge(objects[index], patch) as Manifest
}

/** A strategic merge: objects by member; lists, which must contain named objects, by name. */
function merge(base: unknown, patch: unknown): unknown {
  if (Array.isArray(base) && Array.isArray(patch)) {
    const merged = new Map(base.map((each) => [nameOf(each), each]))
    for (const each of patch) merged.set(nameOf(each), merge(merged.get(nameOf(each)), each))
    return [...merged.values()]
  }
  if (!(isObject(base) && isObject(patch))) return patch
  return {
    ...base,
    ...Object.fromEntries(Object.entries(patch).map(([name, value]) => [name, merge(base[name], value)])),
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function nameOf(item: unknown): string {
  if (isObject(item) && typeof item.name === 'string') return item.name
  throw new Error('extend this reader for patches of lists without names')
}

/** Renames all objects and the references to them; names of objects elsewhere, such as Secrets, stay. */
function addPrefix(objects: Manifest[], prefix: string): void {
  const own = new Set(objects.map(({ kind, metadata }) => `${kind} ${metadata.name}`))
  const renamed = (kind: string, name: string) => (own.has(`${kind} ${name}`) ? prefix + name : name)
  for (const { kind, metadata, spec } of objects) {
    metadata.name = prefix + metadata.name
    const pod = podTemplateOf({ kind, spec })?.spec
    if (pod === undefined) continue
    pod.serviceAccountName = renamed('ServiceAccount', pod.serviceAccountName)
    for (const { configMapRef } of pod.containers.flatMap(({ envFrom }) => envFrom))
      configMapRef.name = renamed('ConfigMap', configMapRef.name)
    for (const { persistentVolumeClaim: claim } of pod.volumes)
      if (claim) claim.claimName = renamed('PersistentVolumeClaim', claim.claimName)
  }
}

function addLabels({ kind, metadata, spec }: Manifest, pairs: Record<string, string>, includeSelectors: boolean): void {
  metadata.labels = { ...metadata.labels, ...pairs }
  if (!includeSelectors || spec === undefined) return
  if (kind === 'Service') Object.assign(spec.selector, pairs)
  else if (spec.selector) Object.assign(spec.selector.matchLabels, pairs)
  const template = podTemplateOf({ kind, spec })
  if (template) Object.assign(template.metadata.labels, pairs)
  const job = spec.jobTemplate
  if (job) job.metadata = { ...job.metadata, labels: { ...job.metadata?.labels, ...pairs } }
}

function containersOf(manifest: Manifest): Container[] {
  return podTemplateOf(manifest)?.spec.containers ?? []
}

/** The pods that an object makes, if it makes any. */
function podTemplateOf({ kind, spec }: Pick<Manifest, 'kind' | 'spec'>): PodTemplate | undefined {
  if (kind === 'CronJob') return spec.jobTemplate?.spec.template
  return kind === 'Deployment' ? spec.template : undefined
}
