import type { SdkMember, SdkModel, SdkOperation, SdkRefusal, SdkType, TypeOf } from './sdk-model.ts'
import { sdkModel } from './sdk-model.ts'

/** The folders of sdks/php/src that contain only generated files. */
export const PHP_FOLDERS = ['sdks/php/src/Model', 'sdks/php/src/Refusal']

/** The generated files of sdks/php/src by their path from the root, a class each. */
export function phpSdk(model: SdkModel = sdkModel()): Record<string, string> {
  const [models, refusals] = PHP_FOLDERS as [string, string]
  const files: Record<string, string> = { 'sdks/php/src/Operations.php': operationsFile(model) }
  for (const { name, values } of model.enumerations) files[`${models}/${name}.php`] = enumerationFile(name, values)
  for (const type of model.types.filter(({ isRequest }) => !isRequest))
    files[`${models}/${type.name}.php`] = modelFile(model, type)
  files[`${models}/Events.php`] = eventsFile(model)
  for (const refusal of model.refusals) files[`${refusals}/${refusal.name}.php`] = refusalFile(model, refusal)
  files[`${refusals}/Refusals.php`] = refusalsFile(model.refusals)
  return files
}

const GENERATED = 'Generated from packages/contract by `npm run sdks`: do not edit.'

function enumerationFile(name: string, values: readonly (string | number)[]): string {
  const constants = values.map((value) => {
    const constant = typeof value === 'number' ? `VALUE_${value}` : value
    return `    public const ${constant} = ${literal(value)};`
  })
  const about = 'A newer gateway may answer with other values.'
  return file('Model', [], [...docBlock([about]), `final class ${name}`, '{', ...constants, '}'])
}

/** Members of every event, which the class Event has. */
const EVENT_MEMBERS = ['notifyId', 'notifyType', 'test', 'eventGenerateTime']

function modelFile(model: SdkModel, { name, base, description, members }: SdkType): string {
  const isEvent = [...model.events.values()].includes(name)
  const own = members.filter((member) => !isEvent || !EVENT_MEMBERS.includes(member.name))
  const parent = isEvent ? 'Event' : (base ?? 'Model')
  const imports = isEvent ? ['DealerEsim\\Event'] : base === undefined ? ['DealerEsim\\Model'] : []
  const properties = own.flatMap((member) => [...indent(property(member)), ''])
  const isExtended = model.types.some((type) => type.base === name)
  return file('Model', imports, [
    ...docBlock([description]),
    `${isExtended ? '' : 'final '}class ${name} extends ${parent}`,
    '{',
    ...properties,
    '    /** @param array<string, mixed> $data */',
    '    public function __construct(array $data)',
    '    {',
    '        parent::__construct($data);',
    ...own.map((member) => `        ${assignment(model, member)}`),
    '    }',
    '}',
  ])
}

function property({ name, description, ...member }: SdkMember): string[] {
  const doc = docType(member.type)
  const nullable = isNullable(member)
  const type =
    doc.startsWith('list<') || doc.startsWith("'") || doc.includes('|') ? `@var ${doc}${nullable ? '|null' : ''}` : ''
  return [
    ...docBlock([description, type]),
    `public readonly ${nullable ? '?' : ''}${nativeType(member.type)} $${name};`,
  ]
}

function isNullable(member: Pick<SdkMember, 'isNullable' | 'isOptional'>): boolean {
  return member.isNullable || member.isOptional
}

/** A member that an older gateway does not answer stays uninitialised, and is an error only where it is used. */
function assignment(model: SdkModel, member: SdkMember): string {
  const given = `$data['${member.name}']`
  const value = valueFrom(model, member.type, given)
  const target = `$this->${member.name} = `
  if (!isNullable(member)) return `if (isset(${given})) { ${target}${value}; }`
  return value === given ? `${target}${given} ?? null;` : `${target}isset(${given}) ? ${value} : null;`
}

/** The PHP expression that makes a value of a type from JSON. */
function valueFrom(model: SdkModel, type: TypeOf, given: string): string {
  if (type.kind === 'named') return `new ${type.name}(${given})`
  if (type.kind === 'either')
    return type.of.every(({ kind }) => kind === 'named') ? eitherOf(model, type.of, given) : given
  if (type.kind !== 'list') return given
  const each = valueFrom(model, type.of, '$each')
  return each === '$each' ? given : `array_map(static fn (array $each) => ${each}, ${given})`
}

