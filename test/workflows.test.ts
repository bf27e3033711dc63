import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parse } from 'yaml'

const root = join(import.meta.dirname, '..')
const read = (file: string) => readFileSync(join(root, file), 'utf8')

interface Workflow {
  jobs: Record<
    string,
    {
      steps: { run?: string; uses?: string; with?: Record<string, unknown> }[]
      strategy?: { matrix: { node: (string | number)[] } }
      container?: { image: string; options: string }
    }
  >
}

const workflow = (file: string) => parse(read(`.github/workflows/${file}`)) as Workflow
const commands = (file: string) =>
  Object.values(workflow(file).jobs).flatMap(({ steps }) => steps.flatMap(({ run }) => run?.trim().split('\n') ?? []))

const { scripts, engines } = JSON.parse(read('package.json')) as {
  scripts: Record<string, string>
  engines: { node: string }
}

test.each(readdirSync(join(root, '.github/workflows')))('%s runs only commands that exist', (file) => {
  expect(commands(file)).not.toEqual([])
  for (const command of commands(file)) {
    const [program, first, second] = command.split(' ') as [string, string, string?]
    if (program === 'npm' && first === 'run') expect(scripts).toHaveProperty([second!.replace(/^-s$/, '')])
    else if (program === 'npm') expect(['ci', 'test']).toContain(first)
    else expect([program, existsSync(join(root, first))]).toEqual(['bash', true])
  }
})

test.each(readdirSync(join(root, '.github/workflows')))(
  '%s clones the full history, which the tests need to build the previous release',
  (file) => {
    const steps = Object.values(workflow(file).jobs).flatMap((job) => job.steps)
    const checkouts = steps.filter(({ uses }) => uses?.startsWith('actions/checkout@'))
    expect(checkouts.map((step) => step.with?.['fetch-depth'])).toEqual(checkouts.map(() => 0))
  },
)

test('the clean-clone check runs every command in check.yml', () => {
  const proof = read('.ci/run')
  const run = [...proof.matchAll(/^\w+\(\) \{ (npm [^;|]+); \}$/gm)].map(([, command]) => command?.split(' -- ')[0])
  expect(run).toEqual(expect.arrayContaining(commands('check.yml')))
})

test('full.yml may create namespaces, which the artifact and network tests need', () => {
  expect(workflow('full.yml').jobs.full!.container).toEqual({
    image: expect.stringMatching(/^node:\d+\.\d+-bookworm$/),
    options: '--privileged',
  })
})

test('check.yml runs on the oldest supported Node, and on the one in .node-version', () => {
  const versions = workflow('check.yml').jobs.check!.strategy!.matrix.node.map(String)
  expect(engines.node).toBe(`>=${versions[0]}`)
  expect(versions).toContain(read('.node-version').trim())
})

test('the other files in .github are valid YAML', () => {
  const files = [
    'dependabot.yml',
    ...readdirSync(join(root, '.github/ISSUE_TEMPLATE')).map((name) => `ISSUE_TEMPLATE/${name}`),
  ]
  for (const file of files) expect(parse(read(`.github/${file}`))).toBeTypeOf('object')
})
