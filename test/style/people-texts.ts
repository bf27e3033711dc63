import ts from 'typescript'

/*
 * Finds the texts for people in a source file: what the console, its API and e-mails show. A text with values becomes a
 * template: `The balance is ${formatMoney(balance)}.` is “The balance is {balance}.”
 */

/** Members whose value people read. */
const MEMBERS = new Set(
  'message reason advice label title subject valid text footer fault largeBodyAdvice paragraphs'.split(' '),
)
/** Functions whose arguments people read, also those that are no sentence: `notFound('price plan')`. */
const CALLS = new Set(
  `notFound alreadyExists requireUuid Refusal invalid invalidField invalidMember fault addFault refuse refusal refuseAt
  postpone unclear unreadable malformed report ask refused notAllowed inUse requireReleased requireKnownByAll
  alertOperators alertDealer`.split(/\s+/),
)
/** Functions among them that are given the name of a thing: `price plan`. */
const NAMED = new Set(['notFound', 'alreadyExists', 'requireUuid', 'requireKnownByAll', 'findOrRefuse'])
/** Functions and members whose texts only programs, logs or developers read. */
const OTHERS = new Set(
  `StartRefused Error TypeError RangeError UsageError UnusableLanguage MigrationRefused MasterKeyRefused fatal error warn info debug
  operation audit runLoop runJob advisoryKey hash hashToken createTimedToken ageOfTimedTokenMs derive get set form
  description summary help applicationName application_name name Map createDb raw sentence unnest enum`.split(/\s+/),
)

/** @returns the templates of a file, without duplicates, in their order */
export function textsForPeople(path: string, source: string): string[] {
  const file = ts.createSourceFile(path, source, ts.ScriptTarget.Latest, true)
  const found = new Set<string>()
  const visit = (node: ts.Node): void => {
    if (ts.isTaggedTemplateExpression(node) || ts.isTypeNode(node) || ts.isImportDeclaration(node)) return
    if (isText(node)) {
      const text = templateOf(node)
      if (isWritten(text) && !isCode(text) && isForPeople(node, text)) found.add(text)
    }
    ts.forEachChild(node, visit)
  }
  visit(file)
  return [...found]
}

type Text = ts.StringLiteral | ts.NoSubstitutionTemplateLiteral | ts.TemplateExpression

function isText(node: ts.Node): node is Text {
  return ts.isStringLiteral(node) || ts.isNoSubstitutionTemplateLiteral(node) || ts.isTemplateExpression(node)
}

function templateOf(node: Text): string {
  if (!ts.isTemplateExpression(node)) return node.text
  const names = new Map<string, number>()
  const placeholder = (expression: ts.Expression) => {
    const name = nameOf(expression)
    const count = (names.get(name) ?? 0) + 1
    names.set(name, count)
    return `{${count === 1 ? name : `${name}${count}`}}`
  }
  return node.head.text + node.templateSpans.map((span) => placeholder(span.expression) + span.literal.text).join('')
}

/** The name of the value in an expression: `balance` of `formatMoney(row.balance!)`, `names` of `names.join(', ')`. */
function nameOf(expression: ts.Expression): string {
  if (ts.isIdentifier(expression)) return expression.text
  if (ts.isPropertyAccessExpression(expression)) return expression.name.text.replace('#', '')
  if (ts.isNonNullExpression(expression) || ts.isParenthesizedExpression(expression) || ts.isAsExpression(expression))
    return nameOf(expression.expression)
  if (ts.isElementAccessExpression(expression)) return nameOf(expression.expression)
  if (ts.isCallExpression(expression)) {
    const {
      expression: called,
      arguments: [first],
    } = expression
    if (ts.isPropertyAccessExpression(called)) return nameOf(called.expression)
    return first ? nameOf(first) : nameOf(called)
  }
  return 'value'
}

