import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import ts from 'typescript'
import { packageRoot } from '#platform/package-root.ts'

/*
 * Reads the SQL statements of our own source, whether or not a test runs them. A statement is often built from parts: constants,
 * functions that return SQL, and values. The parts are evaluated as far as they are constant, e.g.
 *
 *   sql`select from wallets where ${raw(isHeld('tenant_id'))} and balance > ${amount}`
 *
 * becomes `select from wallets where exists (…) and balance > $1`, with the value `amount`. A part that depends on what the
 * program is given, such as the name of a table, is left out, and `unknown` lists it.
 */

export interface SourceStatement {
  /** e.g. `gateway/src/wallet/ledger/post.ts:41` */
  at: string
  /** With $1, $2, … for the values. */
  text: string
  /** What each $n is: the expression in the source, e.g. `input.amount`. */
  values: string[]
  /** The parts of the text that only the running program knows. */
  unknown: string[]
}

export const packages = join(packageRoot(), '..')

/** @param folder all source files of it, but tests */
export function readStatements(folder: string): SourceStatement[] {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  return files
    .filter((file) => /(?<!\.test)\.ts$/.test(file))
    .sort()
    .flatMap((file) => statementsIn(moduleAt(join(folder, file))))
}

interface Module {
  file: string
  source: ts.SourceFile
  /** By name, if it is declared only once in the file. */
  declarations: Map<string, ts.Node>
  /** Names that are imported: the file and the name there. */
  imports: Map<string, { file: string; name: string }>
  /** Files of which it exports everything. */
  reexports: string[]
}

const modules = new Map<string, Module>()

function moduleAt(file: string): Module {
  const known = modules.get(file)
  if (known) return known
  const source = ts.createSourceFile(file, readFileSync(file, 'utf8'), ts.ScriptTarget.Latest, true)
  const module: Module = { file, source, declarations: new Map(), imports: new Map(), reexports: [] }
  modules.set(file, module)
  const ambiguous = new Set<string>()
  const visit = (node: ts.Node): void => {
    const named = (ts.isVariableDeclaration(node) || ts.isFunctionDeclaration(node)) && node.name
    if (named && ts.isIdentifier(named)) {
      if (module.declarations.has(named.text)) ambiguous.add(named.text)
      module.declarations.set(named.text, node)
    }
    if (ts.isImportDeclaration(node) && ts.isStringLiteral(node.moduleSpecifier)) {
      const target = resolveImport(file, node.moduleSpecifier.text)
      const bindings = node.importClause?.namedBindings
      if (target && bindings && ts.isNamedImports(bindings))
        for (const one of bindings.elements)
          module.imports.set(one.name.text, { file: target, name: (one.propertyName ?? one.name).text })
    }
    if (ts.isExportDeclaration(node) && node.moduleSpecifier && ts.isStringLiteral(node.moduleSpecifier)) {
      const target = resolveImport(file, node.moduleSpecifier.text)
      if (target && !node.exportClause) module.reexports.push(target)
      if (target && node.exportClause && ts.isNamedExports(node.exportClause))
        for (const one of node.exportClause.elements)
          module.imports.set(one.name.text, { file: target, name: (one.propertyName ?? one.name).text })
    }
    ts.forEachChild(node, visit)
  }
  visit(source)
  for (const name of ambiguous) module.declarations.delete(name)
  return module
}

function resolveImport(from: string, specifier: string): string | undefined {
  if (specifier.startsWith('.')) return join(dirname(from), specifier)
  const [, own] = /^#(.*)$/.exec(specifier) ?? []
  if (own) return join(packages, relative(packages, from).split('/')[0]!, 'src', own)
  const [, name, path = 'index.ts'] = /^@dealer-esim\/([^/]+)(?:\/(.*))?$/.exec(specifier) ?? []
  return name && join(packages, name, 'src', path)
}

/** SQL begins like this, perhaps after a comment of its own. */
const STATEMENT = /^\s*(?:--[^\n]*\n\s*)*(?:with|select|insert|update|delete|merge|values)\b/i

