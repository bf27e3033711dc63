import * as contract from '@dealer-esim/contract'

/**
 * The contract as the generators of the Python and PHP SDKs need it: named types, operations and refusals, read from the
 * OpenAPI document. Whatever operation the contract has is in it.
 */
export interface SdkModel {
  enumerations: Enumeration[]
  types: SdkType[]
  operations: SdkOperation[]
  refusals: SdkRefusal[]
  /** The names of the types of events, by `notifyType`. */
  events: Map<string, string>
}

/** `ORDER_STATUSES` of the contract is `{ name: 'OrderStatus', values: ['PAID', …] }`. */
interface Enumeration {
  name: string
  values: readonly (string | number)[]
}

export interface SdkType {
  name: string
  description: string
  /** A type whose members this one has, too: the answer of an operation, to which `replayed` is added. */
  base?: string
  isRequest: boolean
  members: SdkMember[]
}

export interface SdkMember {
  name: string
  type: TypeOf
  isOptional: boolean
  isNullable: boolean
  description: string
}

export type TypeOf =
  | { kind: 'string' | 'integer' | 'boolean' | 'empty' }
  | { kind: 'values'; values: readonly (string | number | boolean)[] }
  | { kind: 'enumeration'; name: string; values: readonly (string | number)[] }
  | { kind: 'list'; of: TypeOf }
  | { kind: 'named'; name: string }
  | { kind: 'either'; of: TypeOf[] }

export interface SdkOperation {
  /** Its path, such as `esim/order`. */
  path: string
  /** The name of the method, as in the TypeScript SDK: `setWebhook`. */
  method: string
  summary: string
  description: string
  request: string
  hasRequired: boolean
  answer: string
  /** Members that always have one value: `action` of `esim/cancel`, `validateOnly` of a dry run. The SDK sends them. */
  fixed: Record<string, string | boolean>
  /** The type of an answer to a repeated call, of operations that a transactionId makes idempotent. */
  replay?: string
  isDryRun: boolean
  /** The member with the rows, of operations whose answers are pages. */
  rows?: { member: string; type: TypeOf; method: string }
}

export interface SdkRefusal {
  code: string
  /** `BALANCE_INSUFFICIENT` is `BalanceInsufficient`. */
  name: string
  http: number
  description: string
  /** Members of `data`, without `requestId` and `details`. */
  members: SdkMember[]
}

interface Schema {
  $ref?: string
  type?: string | string[]
  const?: string | boolean
  enum?: (string | number | null)[]
  properties?: Record<string, Schema>
  required?: string[]
  items?: Schema
  anyOf?: Schema[]
  oneOf?: Schema[]
  description?: string
}

interface Document {
  paths: Record<string, { post: { summary: string; description: string; requestBody: Body; responses: Responses } }>
  webhooks: Record<string, { post: { requestBody: Body } }>
  components: { schemas: Record<string, Schema> }
}
interface Body {
  content: { 'application/json': { schema: Schema } }
}
type Responses = Record<'200', Body & { headers: object }>

export function sdkModel(): SdkModel {
  const document = contract.openApiDocument() as unknown as Document
  const types = new TypeReader(document.components.schemas)
  const operations = Object.entries(document.paths).flatMap(([path, { post }]) => readOperation(types, path, post))
  const events = new Map<string, string>()
  for (const [type, { post }] of Object.entries(document.webhooks))
    events.set(type, types.read(bodyOf(post.requestBody)))
  const refusals = contract.failureCodes.map((code) => readRefusal(types, code, document.components.schemas))
  const used = JSON.stringify([types.all(), refusals])
  return {
    enumerations: ENUMERATIONS.filter(({ name }) => used.includes(`"kind":"enumeration","name":"${name}"`)),
    types: types.all(),
    operations,
    refusals,
    events,
  }
}

/** An operation, and its dry run as a second one. */
function readOperation(types: TypeReader, path: string, post: Document['paths'][string]['post']): SdkOperation[] {
  const requests = alternatives(bodyOf(post.requestBody))
  const answers = alternatives(bodyOf(post.responses['200']).properties!.data!)
  const isIdempotent = 'Idempotent-Replayed' in post.responses['200'].headers
  return requests.map((schema, at) => {
    const isDryRun = at > 0
    const request = types.read(schema, { isRequest: true, without: requests.length > 1 ? ['validateOnly'] : [] })
    const { properties = {}, required = [] } = types.resolve(schema)
    const fixed = Object.entries(properties).flatMap(([name, { const: value }]) =>
      value !== undefined && required.includes(name) ? [[name, value] as const] : [],
    )
    const answer = types.read(answers[at]!)
    const replay = isIdempotent ? types.addReplay(types.read(answers[0]!)) : undefined
    const name = path.slice(contract.API_PATH.length)
    const [method, eachRow = ''] = isDryRun
      ? [QUOTES[name] ?? `quote${pascal(defaultNames(name)[0])}`]
      : (METHODS[name] ?? defaultNames(name))
    const rows = types.rowsOf(answer)
    return {
      path: name,
      method,
      summary: post.summary,
      description: isDryRun ? DRY_RUN : post.description,
      request,
      hasRequired: required.some((name) => properties[name]?.const === undefined),
      answer,
      fixed: Object.fromEntries(fixed),
      ...(replay !== undefined && { replay }),
      isDryRun,
      ...(rows && eachRow && { rows: { ...rows, method: eachRow } }),
    }
  })
}