/** Has words of which a text for people consists; not `{a} {b}`, `USD` or a path. */
function isWritten(text: string): boolean {
  const words = text.replaceAll(/\{\w+\}/g, ' ')
  return /[a-z]{2}/.test(words) && !/^[\s\w-]*[\w-]+\/[\w/-]+\s*$/.test(words)
}

/** SQL, routes, headers, markup, commands: texts for programs. */
function isCode(text: string): boolean {
  return CODE.some((pattern) => pattern.test(text))
}

const CODE: readonly RegExp[] = [
  /^\s*(select|insert|update|delete|with|create|alter|lock|set|case|coalesce|exists|and|or|where|order by|unnest|left join|on conflict|filter|least|npm run|sandbox|wallet adjust|recovery decide|passkey (sign-in|confirmation|registration)|provider (sign-in|confirmation)|console list|attachment;|orders o|esim_status in|jsonb_build_array|known browser|confirmation of) ?[ (]/,
  /[a-z]_[a-z]+( [<>=]|\.)|\b(is not null|is null|order by|for update|= any)\b|::(text|uuid|bigint|int|float8|date)|interval '|\$\d|excluded\.|json_build|sum\(|_status in |_hash in |\{amount\} as amount|^\{\w+\} (days|countries)$|^job\.|^--|\} milliseconds$|^status \{Math|date_trunc\(/,
  /^, and $|^openid |^checked the ledger$|^<|^\w+="|@mail\.|color|style=|charset=|-src |max-age|'(none|self)'|camera=|font-family/,
  /^(GET|POST|PUT|PATCH|DELETE) |^\w+\.\w+$|^[a-z_.]+(, [a-z_.]+){3,}$|^\{[A-Z]+\} (and|order by) |^\{where\} |RECORDED|restored-/,
]

const SENTENCE = /^["“…({]?[A-Z{“][^\n]*\s[^\n]*[.!?:]["”)]?\s*$|^ [A-Z][^\n]*\.$/
const GREETING = /^[A-Z][a-z]+( \{\w+\})?,$/
/** Tables of texts: `ALERT_SUBJECTS`. */
const TABLES = /(SUBJECTS|TEXTS|MESSAGES|REASONS|LIFETIME)$/

function isForPeople(node: Text, text: string): boolean {
  const isLine = /\s/.test(text.trim()) && !text.includes('\n')
  let isInText = false
  for (let child: ts.Node = node, parent = node.parent; parent; child = parent, parent = parent.parent) {
    if (ts.isBinaryExpression(parent) && /^[=!]==$/.test(parent.operatorToken.getText())) return false
    if (ts.isElementAccessExpression(parent) && parent.argumentExpression === child) return false
    if (ts.isCaseClause(parent) && parent.expression === child) return false
    if (ts.isTemplateSpan(parent)) isInText = true
    if (ts.isVariableDeclaration(parent) && TABLES.test(parent.name.getText())) return isLine
    if (ts.isPropertyAssignment(parent)) {
      const name = parent.name.getText()
      if (parent.name === child || OTHERS.has(name)) return false
      if (MEMBERS.has(name) && isLine) return true
    }
    if ((ts.isCallExpression(parent) || ts.isNewExpression(parent)) && parent.expression !== child) {
      const name = parent.expression.getText().split(/[.#]/).at(-1)!
      if (OTHERS.has(name)) return false
      if (name === 'row' && parent.arguments?.indexOf(child as ts.Expression) !== 2) return false
      if (NAMED.has(name)) return parent.arguments?.[0] === child
      if (CALLS.has(name) && isLine) return true
    }
    if (ts.isFunctionLike(parent)) break
  }
  if (SENTENCE.test(text) || GREETING.test(text)) return true
  const words = text.match(/(?<![\w{])[a-z]{2,}(?![\w}])/g) ?? []
  const hasValue = text.includes('{')
  if (isInText) return words.length >= 2
  return isLine && (hasValue ? words.join('').length >= 4 : words.length >= 3)
}