/** Texts and templates that are a statement by themselves, not a part of one. */
function statementsIn(module: Module): SourceStatement[] {
  if (!/sql`|\btext\b/.test(module.source.text)) return []
  const found: SourceStatement[] = []
  const visit = (node: ts.Node): void => {
    const isSql = ts.isTaggedTemplateExpression(node) && ts.isIdentifier(node.tag) && node.tag.text === 'sql'
    const isText = ts.isPropertyAssignment(node) && ts.isIdentifier(node.name) && node.name.text === 'text'
    const expression = isSql ? node : isText ? node.initializer : undefined
    if (expression) {
      for (const text of new Evaluation(module).variants(expression)) {
        if (STATEMENT.test(text.fixed))
          found.push(numbered(module, node, text, isText ? valuesBeside(node) : undefined))
      }
    }
    ts.forEachChild(node, visit)
  }
  visit(module.source)
  return found
}

/** The expressions in `values: […]` beside `text: …`. */
function valuesBeside(text: ts.PropertyAssignment): string[] {
  const values = text.parent.properties.find(
    (one) => ts.isPropertyAssignment(one) && one.name.getText() === 'values',
  ) as ts.PropertyAssignment | undefined
  if (!values || !ts.isArrayLiteralExpression(values.initializer)) return []
  return values.initializer.elements.map((element) => element.getText())
}

interface Text {
  /** With a mark for each value. */
  fixed: string
  values: string[]
  unknown: string[]
}

const MARK = '\u0000'

function numbered(module: Module, node: ts.Node, { fixed, values, unknown }: Text, beside?: string[]): SourceStatement {
  const { line } = module.source.getLineAndCharacterOfPosition(node.getStart())
  let count = 0
  const text = fixed.replaceAll(MARK, () => `$${++count}`)
  return { at: `${relative(packages, module.file)}:${line + 1}`, text, values: beside ?? values, unknown }
}

const text = (fixed: string): Text => ({ fixed, values: [], unknown: [] })
const unknownText = (part: string): Text => ({ fixed: '', values: [], unknown: [part] })
const value = (part: string): Text => ({ fixed: MARK, values: [part], unknown: [] })

/** A conditional part doubles the variants of a statement. */
const VARIANTS_MAX = 8
const DEPTH_MAX = 40

class Evaluation {
  readonly #module: Module
  readonly #arguments: ReadonlyMap<string, Text[]>
  readonly #depth: number

  constructor(module: Module, args: ReadonlyMap<string, Text[]> = new Map(), depth = 0) {
    this.#module = module
    this.#arguments = args
    this.#depth = depth
  }

  /** All texts that the expression may be. */
  variants(node: ts.Expression): Text[] {
    return this.#known(node) ?? [unknownText(node.getText())]
  }

  #known(node: ts.Expression): Text[] | undefined {
    if (this.#depth > DEPTH_MAX) return undefined
    if (ts.isParenthesizedExpression(node) || ts.isAsExpression(node) || ts.isNonNullExpression(node))
      return this.#known(node.expression)
    if (ts.isSatisfiesExpression(node)) return this.#known(node.expression)
    if (ts.isStringLiteralLike(node)) return [text(node.text)]
    if (ts.isNumericLiteral(node)) return [text(String(Number(node.text.replaceAll('_', ''))))]
    if (ts.isTemplateExpression(node)) return this.#template(node, (part) => this.variants(part))
    if (ts.isTaggedTemplateExpression(node)) return this.#tagged(node)
    if (ts.isConditionalExpression(node)) {
      return [...this.variants(node.whenTrue), ...this.variants(node.whenFalse)].slice(0, VARIANTS_MAX)
    }
    if (ts.isBinaryExpression(node)) return this.#binary(node)
    if (ts.isIdentifier(node)) return this.#named(node.text)
    if (ts.isCallExpression(node)) return this.#called(node)
    if (ts.isPropertyAccessExpression(node)) return this.#member(node)
    return undefined
  }

  #binary(node: ts.BinaryExpression): Text[] | undefined {
    const { kind } = node.operatorToken
    const [left, right] = [this.#known(node.left), this.#known(node.right)]
    if (kind === ts.SyntaxKind.PlusToken && left && right) return combine(left, right)
    if (kind === ts.SyntaxKind.AsteriskToken && left && right)
      return [text(String(Number(left[0]!.fixed) * Number(right[0]!.fixed)))]
    if (kind === ts.SyntaxKind.QuestionQuestionToken) return right
    return undefined
  }

  #template(node: ts.TemplateExpression, evaluate: (part: ts.Expression) => Text[]): Text[] {
    return node.templateSpans.reduce(
      (before, span) =>
        combine(combine(before, evaluate(span.expression)), [text(span.literal.text)]).slice(0, VARIANTS_MAX),
      [text(node.head.text)],
    )
  }

  /** sql`…`: what is no SQL itself is a value. */
  #tagged(node: ts.TaggedTemplateExpression): Text[] | undefined {
    if (node.tag.getText() !== 'sql') return undefined
    const { template } = node
    if (ts.isNoSubstitutionTemplateLiteral(template)) return [text(template.text)]
    return this.#template(template, (part) => this.#fragment(part) ?? [value(part.getText())])
  }

  /** An expression within sql`…` that is SQL. @returns undefined if it is a value */
  #fragment(node: ts.Expression): Text[] | undefined {
    if (ts.isParenthesizedExpression(node)) return this.#fragment(node.expression)
    if (ts.isTaggedTemplateExpression(node)) return this.#tagged(node)
    if (ts.isConditionalExpression(node)) {
      const [one, other] = [this.#fragment(node.whenTrue), this.#fragment(node.whenFalse)]
      return one && other && [...one, ...other].slice(0, VARIANTS_MAX)
    }
    if (ts.isIdentifier(node)) {
      if (node.text === 'empty') return [text('')]
      const given = this.#arguments.get(node.text)
      if (given) return given
      const found = this.#declaration(node.text)
      if (!found || !ts.isVariableDeclaration(found.node) || !found.node.initializer) return undefined
      return new Evaluation(found.module, this.#argumentsFor(found.module), this.#depth + 1).#fragment(
        found.node.initializer,
      )
    }
    if (ts.isCallExpression(node) && ts.isIdentifier(node.expression)) {
      if (node.expression.text === 'raw') return this.variants(node.arguments[0]!)
      if (node.expression.text === 'join') return [unknownText(node.getText())]
      return this.#called(node, true)
    }
    return undefined
  }

  #argumentsFor(module: Module): ReadonlyMap<string, Text[]> {
    return module === this.#module ? this.#arguments : new Map()
  }

  #named(name: string): Text[] | undefined {
    const given = this.#arguments.get(name)
    if (given) return given
    const found = this.#declaration(name)
    if (!found || !ts.isVariableDeclaration(found.node) || !found.node.initializer) return undefined
    return new Evaluation(found.module, this.#argumentsFor(found.module), this.#depth + 1).#known(
      found.node.initializer,
    )
  }

  #declaration(name: string, module = this.#module): { node: ts.Node; module: Module } | undefined {
    const node = module.declarations.get(name)
    if (node) return { node, module }
    const imported = module.imports.get(name)
    if (imported)
      return existsSync(imported.file) ? this.#declaration(imported.name, moduleAt(imported.file)) : undefined
    for (const file of module.reexports) {
      const found = this.#declaration(name, moduleAt(file))
      if (found) return found
    }
    return undefined
  }

  /** A member of a constant object. */
  #member(node: ts.PropertyAccessExpression): Text[] | undefined {
    if (!ts.isIdentifier(node.expression)) return undefined
    const found = this.#declaration(node.expression.text)
    let object = found && ts.isVariableDeclaration(found.node) ? found.node.initializer : undefined
    while (object && (ts.isAsExpression(object) || ts.isSatisfiesExpression(object))) object = object.expression
    if (!object || !ts.isObjectLiteralExpression(object)) return undefined
    const member = object.properties.find((one) => one.name?.getText() === node.name.text)
    if (!member || !ts.isPropertyAssignment(member)) return undefined
    return new Evaluation(found!.module, new Map(), this.#depth + 1).#known(member.initializer)
  }

  #addArgument(args: Map<string, Text[]>, property: ts.ObjectLiteralElementLike): void {
    if (ts.isShorthandPropertyAssignment(property))
      args.set(property.name.text, this.#named(property.name.text) ?? [unknownText(property.name.text)])
    if (ts.isPropertyAssignment(property)) args.set(property.name.getText(), this.variants(property.initializer))
    if (ts.isSpreadAssignment(property) && ts.isObjectLiteralExpression(property.expression))
      for (const one of property.expression.properties) this.#addArgument(args, one)
  }

  /** The elements of a constant list of texts, or the keys of a constant object. */
  #list(node: ts.Expression): string[] | undefined {
    if (ts.isAsExpression(node) || ts.isSatisfiesExpression(node) || ts.isParenthesizedExpression(node))
      return this.#list(node.expression)
    if (ts.isArrayLiteralExpression(node)) {
      const elements = node.elements.map((one) =>
        ts.isSpreadElement(one)
          ? this.#list(one.expression)
          : this.#known(one)
              ?.map(({ fixed }) => fixed)
              .slice(0, 1),
      )
      return elements.every((one) => one !== undefined) ? elements.flat() : undefined
    }
    if (ts.isIdentifier(node)) {
      const found = this.#declaration(node.text)
      if (!found || !ts.isVariableDeclaration(found.node) || !found.node.initializer) return undefined
      return new Evaluation(found.module, this.#argumentsFor(found.module), this.#depth + 1).#list(
        found.node.initializer,
      )
    }
    if (!ts.isCallExpression(node) || !ts.isPropertyAccessExpression(node.expression)) return undefined
    const { expression, name } = node.expression
    if (expression.getText() === 'Object' && name.text === 'keys' && ts.isIdentifier(node.arguments[0]!)) {
      const found = this.#declaration(node.arguments[0].text)
      const object = found && ts.isVariableDeclaration(found.node) ? found.node.initializer : undefined
      if (!object || !ts.isObjectLiteralExpression(object)) return undefined
      return object.properties.flatMap((one) => (one.name ? [one.name.getText()] : []))
    }
    const [each] = node.arguments
    if (name.text !== 'map' || !each || !ts.isArrowFunction(each)) return undefined
    const [parameter] = each.parameters
    const result = resultOf(each)
    if (!parameter || !ts.isIdentifier(parameter.name) || !result) return undefined
    return this.#list(expression)?.flatMap((one) => {
      const args = new Map([...this.#arguments, [(parameter.name as ts.Identifier).text, [text(one)]]])
      const [made] = new Evaluation(this.#module, args, this.#depth + 1).#known(result) ?? []
      return made && made.unknown.length === 0 ? [made.fixed] : []
    })
  }

  /** `list.join(', ')`, `list.map((one) => …).join(', ')`. */
  #joined(node: ts.CallExpression): Text[] | undefined {
    if (!ts.isPropertyAccessExpression(node.expression) || node.expression.name.text !== 'join') return undefined
    const list = this.#list(node.expression.expression)
    const separator = node.arguments[0] ? this.#known(node.arguments[0])?.[0]?.fixed : ','
    return list && separator !== undefined ? [text(list.join(separator))] : undefined
  }

  /** A call of a function that returns SQL. */
  #called(node: ts.CallExpression, mustBeSql = false): Text[] | undefined {
    if (!ts.isIdentifier(node.expression)) return this.#joined(node)
    if (['raw', 'String'].includes(node.expression.text)) return this.#known(node.arguments[0]!)
    const found = this.#declaration(node.expression.text)
    const declared = found && ts.isVariableDeclaration(found.node) ? found.node.initializer : found?.node
    if (!declared || !(ts.isArrowFunction(declared) || ts.isFunctionDeclaration(declared))) return undefined
    const result = resultOf(declared)
    if (!result) return mustBeSql && declared.type?.getText() === 'Sql' ? [unknownText(node.getText())] : undefined
    const args = new Map<string, Text[]>()
    for (const [index, parameter] of declared.parameters.entries()) {
      const given = node.arguments[index] ?? parameter.initializer
      if (ts.isObjectBindingPattern(parameter.name) && given && ts.isObjectLiteralExpression(given)) {
        for (const property of given.properties) this.#addArgument(args, property)
      }
      if (!ts.isIdentifier(parameter.name)) continue
      if (given) args.set(parameter.name.text, this.#known(given) ?? [unknownText(given.getText())])
    }
    const inside = new Evaluation(found!.module, args, this.#depth + 1)
    return mustBeSql ? inside.#fragment(result) : inside.#known(result)
  }
}

/** The expression that a function returns, if it does nothing else. */
function resultOf({ body }: ts.ArrowFunction | ts.FunctionDeclaration): ts.Expression | undefined {
  if (!body || !ts.isBlock(body)) return body
  const last = body.statements.at(-1)
  return last && ts.isReturnStatement(last) ? last.expression : undefined
}

function combine(before: Text[], after: Text[]): Text[] {
  const all = before.flatMap((one) =>
    after.map((other) => ({
      fixed: one.fixed + other.fixed,
      values: [...one.values, ...other.values],
      unknown: [...one.unknown, ...other.unknown],
    })),
  )
  return all.slice(0, VARIANTS_MAX)
}