/** Chooses a class by a member that has one value in each of them, such as `status` of packages. */
function eitherOf(model: SdkModel, types: readonly TypeOf[], given: string): string {
  const names = types.map((type) => (type.kind === 'named' ? type.name : ''))
  const [first = '', ...others] = names
  const constantOf = (name: string, member: string) => {
    const type = model.types.find((each) => each.name === name)?.members.find((each) => each.name === member)?.type
    return type?.kind === 'values' && type.values.length === 1 ? type.values[0] : undefined
  }
  const [discriminator] = model.types
    .find(({ name }) => name === first)!
    .members.filter(({ name }) => names.every((each) => constantOf(each, name) !== undefined))
  if (discriminator === undefined) throw new Error(`Nothing distinguishes ${names.join(' from ')}.`)
  const choices = others.map((name) => `${literal(constantOf(name, discriminator.name)!)} => new ${name}(${given})`)
  return `match (${given}['${discriminator.name}'] ?? null) { ${choices.join(', ')}, default => new ${first}(${given}) }`
}

function nativeType(type: TypeOf): string {
  switch (type.kind) {
    case 'string':
      return 'string'
    case 'integer':
      return 'int'
    case 'boolean':
      return 'bool'
    case 'empty':
    case 'list':
      return 'array'
    case 'values':
    case 'enumeration':
      return { string: 'string', number: 'int', boolean: 'bool' }[
        typeof type.values[0] as 'string' | 'number' | 'boolean'
      ]
    case 'named':
      return type.name
    case 'either':
      return type.of.map(nativeType).join('|')
    default:
      return type satisfies never
  }
}

/** The type as a comment has it: `list<Profile>`. */
function docType(type: TypeOf): string {
  if (type.kind === 'list') return `list<${docType(type.of)}>`
  if (type.kind === 'values') return type.values.map(literal).join('|')
  return type.kind === 'either' ? type.of.map(docType).join('|') : nativeType(type)
}

function eventsFile({ events }: SdkModel): string {
  const rows = [...events].map(([type, name]) => `        '${type}' => ${name}::class,`)
  const head = docBlock(['The classes of events by their `notifyType`. Others are an Event.'])
  const constant = [
    '    /** @var array<string, class-string<Event>> */',
    '    public const BY_TYPE = [',
    ...rows,
    '    ];',
  ]
  return file('Model', ['DealerEsim\\Event'], [...head, 'final class Events', '{', ...constant, '}'])
}

function refusalFile(model: SdkModel, { code, name, http, description, members }: SdkRefusal): string {
  const methods = members.flatMap((member) => {
    const nullable = isNullable(member)
    const value = valueFrom(model, member.type, `$this->data['${member.name}']`)
    return [
      '',
      ...docBlock([member.description]),
      `public function ${member.name}(): ${nullable ? '?' : ''}${nativeType(member.type)}`,
      '{',
      `    return ${value}${nullable ? ' ?? null' : ''};`,
      '}',
    ]
  })
  const body = [`    public const CODE = '${code}';`, ...indent(methods)]
  return file(
    'Refusal',
    ['DealerEsim\\Exception\\Refused'],
    [...docBlock([`${code}, HTTP ${http}. ${description}`]), `final class ${name} extends Refused`, '{', ...body, '}'],
  )
}

function refusalsFile(refusals: readonly SdkRefusal[]): string {
  const rows = refusals.map(({ code, name }) => `        '${code}' => ${name}::class,`)
  const head = docBlock(['The exceptions by their code. A code that is not here is raised as Refused.'])
  const constant = [
    '    /** @var array<string, class-string<Refused>> */',
    '    public const BY_CODE = [',
    ...rows,
    '    ];',
  ]
  return file('Refusal', ['DealerEsim\\Exception\\Refused'], [...head, 'final class Refusals', '{', ...constant, '}'])
}

function operationsFile(model: SdkModel): string {
  const named = (type: TypeOf): string[] => {
    if (type.kind === 'named') return [type.name]
    return type.kind === 'either' ? type.of.flatMap(named) : []
  }
  const used = model.operations.flatMap(({ answer, replay, isDryRun, rows }) => [
    ...(replay === undefined || isDryRun ? [answer] : []),
    ...(replay === undefined ? [] : [replay]),
    ...(rows === undefined ? [] : named(rows.type)),
  ])
  const imports = [...new Set(used)].sort().map((name) => `DealerEsim\\Model\\${name}`)
  return file('', imports, [
    ...docBlock([
      'The operations of Client, which sends them. A request is an array with the members of the API; an answer is an object with them.',
      'Each method takes `$timeoutS`, the limit in seconds for each attempt, and `$retries`, the attempts after the first.',
    ]),
    'abstract class Operations',
    '{',
    '    /**',
    '     * @param array<string, mixed> $request',
    '     * @return array<string, mixed>',
    '     */',
    '    abstract public function call(string $operation, array $request = [], ?float $timeoutS = null, ?int $retries = null): array;',
    '',
    '    /**',
    '     * @param array<string, mixed> $request',
    '     * @return array<string, mixed>',
    '     */',
    '    abstract protected function callOnce(string $operation, array $request, ?float $timeoutS, ?int $retries): array;',
    '',
    '    /**',
    '     * @param array<string, mixed> $request',
    '     * @return \\Generator<int, array<string, mixed>>',
    '     */',
    '    abstract protected function each(string $operation, string $rows, array $request, ?float $timeoutS, ?int $retries): \\Generator;',
    ...model.operations.flatMap((operation) => ['', ...indent(method(model, operation))]),
    '}',
  ])
}

