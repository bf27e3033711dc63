import { readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { ESIM_STATUSES, FINDINGS, ORDER_STATUSES, PACKAGE_STATUSES, SMDP_STATUSES } from '@dealer-esim/contract'
import { OPERATOR_ALERT_KINDS, TENANT_ALERT_KINDS } from '@dealer-esim/gateway/alerts/alert-kinds.ts'
import { ITEM_STATUSES } from '@dealer-esim/gateway/orders/order-item.ts'
import { AUDIT_ACTIONS } from '@dealer-esim/gateway/platform/audit/audited-actions.ts'
import ts from 'typescript'
import { expect, it } from 'vitest'
import en from './en.json'
import { pageTextsOf, startTextsOf } from './text-parts.ts'

const folder = join(import.meta.dirname, '..')
const sources = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  .filter((name) => /\.tsx?$/.test(name) && !name.includes('.test.'))
  .map((name) => {
    const path = join(folder, name)
    return ts.createSourceFile(relative(folder, path), readFileSync(path, 'utf8'), ts.ScriptTarget.Latest, true)
  })

it('every visible text is in the strings file', () => {
  const faults: string[] = []
  for (const source of sources)
    visit(source, (node) => {
      if (isHardCodedText(node)) faults.push(`${source.fileName}: ${node.getText().trim()}`)
    })
  expect(faults).toEqual([])
})

it('every text in the strings file is used', () => {
  const shown = new Set(sources.flatMap((source) => chainsOf(source)))
  const used = (path: string) => [...prefixesOf(path)].some((prefix) => shown.has(prefix))
  expect(leavesOf(en).filter((path) => !used(path))).toEqual([])
})

it('the texts of the start and those of further pages are all texts, and few are in both', () => {
  const start = startTextsOf(en)
  const pages = pageTextsOf(en)
  expect({ ...start, ...pages }).toEqual(en)
  expect(start.audit).toEqual({ title: en.audit.title })
  const sizes = [start, pages].map((texts) => JSON.stringify(texts).length)
  expect(sizes.reduce((sum, size) => sum + size)).toBeLessThan(JSON.stringify(en).length * 1.02)
})

it('no text sends the user to the command line', () => {
  const texts = branchesOf(en).flatMap(([, branch]) => Object.values(branch).filter((text) => typeof text === 'string'))
  expect(texts.length).toBeGreaterThan(1_000)
  expect(texts.filter((text) => /command line|npm run|admin --|dealer-esim-admin/i.test(text))).toEqual([])
})

it('every order, eSIM and package status has a label', () => {
  const statuses = [...ORDER_STATUSES, ...ITEM_STATUSES, ...ESIM_STATUSES, ...SMDP_STATUSES, ...PACKAGE_STATUSES]
  expect(statuses.filter((status) => !(status in en.statuses))).toEqual([])
})

it('what a check of the books finds reads as in the SDK', () => {
  expect(en.books.findings).toEqual(FINDINGS)
})

/** Shown but never recorded: the summary that dealers see of changes to plans and groups, and an older action. */
const SHOWN_ONLY = ['esim.settle', 'prices.change']

it('every action in the audit log has a label, and nothing else does', () => {
  expect(Object.keys(en.audit.actions).sort()).toEqual([...AUDIT_ACTIONS, ...SHOWN_ONLY].sort())
})

it('every kind of alert has a label, and nothing else does', () => {
  expect(Object.keys(en.alerts.types).sort()).toEqual([...TENANT_ALERT_KINDS, ...OPERATOR_ALERT_KINDS].sort())
})

function visit(node: ts.Node, look: (node: ts.Node) => void): void {
  look(node)
  node.forEachChild((child) => visit(child, look))
}

/** Attributes and members that hold visible text. */
const VISIBLE = new Set(['label', 'title', 'placeholder', 'description', 'alt', 'aria-label', 'text', 'submit'])
/** Several words, or one capitalised word. Identifiers and codes look different. */
const LOOKS_LIKE_TEXT = /\p{L}{2,} +\p{L}|^\p{Lu}\p{Ll}+$/u
/** Browser names. The code samples of the explorer are exempt too. */
const BROWSER_NAMES = new Set(['Edg', 'Edge'])
const CODE_SAMPLES = 'tenants/explorer/snippets.ts'

function isHardCodedText(node: ts.Node): boolean {
  if (ts.isJsxText(node)) return /\p{L}/u.test(node.text)
  if (node.getSourceFile().fileName === CODE_SAMPLES) return false
  if (ts.isTemplateHead(node) || ts.isTemplateMiddleOrTemplateTail(node))
    return /\s/.test(node.text) && /\p{L}/u.test(node.text)
  if (!ts.isStringLiteralLike(node) || BROWSER_NAMES.has(node.text)) return false
  const { parent } = node
  const isVisible = (ts.isJsxAttribute(parent) || ts.isPropertyAssignment(parent)) && VISIBLE.has(parent.name.getText())
  return isVisible ? /\p{L}/u.test(node.text) : LOOKS_LIKE_TEXT.test(node.text) && !isNeverShown(parent)
}

/** True if the syntax around a literal shows that it is not visible, although it reads as text. */
function isNeverShown(around: ts.Node): boolean {
  if (ts.isJsxAttribute(around) || ts.isImportDeclaration(around)) return true
  if (ts.isBinaryExpression(around)) return around.operatorToken.kind === ts.SyntaxKind.EqualsEqualsEqualsToken
  if (ts.isPropertyAssignment(around)) return /^fontFamily|ClassName$/.test(around.name.getText())
  return ts.isNewExpression(around) && around.expression.getText() === 'Error'
}

/** The longest chains a.b.c of every t.a.b.c. A destructured object counts as one chain for each of its names. */
function chainsOf(source: ts.SourceFile): string[] {
  const chains: string[] = []
  visit(source, (node) => {
    if (!ts.isPropertyAccessExpression(node) || ts.isPropertyAccessExpression(node.parent)) return
    const [root, ...names] = node.getText().replaceAll(/\s|\?/g, '').split('.')
    if (root !== 't') return
    const parts =
      ts.isVariableDeclaration(node.parent) && ts.isObjectBindingPattern(node.parent.name)
        ? node.parent.name.elements
        : []
    chains.push(
      ...(parts.length === 0 ? [names] : parts.map((part) => [...names, part.name.getText()])).map((chain) =>
        chain.join('.'),
      ),
    )
  })
  return chains
}

function* prefixesOf(path: string): Generator<string> {
  const names = path.split('.')
  for (let length = 1; length <= names.length; length++) yield names.slice(0, length).join('.')
}

type Branch = { [name: string]: string | Branch }

function branchesOf(of: Branch, at = ''): [path: string, branch: Branch][] {
  const branches = Object.entries(of).filter((entry): entry is [string, Branch] => typeof entry[1] !== 'string')
  return branches.flatMap(([name, branch]) => [[at + name, branch], ...branchesOf(branch, `${at}${name}.`)])
}

function leavesOf(of: Branch): string[] {
  return [['', of] as const, ...branchesOf(of)].flatMap(([path, branch]) =>
    Object.entries(branch)
      .filter(([, text]) => typeof text === 'string')
      .map(([name]) => (path === '' ? name : `${path}.${name}`)),
  )
}

it('every action in the audit log belongs to a filter group', () => {
  const { actions, groups } = en.audit
  const nouns = Object.keys(actions).map((action) => action.split('.')[0] ?? '')
  expect(nouns.filter((noun) => !(noun in groups))).toEqual([])
})
