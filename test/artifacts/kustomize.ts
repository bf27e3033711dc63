import { execFileSync } from 'node:child_process'
import { canRun } from '@dealer-esim/gateway/test/harness/can-run.ts'
import { parseAllDocuments } from 'yaml'

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
  spec: {
    replicas: number
    selector: { matchLabels: Record<string, string> } & Record<string, string>
    template: {
      metadata: { labels: Record<string, string> }
      spec: {
        terminationGracePeriodSeconds: number
        serviceAccountName: string
        securityContext: object
        containers: [Container]
        volumes: { name: string; secret?: { secretName: string } }[]
      }
    }
  }
}

/** The kustomize of kubectl before 1.24 reads no folders as resources. */
export function hasKustomize(): boolean {
  if (!canRun('the Kubernetes overlays', 'kubectl')) return false
  const version = JSON.parse(execFileSync('kubectl', ['version', '--client', '-o', 'json'], { encoding: 'utf8' }))
  return version.kustomizeVersion !== undefined
}

/** The objects of one overlay, as `kubectl apply -k` would send them. */
export function manifestsOf(overlay: string): Manifest[] {
  return readManifests(
    execFileSync('kubectl', ['kustomize', overlay], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }),
  )
}

export function readManifests(text: string): Manifest[] {
  return parseAllDocuments(text).map((document) => document.toJS() as Manifest)
}
