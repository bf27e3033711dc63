import {
  type SdkMember,
  type SdkModel,
  type SdkOperation,
  type SdkRefusal,
  type SdkType,
  sdkModel,
  type TypeOf,
} from './sdk-model.ts'

/** The generated modules of sdks/python/src/dealer_esim by their path from the root. */
export function pythonSdk(model: SdkModel = sdkModel()): Record<string, string> {
  const folder = 'sdks/python/src/dealer_esim'
  return {
    [`${folder}/models.py`]: modelsModule(model),
    [`${folder}/operations.py`]: operationsModule(model),
    [`${folder}/refusals.py`]: refusalsModule(model),
  }
}

const GENERATED = 'Generated from packages/contract by `npm run sdks`: do not edit.'

function modelsModule({ enumerations, types, events }: SdkModel): string {
  const aliases = enumerations.map(({ name, values }) => `${name} = ${literal(values)}`)
  const notification = [...events.values()].map((name) => `    ${name},`)
  return module(
    `Requests, answers and events as they are on the wire. ${GENERATED}`,
    ['from typing import Literal, NotRequired, TypedDict, Union'],
    aliases.join('\n'),
    ...types.map(typedDict),
    ['Event = Union[', ...notification, ']', '"""Newer gateways may send other types of events: ignore them."""'].join(
      '\n',
    ),
  )
}

function typedDict({ name, base, description, members }: SdkType): string {
  const doc = description === '' ? [] : docstring(description)
  return [`class ${name}(${base ?? 'TypedDict'}):`, ...indent([...doc, ...members.flatMap(attribute)])].join('\n')
}

function attribute({ name, description, ...member }: SdkMember): string[] {
  const type = memberType(member)
  return [`${name}: ${member.isOptional ? `NotRequired[${type}]` : type}`, ...docstring(description)]
}

function memberType({ type, isNullable }: Pick<SdkMember, 'type' | 'isNullable'>): string {
  return isNullable ? `${pythonType(type)} | None` : pythonType(type)
}

function pythonType(type: TypeOf): string {
  switch (type.kind) {
    case 'string':
      return 'str'
    case 'integer':
      return 'int'
    case 'boolean':
      return 'bool'
    case 'empty':
      return 'dict[str, object]'
    case 'values':
      return literal(type.values)
    case 'enumeration':
    case 'named':
      return type.name
    case 'list':
      return `list[${pythonType(type.of)}]`
    case 'either':
      return type.of.map(pythonType).join(' | ')
    default:
      return type satisfies never
  }
}

function literal(values: readonly (string | number | boolean)[]): string {
  return `Literal[${values.map(constant).join(', ')}]`
}

function constant(value: string | number | boolean): string {
  if (typeof value === 'boolean') return value ? 'True' : 'False'
  return JSON.stringify(value)
}

function operationsModule({ operations, types }: SdkModel): string {
  const isTyped = (name: string) => types.some((type) => type.name === name)
  const typed = operations.map((each) => (isTyped(each.request) ? each : { ...each, request: undefined }))
  const used = typed.flatMap(({ request, answer, replay, rows }) => [request, answer, replay, ...namesIn(rows?.type)])
  const imports = [...new Set(used)].filter((name) => name !== undefined).sort()
  return module(
    `One method for each operation. ${GENERATED}`,
    [
      'from collections.abc import Iterator, Mapping',
      'from typing import Any',
      '',
      'from .models import (',
      ...imports.map((name) => `    ${name},`),
      ')',
    ],
    [
      'class Operations:',
      '    """The operations of `DealerEsim`, which sends them. Requests and answers are dictionaries with the members of the API.',
      '',
      '    Each method takes `timeout_s`, the limit for each attempt, and `retries`, the attempts after the first.',
      '    """',
      '',
      '    def call(self, operation: str, request: Mapping[str, Any], *, timeout_s: float | None, retries: int | None) -> Any:',
      '        raise NotImplementedError',
      '',
      '    def _call_once(self, operation: str, request: Mapping[str, Any], timeout_s: float | None, retries: int | None) -> Any:',
      '        raise NotImplementedError',
      '',
      '    def _each(',
      '        self, operation: str, rows: str, request: Mapping[str, Any], timeout_s: float | None, retries: int | None',
      '    ) -> Iterator[Any]:',
      '        raise NotImplementedError',
      ...typed.flatMap((operation) => ['', ...indent(method(operation))]),
    ].join('\n'),
  )
}

type TypedOperation = Omit<SdkOperation, 'request'> & { request: string | undefined }

