import type { Db } from '@dealer-esim/lib/postgres/db.ts'

/**
 * The schema of a migrated database as text for people and for comparisons: identical on PostgreSQL 15 to 18, in a stable
 * order, without the partitions that depend on the time.
 */
export async function schemaText(db: Pick<Db, 'query'>): Promise<string> {
  const query = <Row>(text: string) => db.query<Row>({ text })
  const enums = await query<{ name: string; labels: string[] }>(ENUMS)
  const tables = await query<Table>(TABLES)
  const columns = await query<Column>(COLUMNS)
  const constraints = await query<Part>(CONSTRAINTS)
  const indexes = await query<Part>(INDEXES)
  const triggers = await query<Part>(TRIGGERS)
  const views = await query<{ name: string; definition: string }>(VIEWS)
  const functions = await query<{ definition: string }>(FUNCTIONS)
  const partsOf = (parts: Part[], table: string) => parts.filter((part) => part.table === table)
  const sections = [
    ...enums.map(
      ({ name, labels }) => `create type ${name} as enum (${labels.map((label) => `'${label}'`).join(', ')});`,
    ),
    ...tables.map((table) =>
      [
        `${createTable(table)} (`,
        [
          ...columns.filter((column) => column.table === table.name).map(columnLine),
          ...partsOf(constraints, table.name).map((part) => `  constraint ${part.name} ${part.definition}`),
        ].join(',\n'),
        `)${tableOptions(table)};`,
        ...[...partsOf(indexes, table.name), ...partsOf(triggers, table.name)].map((part) => `${part.definition};`),
      ].join('\n'),
    ),
    ...views.map(({ name, definition }) => `create view ${name} as\n${definition}`),
    ...functions.map(({ definition }) => `${definition.trimEnd()};`),
  ]
  return `${[HEADER, ...sections].join('\n\n').replaceAll('public.', '')}\n`
}

const HEADER = '-- The schema that the migrations make. Written by `npm run schema`; a test fails when it is stale.'

interface Table {
  name: string
  unlogged: boolean
  options: string[] | null
  partitionedBy: string | null
}

interface Column {
  table: string
  name: string
  type: string
  notNull: boolean
  default: string | null
  generated: string
  identity: string
}

interface Part {
  table: string
  name: string
  definition: string
}

function createTable(table: Table): string {
  return `create ${table.unlogged ? 'unlogged ' : ''}table ${table.name}`
}

function tableOptions(table: Table): string {
  const partition = table.partitionedBy ? ` partition by ${table.partitionedBy}` : ''
  return `${partition}${table.options ? ` with (${table.options.join(', ')})` : ''}`
}

function columnLine(column: Column): string {
  const parts = [column.name, column.type]
  if (column.notNull) parts.push('not null')
  if (column.identity) parts.push(`generated ${column.identity === 'a' ? 'always' : 'by default'} as identity`)
  else if (column.generated) parts.push(`generated always as (${column.default}) stored`)
  else if (column.default !== null) parts.push(`default ${column.default}`)
  return `  ${parts.join(' ')}`
}

const OWN_TABLES = `c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p') and not c.relispartition`

const ENUMS = `
  select t.typname as name, array_agg(e.enumlabel::text order by e.enumsortorder) as labels
  from pg_type t join pg_enum e on e.enumtypid = t.oid
  where t.typnamespace = current_schema()::regnamespace group by t.typname order by t.typname collate "C"`

const TABLES = `
  select c.relname as name, c.relpersistence = 'u' as unlogged, c.reloptions as options,
         pg_get_partkeydef(c.oid) as partitioned_by
  from pg_class c where ${OWN_TABLES} order by c.relname collate "C"`

const COLUMNS = `
  select c.relname as table, a.attname as name, format_type(a.atttypid, a.atttypmod) as type, a.attnotnull as not_null,
         pg_get_expr(d.adbin, d.adrelid) as default, a.attgenerated as generated, a.attidentity as identity
  from pg_attribute a join pg_class c on c.oid = a.attrelid
  left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
  where ${OWN_TABLES} and a.attnum > 0 and not a.attisdropped order by c.relname collate "C", a.attnum`

// Without 'n': PostgreSQL 18 also lists "not null" constraints, which the columns already show.
const CONSTRAINTS = `
  select c.relname as table, k.conname as name, pg_get_constraintdef(k.oid) as definition
  from pg_constraint k join pg_class c on c.oid = k.conrelid
  where ${OWN_TABLES} and k.contype in ('p', 'u', 'f', 'c', 'x')
  order by c.relname collate "C", array_position(array['p', 'u', 'f', 'c', 'x'], k.contype::text), k.conname collate "C"`

const INDEXES = `
  select c.relname as table, i.relname as name, replace(pg_get_indexdef(i.oid), ' ON ONLY ', ' ON ') as definition
  from pg_index x join pg_class i on i.oid = x.indexrelid join pg_class c on c.oid = x.indrelid
  where ${OWN_TABLES} and not exists (select from pg_constraint k where k.conindid = x.indexrelid and k.conrelid = c.oid)
  order by c.relname collate "C", i.relname collate "C"`

const TRIGGERS = `
  select c.relname as table, t.tgname as name, pg_get_triggerdef(t.oid) as definition
  from pg_trigger t join pg_class c on c.oid = t.tgrelid
  where ${OWN_TABLES} and not t.tgisinternal order by c.relname collate "C", t.tgname collate "C"`

const VIEWS = `
  select c.relname as name, pg_get_viewdef(c.oid, true) as definition from pg_class c
  where c.relnamespace = current_schema()::regnamespace and c.relkind in ('v', 'm') order by c.relname collate "C"`

const FUNCTIONS = `
  select pg_get_functiondef(p.oid) as definition from pg_proc p
  where p.pronamespace = current_schema()::regnamespace and p.prokind in ('f', 'p')
    and not exists (select from pg_depend d where d.objid = p.oid and d.deptype = 'e')
  order by p.proname collate "C", pg_get_function_identity_arguments(p.oid) collate "C"`