/** Methods as the TypeScript SDK names them; the second one iterates over all pages. */
const METHODS: Record<string, [method: string, eachRow?: string]> = {
  health: ['health'],
  'account/balance': ['balance'],
  'package/list': ['packages', 'eachPackage'],
  'esim/order': ['order'],
  'esim/topup': ['topup'],
  'esim/query': ['query'],
  'esim/profile/list': ['profiles', 'eachProfile'],
  'esim/profile/send': ['send'],
  'esim/cancel': ['cancel'],
  'esim/suspend': ['suspend'],
  'esim/unsuspend': ['unsuspend'],
  'esim/revoke': ['revoke'],
  'esim/action/query': ['action'],
  'webhook/set': ['setWebhook'],
  'webhook/test': ['testWebhook'],
  'order/list': ['orders', 'eachOrder'],
  'account/statement': ['statement', 'eachEntry'],
  'location/list': ['locations'],
  'device/list': ['devices'],
  'esim/usage/query': ['usage'],
  'ledger/checkpoint': ['checkpoint'],
  'ledger/proof': ['proof'],
  'ledger/consistency': ['consistency'],
  'ledger/keys': ['ledgerKeys'],
  // In TypeScript they are members of `test`, such as `test.setBalance`.
  'test/balance/set': ['setTestBalance'],
  'test/esim/update': ['updateTestEsim'],
  'test/clock/advance': ['advanceTestClock'],
  'test/order/resolve': ['resolveTestOrder'],
}

/** The methods of dry runs. */
const QUOTES: Record<string, string> = { 'esim/order': 'quote', 'esim/topup': 'quoteTopup' }

/** `device/list` → `devices`, `eachDevice`; `esim/swap` → `esimSwap`. */
function defaultNames(path: string): [method: string, eachRow?: string] {
  const [, noun] = /^([a-z]+)\/list$/.exec(path) ?? []
  if (noun !== undefined) return [`${noun}s`, `each${pascal(noun)}`]
  return [path.replace(/\/([a-z])/g, (_, letter: string) => letter.toUpperCase())]
}

const DRY_RUN =
  'Makes every check and returns what would be debited. Nothing is bought and nothing is reserved, so the call itself may still be refused. If the request has a `transactionId` that is taken, returns that order.'

function readRefusal(types: TypeReader, code: contract.FailureCode, schemas: Record<string, Schema>): SdkRefusal {
  const { name, http, message, remedy } = contract.codes[code]
  const title = pascal(name)
  const data = schemas[contract.failureName(code)]!.properties!.data!
  const { requestId: _, details: __, ...properties } = data.properties!
  const members = types.members({ ...data, properties }, title)
  return { code, name: title, http, description: `${message} ${remedy}`, members }
}

function bodyOf(body: Body): Schema {
  return body.content['application/json'].schema
}

function alternatives(schema: Schema): Schema[] {
  return schema.anyOf ?? [schema]
}

/** Reads schemas as types, each once. A nested object without a name is named after its place. */
class TypeReader {
  readonly #schemas: Record<string, Schema>
  readonly #types = new Map<string, SdkType>()
  /** Names of nested objects by their schema as JSON: equal ones share a type. */
  readonly #nested = new Map<string, string>()

  constructor(schemas: Record<string, Schema>) {
    this.#schemas = schemas
  }