function method(operation: TypedOperation): string[] {
  const { path, fixed, description, summary, answer, replay, isDryRun, rows } = operation
  const members = Object.entries(fixed).map(([name, value]) => `, "${name}": ${constant(value)}`)
  const request =
    operation.request === undefined ? '{}' : members.length > 0 ? `{**request${members.join('')}}` : 'request'
  const returned = isDryRun ? `${answer} | ${replay}` : (replay ?? answer)
  const call = replay === undefined ? 'call' : '_call_once'
  const options = call === 'call' ? 'timeout_s=timeout_s, retries=retries' : 'timeout_s, retries'
  const lines = [
    ...signature(operation, operation.method, returned),
    ...indent(
      docstring(
        `\`${path}\`: ${isDryRun ? '' : `${firstLower(summary)}. `}${isDryRun ? firstLower(description) : description}`,
      ),
    ),
    `    return self.${call}("${path}", ${request}, ${options})`,
  ]
  if (rows === undefined) return lines
  const each = [
    ...signature(operation, rows.method, `Iterator[${pythonType(rows.type)}]`),
    `    """All rows of \`${snake(operation.method)}\`, page by page. A page is requested when its first row is needed."""`,
    `    return self._each("${path}", "${rows.member}", request, timeout_s, retries)`,
  ]
  return [...lines, '', ...each]
}

function signature({ request, hasRequired }: TypedOperation, name: string, returned: string): string[] {
  const parameter = request === undefined ? [] : [`request: ${request}${hasRequired ? '' : ' = {}'}`]
  const parameters = ['self', ...parameter, '*', 'timeout_s: float | None = None', 'retries: int | None = None']
  const line = `def ${snake(name)}(${parameters.join(', ')}) -> ${returned}:`
  return line.length <= LINE_MAX - 4
    ? [line]
    : [`def ${snake(name)}(`, `    ${parameters.join(', ')}`, `) -> ${returned}:`]
}

function refusalsModule({ refusals, enumerations }: SdkModel): string {
  const used = refusals.flatMap(({ members }) => members.flatMap(({ type }) => namesIn(type)))
  const names = enumerations.map(({ name }) => name).filter((name) => used.includes(name))
  return module(
    `An exception for each code that a gateway refuses with. ${GENERATED}`,
    [
      'from typing import Literal, NotRequired, TypedDict',
      '',
      'from .errors import RefusalData, Refused',
      `from .models import ${names.join(', ')}`,
    ],
    ...refusals.map(refusalClass),
    ['BY_CODE: dict[str, type[Refused]] = {', ...refusals.map(({ code, name }) => `    "${code}": ${name},`), '}'].join(
      '\n',
    ),
  )
}

function refusalClass({ code, name, http, description, members }: SdkRefusal): string {
  const data = [`class ${name}Data(RefusalData):`, ...indent(members.flatMap(attribute))]
  const refusal = [
    `class ${name}(Refused):`,
    ...indent(docstring(`${code}, HTTP ${http}. ${description}`)),
    '',
    `    code = "${code}"`,
    ...(members.length > 0 ? [`    data: ${name}Data`] : []),
  ]
  return [...(members.length > 0 ? [...data, '', ''] : []), ...refusal].join('\n')
}

/** The named types within a type. */
function namesIn(type: TypeOf | undefined): string[] {
  if (type === undefined) return []
  if (type.kind === 'named' || type.kind === 'enumeration') return [type.name]
  if (type.kind === 'list') return namesIn(type.of)
  return type.kind === 'either' ? type.of.flatMap(namesIn) : []
}

const LINE_MAX = 120

function module(doc: string, imports: string[], ...parts: string[]): string {
  const head = [...docstring(doc), '', 'from __future__ import annotations', '', ...imports].join('\n')
  return `${[head, ...parts].join('\n\n\n')}\n`
}

/** Nothing for an empty text. */
function docstring(text: string): string[] {
  if (text === '') return []
  const lines = wrap(text, LINE_MAX - 12)
  return lines.length === 1 ? [`"""${lines[0]}"""`] : [`"""${lines[0]}`, ...lines.slice(1), '"""']
}

/** Breaks a text into lines of at most `max` characters. */
function wrap(text: string, max: number): string[] {
  const lines: string[] = []
  for (const word of text.split(/\s+/)) {
    const last = lines.at(-1)
    if (last !== undefined && last.length + 1 + word.length <= max) lines[lines.length - 1] = `${last} ${word}`
    else lines.push(word)
  }
  return lines
}

function indent(lines: string[]): string[] {
  return lines.map((line) => (line === '' ? '' : `    ${line}`))
}

function snake(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}

function firstLower(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1)
}
