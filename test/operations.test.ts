import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { canRun } from '@dealer-esim/gateway/test/harness/can-run.ts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parse, stringify } from 'yaml'
import { headingId } from '../packages/gateway/src/http/public/docs/docs-markdown.ts'
import { DELETED, PARTITIONED } from '../packages/gateway/src/platform/retention/retention-table.ts'
import { startUsedGateway, stopGateways } from '../packages/gateway/test/harness/processes/gateway-process.ts'
import { createAuthority } from '../packages/gateway/test/harness/servers/certificates.ts'
import { root } from './local-gateway.ts'

interface Rule {
  alert: string
  expr: string
  labels: { severity: string }
  annotations: { summary: string; runbook: string }
}

interface AlertTest {
  input_series: { series: string }[]
  alert_rule_test: { alertname: string; exp_alerts?: unknown[] }[]
}

const { groups } = parse(readFileSync(join(root, 'ops/alerts.yml'), 'utf8')) as { groups: { rules: Rule[] }[] }
const rules = groups.flatMap((group) => group.rules)
const { tests: alertTests } = parse(readFileSync(join(root, 'ops/alerts.test.yml'), 'utf8')) as { tests: AlertTest[] }
const page = (name: string) => readFileSync(join(root, `docs/${name}.md`), 'utf8')
const explained = [...page('alerts').matchAll(/^## (.*)$/gm)].map(([, name]) => name!)
const folder = mkdtempSync(join(tmpdir(), 'dealer-esim-operations-'))

/** The exported metrics and their labels. */
const exported = new Map<string, Set<string>>()
beforeAll(async () => {
  const [TLS_CERT_FILE, TLS_KEY_FILE] = [join(folder, 'cert.pem'), join(folder, 'key.pem')]
  const { cert, key } = createAuthority('Test authority').issue('localhost')
  writeFileSync(TLS_CERT_FILE, cert)
  writeFileSync(TLS_KEY_FILE, key)
  const gateway = await startUsedGateway({ env: { TLS_CERT_FILE, TLS_KEY_FILE } })
  const { metricsPort } = gateway.logs.find((line) => line.msg === 'ready')!
  const text = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text()
  for (const [, name] of text.matchAll(/^# TYPE (\w+) /gm)) exported.set(name!, new Set())
  for (const [, sample, labels] of text.matchAll(/^(\w+)\{([^}]*)\}/gm)) {
    const known = exported.get(familyOf(sample!))
    for (const [, label] of labels!.matchAll(/(\w+)="/g)) known?.add(label!)
  }
})
afterAll(async () => {
  await stopGateways()
  rmSync(folder, { recursive: true, force: true })
})

function familyOf(name: string): string {
  return exported.has(name) ? name : name.replace(/_(bucket|sum|count)$/, '')
}

interface Panel {
  title: string
  gridPos: { h: number; w: number; x: number; y: number }
  targets?: { expr: string; legendFormat: string }[]
}

describe('the Grafana dashboard', () => {
  const { panels } = JSON.parse(readFileSync(join(root, 'ops/grafana-dashboard.json'), 'utf8')) as { panels: Panel[] }
  const targets = panels.flatMap(({ title, targets = [] }) => targets.map((target) => ({ title, ...target })))

  test.each(targets)('plots only exported metrics with existing labels: $title', ({ expr, legendFormat }) => {
    const named = [...expr.matchAll(/\b(?:dealer_esim|process|nodejs)_\w+/g)].map(([name]) => familyOf(name))
    expect(named).not.toEqual([])
    expect(named.filter((name) => !exported.has(name))).toEqual([])
    // Prometheus adds `instance` and `job` itself.
    const known = new Set(['instance', 'job', 'le', ...named.flatMap((name) => [...exported.get(name)!])])
    const used = [
      ...[...expr.matchAll(/by \(([^)]*)\)/g)].flatMap(([, labels]) => labels!.split(', ')),
      ...[...expr.matchAll(/(\w+)(?:=|!=|=~)"/g)].map(([, label]) => label!),
      ...[...legendFormat.matchAll(/\{\{(\w+)\}\}/g)].map(([, label]) => label!),
    ]
    // A metric without samples yet has no known labels.
    if (named.every((name) => exported.get(name)!.size > 0))
      expect(used.filter((label) => !known.has(label))).toEqual([])
  })

  test.skipIf(!canRun('the queries of the dashboard', 'promtool'))(
    'contains only queries that promtool can evaluate',
    () => {
      const variables = { $__rate_interval: '5m' }
      const queries = targets.map(({ expr }) =>
        Object.entries(variables).reduce((text, [name, value]) => text.replaceAll(name, value), expr),
      )
      expect(queries.length).toBeGreaterThan(20)
      const evaluate = (list: string[]) => {
        const file = join(folder, 'dashboard.test.yml')
        const evaluated = list.map((expr) => ({ expr, eval_time: '10m', exp_samples: [] }))
        writeFileSync(file, stringify({ tests: [{ interval: '1m', input_series: [], promql_expr_test: evaluated }] }))
        execFileSync('promtool', ['test', 'rules', file], { stdio: 'pipe' })
      }
      evaluate(queries)
      expect(() => evaluate(['sum by (le) (rate(dealer_esim_orders[5m])'])).toThrow()
    },
  )

  test('contains no overlapping panels', () => {
    const overlaps = panels.filter((one) =>
      panels.some(
        ({ gridPos: b }) =>
          one.gridPos !== b &&
          one.gridPos.x < b.x + b.w &&
          b.x < one.gridPos.x + one.gridPos.w &&
          one.gridPos.y < b.y + b.h &&
          b.y < one.gridPos.y + one.gridPos.h,
      ),
    )
    expect(overlaps.map(({ title }) => title)).toEqual([])
  })
})

describe('the alerts', () => {
  test('have unique names', () => {
    expect(rules.length).toBeGreaterThan(15)
    expect(new Set(rules.map(({ alert }) => alert)).size).toBe(rules.length)
  })

  test.each(rules)('use only exported metrics: $alert', ({ expr }) => {
    const named = [...expr.matchAll(/\b(?:dealer_esim|process|nodejs)_\w+/g)].map(([name]) => familyOf(name))
    // `up` is Prometheus' own.
    if (!/\bup\{/.test(expr)) expect(named).not.toEqual([])
    expect(named.filter((name) => !exported.has(name))).toEqual([])
    for (const [, name, labels] of expr.matchAll(/\b(dealer_esim_\w+)\{([^}]*)\}/g)) {
      const known = exported.get(familyOf(name!))!
      const asked = [...labels!.matchAll(/(\w+)(?:=~|=|!=)"/g)].map(([, label]) => label!)
      expect(asked).not.toEqual([])
      // Some metrics have no sample before something has happened.
      if (known.size > 0) expect([...known]).toEqual(expect.arrayContaining(asked))
    }
  })

  test.each(rules)('state their urgency and link to instructions: $alert', ({ labels, annotations }) => {
    expect(['page', 'ticket']).toContain(labels.severity)
    expect(annotations.summary).not.toBe('')
    const [path, heading] = annotations.runbook.split('#')
    expect([path, explained.map(headingId)]).toEqual(['docs/alerts.md', expect.arrayContaining([heading])])
  })

  test('match those in docs/alerts.md', () => {
    expect([...explained].sort()).toEqual(rules.map(({ alert }) => alert).sort())
  })

  test.each(rules)('are tested both firing and not firing: $alert', ({ alert }) => {
    const fires = alertTests
      .flatMap((each) => each.alert_rule_test)
      .filter(({ alertname }) => alertname === alert)
      .map(({ exp_alerts = [] }) => exp_alerts.length > 0)
    expect(new Set(fires)).toEqual(new Set([true, false]))
  })

  test('are tested with exported series', () => {
    for (const { series } of alertTests.flatMap((each) => each.input_series)) {
      const known = exported.get(familyOf(series.replace(/\{.*/, '')))
      if (series.startsWith('up{')) continue
      expect(known, series).toBeDefined()
      const labels = [...series.matchAll(/(\w+)="/g)].map(([, label]) => label!).filter((label) => label !== 'instance')
      if (known!.size > 0) expect([...known!, 'le'], series).toEqual(expect.arrayContaining(labels))
    }
  })

  const hasPromtool = canRun('the tests of the alerts', 'promtool')
  test.skipIf(!hasPromtool)('fire exactly as ops/alerts.test.yml expects', () => {
    execFileSync('promtool', ['test', 'rules', 'ops/alerts.test.yml'], { cwd: root, stdio: 'pipe' })
  })
})

test('docs/running.md lists the retention periods that the loop enforces', () => {
  const kept = PARTITIONED.map(({ table, keepHours, what }) => ({ table, days: keepHours! / 24, what }))
  const expected = [...kept, ...DELETED.map(({ table, keepDays: days, what }) => ({ table, days, what }))]
  const rows = expected.map(({ table, days, what }) => `| \`${table}\` | ${Number(days.toFixed(1))} | ${what} |`)
  for (const row of rows) expect(page('running')).toContain(row)
})

test.skipIf(!canRun('the systemd unit', 'systemd-analyze'))('systemd accepts every line in the unit', () => {
  const unit = readFileSync(join(root, 'ops/dealer-esim.service'), 'utf8')
  const copy = join(folder, 'dealer-esim.service')
  const verify = (text: string) => {
    // Node may be installed in a different place on this machine.
    writeFileSync(copy, text.replace('/usr/bin/node', process.execPath))
    return execFileSync('sh', ['-c', 'systemd-analyze verify "$0" 2>&1 || true', copy], { encoding: 'utf8' })
  }
  const complaints = (text: string) =>
    verify(text)
      .split('\n')
      .filter((line) => line.includes('dealer-esim.service'))
  expect(complaints(unit)).toEqual([])
  expect(complaints(unit.replace('PrivateTmp=yes', 'PrivateTemp=yes'))).not.toEqual([])
})

test('the server’s command line runs with the unit’s properties and records its caller', () => {
  const bin = join(folder, 'bin')
  mkdirSync(bin)
  writeFileSync(join(bin, 'systemd-run'), '#!/bin/sh\nprintf "%s\\n" "$@"\n', { mode: 0o755 })
  writeFileSync(join(bin, 'id'), '#!/bin/sh\necho 0\n', { mode: 0o755 })
  const env = { PATH: `${bin}:${process.env.PATH}`, SUDO_USER: 'alice' }
  const script = join(root, 'ops/dealer-esim-admin')
  const printed = execFileSync(script, ['tenant', 'create', '--name', 'Acme Travel'], { encoding: 'utf8', env })
  const given = printed.trimEnd().split('\n')
  expect(given.slice(-6)).toEqual(['/usr/bin/node', 'scripts/admin.mjs', 'tenant', 'create', '--name', 'Acme Travel'])
  const unit = readFileSync(join(root, 'ops/dealer-esim.service'), 'utf8')
  for (const name of ['User', 'Group', 'WorkingDirectory', 'Environment', 'EnvironmentFile', 'UMask']) {
    expect(given).toContain(`--property=${new RegExp(`^${name}=.*`, 'm').exec(unit)![0]}`)
  }
  expect(given).toEqual(expect.arrayContaining(['--pipe', '--wait', '--property=SetCredential=operator:alice']))
  writeFileSync(join(bin, 'id'), '#!/bin/sh\necho 1000\n', { mode: 0o755 })
  expect(() => execFileSync(script, ['doctor'], { env, stdio: 'pipe' })).toThrow(/call this with sudo/)
})
