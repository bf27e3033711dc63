/** The required form of a request member. Each wholesaler has its own table of these. */
export interface Shape<T> {
  /** @returns the first problem of the value, undefined if it fits */
  check(value: unknown, path: string): Problem | undefined
  /** The member may be missing. */
  isOptional?: true
  /** Never set: carries the type. */
  readonly type?: T
}

/** `path` identifies the member, such as `packageInfoList[0].count`. */
export interface Problem {
  path: string
  kind: 'missing' | 'null' | 'extra' | 'mistyped' | 'length' | 'value'
}

/** A string with at least one character. */
export function text({ max = 2_000, pattern }: { max?: number; pattern?: RegExp } = {}): Shape<string> {
  return {
    check(value, path) {
      if (value === null) return { path, kind: 'null' }
      if (typeof value !== 'string') return { path, kind: 'mistyped' }
      if (value.length === 0 || value.length > max) return { path, kind: 'length' }
      return pattern && !pattern.test(value) ? { path, kind: 'value' } : undefined
    },
  }
}

export function integer({ min = 0, max = Number.MAX_SAFE_INTEGER } = {}): Shape<number> {
  return {
    check(value, path) {
      if (value === null) return { path, kind: 'null' }
      if (!Number.isSafeInteger(value)) return { path, kind: 'mistyped' }
      return (value as number) < min || (value as number) > max ? { path, kind: 'value' } : undefined
    },
  }
}

/** An integer as the text of a query parameter or of a form. */
export function digits({ min = 0, max = Number.MAX_SAFE_INTEGER } = {}): Shape<string> {
  return {
    check(value, path) {
      if (typeof value !== 'string' || !/^\d{1,15}$/.test(value)) return { path, kind: 'mistyped' }
      return integer({ min, max }).check(Number(value), path)
    },
  }
}

export function oneOf<const T extends string | number | boolean>(...values: T[]): Shape<T> {
  return {
    check(value, path) {
      if (value === null) return { path, kind: 'null' }
      if (typeof value !== typeof values[0]) return { path, kind: 'mistyped' }
      return values.includes(value as T) ? undefined : { path, kind: 'value' }
    },
  }
}

/** A value of one of two shapes. */
export function either<A, B>(one: Shape<A>, other: Shape<B>): Shape<A | B> {
  return { check: (value, path) => (one.check(value, path) === undefined ? undefined : other.check(value, path)) }
}

export function list<T>(of: Shape<T>, { min = 1, max = 1_000 } = {}): Shape<T[]> {
  return {
    check(value, path) {
      if (value === null) return { path, kind: 'null' }
      if (!Array.isArray(value)) return { path, kind: 'mistyped' }
      if (value.length < min || value.length > max) return { path, kind: 'length' }
      return first(value.map((item, index) => of.check(item, `${path}[${index}]`)))
    },
  }
}

export function optional<T>(shape: Shape<T>): Shape<T | undefined> & { isOptional: true } {
  return { check: (value, path) => (value === undefined ? undefined : shape.check(value, path)), isOptional: true }
}

/** Like `optional`, for an interface in which null and the empty string mean that a member is absent. */
export function optionalOrEmpty<T>(shape: Shape<T>): Shape<T | '' | null | undefined> & { isOptional: true } {
  return {
    check: (value, path) =>
      value === undefined || value === null || value === '' ? undefined : shape.check(value, path),
    isOptional: true,
  }
}

/** An object with these members and no others. */
export function object<Members extends Record<string, Shape<unknown>>>(members: Members): Shape<TypeOf<Members>> {
  return {
    check(value, path) {
      if (value === null) return { path, kind: 'null' }
      if (typeof value !== 'object' || Array.isArray(value)) return { path, kind: 'mistyped' }
      const given = value as Record<string, unknown>
      const at = (name: string) => (path === '' ? name : `${path}.${name}`)
      const missing = Object.keys(members).find((name) => !members[name]!.isOptional && given[name] === undefined)
      if (missing !== undefined) return { path: at(missing), kind: 'missing' }
      const extra = Object.keys(given).find((name) => !Object.hasOwn(members, name))
      if (extra !== undefined) return { path: at(extra), kind: 'extra' }
      return first(Object.entries(members).map(([name, shape]) => shape.check(given[name], at(name))))
    },
  }
}

/** The type of an object with these members. */
export type TypeOf<Members extends Record<string, Shape<unknown>>> = {
  [Name in keyof Members as Members[Name] extends { isOptional: true } ? never : Name]: Inner<Members[Name]>
} & {
  [Name in keyof Members as Members[Name] extends { isOptional: true } ? Name : never]?: Inner<Members[Name]>
}

type Inner<S> = S extends Shape<infer T> ? T : never

function first(problems: (Problem | undefined)[]): Problem | undefined {
  return problems.find((problem) => problem !== undefined)
}