  all(): SdkType[] {
    return [...this.#types.values()].filter(({ members, base }) => members.length > 0 || base !== undefined)
  }

  resolve(schema: Schema): Schema {
    return schema.$ref === undefined ? schema : this.#schemas[nameIn(schema.$ref)]!
  }

  /** @returns the name of a schema of `components`, whose type is read */
  read(schema: Schema, { isRequest = false, without = [] as string[] } = {}): string {
    const name = nameIn(schema.$ref!)
    if (!this.#types.has(name)) {
      const { properties, ...rest } = this.resolve(schema)
      const kept = Object.entries(properties ?? {}).filter(([member, { const: value }]) => {
        return !without.includes(member) && !(isRequest && value !== undefined)
      })
      this.#add(name, { ...rest, properties: Object.fromEntries(kept) }, isRequest)
    }
    return name
  }

  /** @returns the name of the answer with `replayed`, which is read from a header */
  addReplay(answer: string): string {
    const name = `${answer.replace(/Answer$/, '')}Result`
    const description =
      'True if the transactionId was used before: this is the earlier answer, and nothing was done again.'
    const replayed: SdkMember = {
      ...{ name: 'replayed', type: { kind: 'boolean' }, isOptional: false, isNullable: false, description },
    }
    this.#types.set(name, { name, description: '', base: answer, isRequest: false, members: [replayed] })
    return name
  }

  rowsOf(answer: string): { member: string; type: TypeOf } | undefined {
    const { members } = this.#types.get(answer)!
    const list = members.find(({ type }) => type.kind === 'list')
    if (list?.type.kind !== 'list' || !members.some(({ name }) => name === 'nextCursor')) return undefined
    return { member: list.name, type: list.type.of }
  }

  members({ properties = {}, required = [] }: Schema, parent: string, isRequest = false): SdkMember[] {
    return Object.entries(properties).map(([name, schema]) => ({
      name,
      type: this.#typeOf(schema, parent + pascal(schema.type === 'array' ? oneOf(name) : name), isRequest),
      isOptional: !required.includes(name),
      isNullable: schema.type?.includes('null') === true && Array.isArray(schema.type),
      description: schema.description ?? '',
    }))
  }

  #add(name: string, schema: Schema, isRequest: boolean): void {
    const type: SdkType = { name, description: schema.description ?? '', isRequest, members: [] }
    // First, because it may contain itself; and its nested objects follow it.
    this.#types.set(name, type)
    type.members = this.members(schema, name, isRequest)
  }

  #typeOf(schema: Schema, place: string, isRequest: boolean): TypeOf {
    if (schema.$ref !== undefined) return { kind: 'named', name: this.read(schema) }
    if (schema.anyOf) return { kind: 'either', of: schema.anyOf.map((each) => this.#typeOf(each, place, isRequest)) }
    if (schema.const !== undefined) return { kind: 'values', values: [schema.const] }
    if (schema.enum) return valuesOf(schema.enum.filter((value) => value !== null))
    const type = [schema.type].flat().find((each) => each !== 'null')
    if (type === 'array') return { kind: 'list', of: this.#typeOf(schema.items!, place, isRequest) }
    if (type !== 'object') return { kind: type as 'string' | 'integer' | 'boolean' }
    if (Object.keys(schema.properties ?? {}).length === 0) return { kind: 'empty' }
    const { description: _, ...shape } = schema
    const key = JSON.stringify([isRequest, { ...shape, type }], (name, value) =>
      name === 'examples' ? undefined : value,
    )
    const known = this.#nested.get(key)
    if (known !== undefined) return { kind: 'named', name: known }
    this.#nested.set(key, place)
    this.#add(place, schema, isRequest)
    return { kind: 'named', name: place }
  }
}

/** `packageInfoList` → `packageInfo`, `profiles` → `profile`, `statusHistory` as it is. */
function oneOf(list: string): string {
  return list.replace(/List$|s$/, '')
}

function nameIn(reference: string): string {
  return reference.slice(reference.lastIndexOf('/') + 1)
}

/** The lists of values that the contract exports, such as ORDER_STATUSES. */
const ENUMERATIONS: Enumeration[] = Object.entries(contract)
  .flatMap(([name, value]) => {
    const isList = /^[A-Z_]+$/.test(name) && !/^(FINAL|DEFAULT|RT)_/.test(name) && Array.isArray(value)
    const values = isList ? (value as (string | number)[]) : []
    return values.length > 0 && values.every((each) => typeof each !== 'object')
      ? [{ name: pascal(singular(name)), values }]
      : []
  })
  .sort((one, other) => (one.name < other.name ? -1 : 1))

function singular(name: string): string {
  if (name.endsWith('IES')) return name.replace(/IES$/, 'Y')
  return name.replace(/(?<=STATUS)ES$|S$/, '')
}

function valuesOf(values: readonly (string | number)[]): TypeOf {
  const known = ENUMERATIONS.find((each) => String(each.values) === String(values))
  return known ? { kind: 'enumeration', ...known } : { kind: 'values', values }
}

/** `BALANCE_INSUFFICIENT` → `BalanceInsufficient`, `packageInfo` → `PackageInfo`. */
function pascal(name: string): string {
  const words = /^[A-Z_]+$/.test(name) ? name.toLowerCase().split('_') : [name]
  return words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('')
}