function method(model: SdkModel, operation: SdkOperation): string[] {
  const { path, fixed, description, summary, answer, replay, isDryRun, rows } = operation
  const shape = requestShape(model, operation)
  const members = Object.entries(fixed).map(([name, value]) => `, '${name}' => ${literal(value)}`)
  const request = shape === undefined ? '[]' : members.length > 0 ? `[...$request${members.join('')}]` : '$request'
  const call = `$this->${replay === undefined ? 'call' : 'callOnce'}('${path}', ${request}, $timeoutS, $retries)`
  const about = isDryRun ? description : `${firstLower(summary)}. ${description}`
  const body = isDryRun
    ? [`$data = ${call};`, `return isset($data['validateOnly']) ? new ${answer}($data) : new ${replay}($data);`]
    : [`return new ${replay ?? answer}(${call});`]
  const lines = [
    ...docBlock([`\`${path}\`: ${firstLower(about)}`, shape === undefined ? '' : `@param ${shape} $request`]),
    signature(operation, shape, operation.method, isDryRun ? `${answer}|${replay}` : (replay ?? answer)),
    '{',
    ...indent(body),
    '}',
  ]
  if (rows === undefined) return lines
  return [
    ...lines,
    '',
    ...docBlock([
      `All rows of \`${operation.method}\`, page by page. A page is requested when its first row is needed.`,
      `@param ${shape} $request`,
      `@return \\Generator<int, ${docType(rows.type)}>`,
    ]),
    signature(operation, shape, rows.method, '\\Generator'),
    '{',
    `    foreach ($this->each('${path}', '${rows.member}', $request, $timeoutS, $retries) as $row) {`,
    `        yield ${valueFrom(model, rows.type, '$row')};`,
    '    }',
    '}',
  ]
}

function signature({ hasRequired }: SdkOperation, shape: string | undefined, name: string, returned: string): string {
  const request = shape === undefined ? [] : [`array $request${hasRequired ? '' : ' = []'}`]
  const parameters = [...request, '?float $timeoutS = null', '?int $retries = null'].join(', ')
  return `public function ${name}(${parameters}): ${returned}`
}

/** `array{transactionId: string, remark?: string}`; undefined for a request without members. */
function requestShape({ types }: SdkModel, { request }: SdkOperation): string | undefined {
  const shapeOf = (type: TypeOf): string => {
    if (type.kind === 'list') return `list<${shapeOf(type.of)}>`
    if (type.kind !== 'named') return docType(type)
    const members = types.find(({ name }) => name === type.name)?.members ?? []
    const parts = members.map(
      (member) =>
        `${member.name}${member.isOptional ? '?' : ''}: ${shapeOf(member.type)}${member.isNullable ? '|null' : ''}`,
    )
    return `array{${parts.join(', ')}}`
  }
  return types.some(({ name }) => name === request) ? shapeOf({ kind: 'named', name: request }) : undefined
}

function literal(value: string | number | boolean): string {
  return typeof value === 'string' ? `'${value}'` : String(value)
}

function file(folder: string, imports: string[], lines: string[]): string {
  const namespace = folder === '' ? 'DealerEsim' : `DealerEsim\\${folder}`
  const used = imports.length > 0 ? [...imports.map((name) => `use ${name};`), ''] : []
  return [
    `<?php`,
    `// ${GENERATED}`,
    'declare(strict_types=1);',
    '',
    `namespace ${namespace};`,
    '',
    ...used,
    ...lines,
    '',
  ].join('\n')
}

const LINE_MAX = 115

/** Nothing where all texts are empty. */
function docBlock(texts: string[]): string[] {
  const given = texts.filter((text) => text !== '')
  const lines = given.flatMap((text) => (text.startsWith('@') ? [text] : wrap(text)))
  if (lines.length === 0) return []
  return lines.length === 1 ? [`/** ${lines[0]} */`] : ['/**', ...lines.map((line) => ` * ${line}`), ' */']
}

function wrap(text: string): string[] {
  const lines: string[] = []
  for (const word of text.split(/\s+/)) {
    const last = lines.at(-1)
    if (last !== undefined && last.length + 1 + word.length <= LINE_MAX) lines[lines.length - 1] = `${last} ${word}`
    else lines.push(word)
  }
  return lines
}

function indent(lines: string[]): string[] {
  return lines.map((line) => (line === '' ? '' : `    ${line}`))
}

function firstLower(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1)
}
