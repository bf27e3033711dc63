import { spawnSync } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { openApiDocument, rtOpenApiDocument } from '@dealer-esim/contract'
import { startConsole } from '@dealer-esim/gateway/test/http/console/console-testbed.ts'
import { build } from 'esbuild'
import { beforeAll, describe, expect, test } from 'vitest'

/** The linters and generators of package.json, which is outside the workspaces: nobody else installs 200 MB for them. */
const folder = import.meta.dirname
/** Hidden from the repository's compiler and linter. */
const generated = join(folder, 'node_modules/.generated')

beforeAll(async () => {
  run('npm', ['ci', '--ignore-scripts', '--prefer-offline'])
  rmSync(generated, { recursive: true, force: true })
  mkdirSync(generated)
  writeFileSync(documentFile('dealer'), JSON.stringify(openApiDocument(), null, 2))
  writeFileSync(documentFile('rt'), JSON.stringify(rtOpenApiDocument(), null, 2))
  const console = await startConsole()
  const { body } = await console.app.inject({ url: '/console/api/openapi.json' })
  await console.stop()
  writeFileSync(documentFile('console'), JSON.stringify(JSON.parse(body), null, 2))
}, 300_000)

describe.each(['dealer', 'rt', 'console'])('the OpenAPI document of the %s API', (api) => {
  test('has no errors or warnings from Redocly', () => {
    const lint = ['lint', documentFile(api), `--config=${redoclyConfig(api)}`, '--format=json']
    const { stdout } = tool('redocly', lint)
    const problems: { ruleId: string; location: { pointer: string }[] }[] = JSON.parse(stdout).problems
    expect(problems.map(({ ruleId, location }) => [ruleId, location[0]?.pointer])).toEqual([])
  })

  test('has no errors or warnings from Spectral', () => {
    const lint = ['lint', '--ruleset', 'spectral.yaml', '--format', 'json', '--quiet', documentFile(api)]
    const { stdout } = tool('spectral', lint)
    const problems: { code: string; path: string[] }[] = JSON.parse(stdout)
    expect(problems.map(({ code, path }) => [code, path.join('/')])).toEqual([])
  })

  test('yields clients that compile: openapi-typescript, hey-api with zod, orval', () => {
    const target = join(generated, api)
    const types = ['-o', join(target, 'openapi-typescript.ts'), '--redocly', redoclyConfig(api)]
    run(bin('openapi-typescript'), [documentFile(api), ...types])
    const plugins = ['@hey-api/client-fetch', '@hey-api/typescript', '@hey-api/sdk', 'zod']
    run(bin('openapi-ts'), ['-i', documentFile(api), '-o', join(target, 'hey-api'), '-p', ...plugins])
    run(bin('orval'), ['--input', documentFile(api), '--output', join(target, 'orval.ts'), '--client', 'fetch'])
    const tsconfig = join(generated, `tsconfig.${api}.json`)
    writeFileSync(tsconfig, JSON.stringify({ extends: join(folder, 'tsconfig.json'), include: [`${api}/**/*`] }))
    expect(tool('tsc', ['-p', tsconfig]).stdout).toBe('')
  })
})

test('a generated validator accepts and refuses the same letters as the gateway', async () => {
  const outfile = join(generated, 'zod.mjs')
  await build({ entryPoints: [join(generated, 'dealer/hey-api/zod.gen.ts')], outfile, bundle: true, format: 'esm' })
  const { zWebhookSetRequest: request } = await import(pathToFileURL(outfile).href)
  const accepts = (callbackUrl: string) => request.safeParse({ callbackUrl }).success
  expect(['https://CapeTown.example/sp{C}', 'https://東京.example/🗼'].map(accepts)).toEqual([true, true])
  expect(['https://x.example/\u0000', 'https://x.example/\n'].map(accepts)).toEqual([false, false])
})

function documentFile(api: string): string {
  return join(generated, `${api}.json`)
}

function redoclyConfig(api: string): string {
  return api === 'rt' ? 'redocly-rt.yaml' : 'redocly.yaml'
}

function bin(name: string): string {
  return join(folder, 'node_modules/.bin', name)
}

function tool(name: string, args: string[]) {
  return spawnSync(bin(name), args, {
    cwd: folder,
    encoding: 'utf8',
    env: { ...process.env, REDOCLY_TELEMETRY: 'off' },
  })
}

function run(file: string, args: string[]): void {
  const { status, stdout, stderr } = spawnSync(file, args, { cwd: folder, encoding: 'utf8' })
  if (status !== 0) throw new Error(`${file} ended with ${status}: ${stdout}${stderr}`)
}
