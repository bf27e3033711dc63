import { copyFileSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { builtArtifacts } from './built-artifacts.ts'
import { hasKustomize, type Manifest, manifestsOf, readManifests } from './kustomize.ts'
import { readmeCommands } from './readme-commands.ts'
import { emptyFolder, run } from './service.ts'

const KEY_BYTES = 32

describe.skipIf(!hasKustomize())('the archive of manifests', () => {
  const folder = emptyFolder('kubernetes')
  let artifacts: string
  beforeAll(() => {
    artifacts = builtArtifacts('npm', 'kubernetes')
  }, 900_000)
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  test("README's lines create what the pods read, and its SBOM lists the images", async () => {
    const [unpack = '', createSecret = '', apply = ''] = readmeCommands('tar xzf')
    const archive = /^tar xzf (\S+\.tgz) && cd (\S+)$/.exec(unpack)!
    copyFileSync(join(artifacts, archive[1]!), join(folder, archive[1]!))
    // Without a cluster, each command prints what it would send.
    const secretCommand = `${createSecret} --dry-run=client --output=yaml`
    const script = [unpack, secretCommand, 'echo ---', apply.replace('kubectl apply -k', 'kubectl kustomize')]
    expect(script.at(-1)).not.toBe(apply)
    const databaseUrl = 'postgres://dealer_esim:p@db.example.com/dealer_esim'
    const env = { PATH: process.env.PATH!, HOME: folder, DATABASE_URL: databaseUrl }
    const printed = await run(['sh', '-ec', script.join('\n')], { cwd: folder, env })
    const [secret, ...manifests] = readManifests(printed)

    const contents = Object.entries(secret!.data).map(([name, text]) => [name, Buffer.from(text, 'base64').toString()])
    const { 'master-key': masterKey = '', ...others } = Object.fromEntries(contents)
    expect(Buffer.from(masterKey, 'base64')).toHaveLength(KEY_BYTES)
    expect(others).toEqual({ 'database-url': databaseUrl })
    const { MASTER_KEY_FILE, DATABASE_URL_FILE } = manifests.find(({ kind }) => kind === 'ConfigMap')!.data
    const pod = deploymentsIn(manifests)[0]!.spec.template.spec
    const mount = pod.containers[0].volumeMounts.find(({ name }) => name === 'secrets')!
    expect([MASTER_KEY_FILE, DATABASE_URL_FILE]).toEqual(
      ['master-key', 'database-url'].map((name) => `${mount.mountPath}/${name}`),
    )
    expect(pod.volumes.find(({ name }) => name === mount.name)?.secret?.secretName).toBe(secret!.metadata.name)

    const overlays = join(folder, archive[2]!, 'overlays')
    const images = readdirSync(overlays)
      .flatMap((overlay) => deploymentsIn(manifestsOf(join(overlays, overlay))))
      .flatMap(({ spec }) => spec.template.spec.containers.map(({ image }) => image))
    const sbom = archive[1]!.replace('.tgz', '.cdx.json')
    const { components } = JSON.parse(readFileSync(join(artifacts, sbom), 'utf8')) as {
      components: { type: string; name: string; version: string }[]
    }
    expect(components.map(({ type, name, version }) => [type, `${name}:${version}`])).toEqual(
      [...new Set(images)].map((image) => ['container', image]),
    )
  })
})

function deploymentsIn(manifests: Manifest[]): Manifest[] {
  return manifests.filter(({ kind }) => kind === 'Deployment')
}
