import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { builtArtifacts } from './built-artifacts.ts'
import { hasKustomize, type Manifest, manifestsOf, readManifests } from './kustomize.ts'
import { readmeCommands } from './readme-commands.ts'
import { emptyFolder, run } from './service.ts'

const KEY_BYTES = 32
const DATABASE_URL = 'postgres://dealer_esim:p@db.example.com/dealer_esim'

const folder = emptyFolder('kubernetes')
const [unpack = '', createSecret = '', apply = ''] = readmeCommands('tar xzf')
const [, archive = '', unpacked = ''] = /^tar xzf (\S+\.tgz) && cd (\S+)$/.exec(unpack) ?? []
let artifacts: string
beforeAll(() => {
  artifacts = builtArtifacts('npm', 'kubernetes')
  copyFileSync(join(artifacts, archive), join(folder, archive))
}, 900_000)
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Runs lines in the folder of the archive; `programs` come before the machine's own. */
const runLines = (lines: string[], programs = '') =>
  run(['sh', '-ec', lines.join('\n')], {
    cwd: folder,
    env: { PATH: `${programs}:${process.env.PATH}`, HOME: folder, DATABASE_URL },
  })

test('the README’s commands create everything that the pods read', async () => {
  // There is no cluster: this kubectl prints what it was asked to do.
  const programs = join(folder, 'programs')
  mkdirSync(programs, { recursive: true })
  const recorder = `#!${process.execPath}\nconsole.log(JSON.stringify(process.argv.slice(2)))`
  writeFileSync(join(programs, 'kubectl'), recorder, { mode: 0o755 })
  const calls = (await runLines([unpack, createSecret, apply], programs)).trimEnd().split('\n')
  const [[create, secret, generic, name, ...literals], [verb, flag, overlay]] = calls.map((line) =>
    JSON.parse(line),
  ) as [string[], [string, string, string]]
  expect([create, secret, generic, verb, flag]).toEqual(['create', 'secret', 'generic', 'apply', '-k'])
  const contents = literals.map((each) => /^--from-literal=([\w-]+)=(.*)$/.exec(each)!.slice(1))
  const { 'master-key': masterKey = '', ...others } = Object.fromEntries(contents)
  expect(Buffer.from(masterKey, 'base64')).toHaveLength(KEY_BYTES)
  expect(others).toEqual({ 'database-url': DATABASE_URL })

  const manifests = manifestsOf(join(folder, unpacked, overlay))
  const { MASTER_KEY_FILE, DATABASE_URL_FILE } = manifests.find(({ kind }) => kind === 'ConfigMap')!.data
  const pod = deploymentsIn(manifests)[0]!.spec.template.spec
  const mount = pod.containers[0].volumeMounts.find(({ name: volume }) => volume === 'secrets')!
  expect([MASTER_KEY_FILE, DATABASE_URL_FILE]).toEqual(
    ['master-key', 'database-url'].map((file) => `${mount.mountPath}/${file}`),
  )
  expect(pod.volumes.find(({ name: volume }) => volume === mount.name)?.secret?.secretName).toBe(name)
})

test.skipIf(!hasKustomize())('kubectl accepts the README’s commands', async () => {
  const secret = `${createSecret} --dry-run=client --output=yaml`
  const overlay = apply.replace('kubectl apply -k', 'kubectl kustomize')
  expect(overlay).not.toBe(apply)
  const kinds = readManifests(await runLines([unpack, secret, 'echo ---', overlay])).map(({ kind }) => kind)
  expect(kinds.sort()).toEqual([
    'ConfigMap',
    'Deployment',
    'PodDisruptionBudget',
    'Secret',
    'Service',
    'ServiceAccount',
  ])
})

test('the SBOM lists the images, all of this release', async () => {
  await runLines([unpack])
  const overlays = join(folder, unpacked, 'overlays')
  const images = readdirSync(overlays)
    .flatMap((overlay) => deploymentsIn(manifestsOf(join(overlays, overlay))))
    .flatMap(({ spec }) => spec.template.spec.containers.map(({ image }) => image))
  const [, version] = /(\d+\.\d+\.\d+)/.exec(archive)!
  expect([...new Set(images)]).toEqual([`dealer-esim-gateway:${version}`])
  const { components } = JSON.parse(readFileSync(join(artifacts, archive.replace('.tgz', '.cdx.json')), 'utf8')) as {
    components: { type: string; name: string; version: string }[]
  }
  expect(components.map((each) => [each.type, `${each.name}:${each.version}`])).toEqual([['container', images[0]]])
})

function deploymentsIn(manifests: Manifest[]): Manifest[] {
  return manifests.filter(({ kind }) => kind === 'Deployment')
}
