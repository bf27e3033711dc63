import type pg from 'pg'
import { expect, it } from 'vitest'
import { enterFirst, isTested, useShards } from './distributed-schema.ts'
import { clientFor } from './servers.ts'

it.each([
  ['13.2-1', true],
  ['13.0-1', true],
  ['14.0-1', false],
  ['12.1-1', false],
])('Citus %s counts as a tested version: %s', (version, expected) => {
  expect(isTested({ version })).toBe(expected)
})

/** The answers of a Citus node that has the schema. */
class CitusNode {
  shards = 'digest of the shards'
  /** The comment on the views' schema. */
  viewed: string | null = null
  created = 0

  connect(): Promise<void> {
    const Client = clientFor('postgres://me@one/esim', 'cell')
    const client = new Client() as pg.Client
    return useShards(Object.assign(client, { query: this.#answer }), 'cell')
  }

  #answer = async (query: string | { text: string }) => {
    const text = typeof query === 'string' ? query : query.text
    if (text.startsWith('do $views$')) this.created += 1
    this.viewed = /^comment on schema \w+ is '(.*)'$/.exec(text)?.[1] ?? this.viewed
    if (text.includes('pg_dist_placement p')) {
      return { rows: [{ is_here: true, shard_id: '102068', shards: this.shards, viewed: this.viewed }] }
    }
    return { rows: text.includes('as defaults') ? [{ name: 'orders', shard: 'orders_102068', defaults: [] }] : [] }
  }
}

it('the shard views are created once, and again when the shards or the script have changed', async () => {
  const node = new CitusNode()
  await node.connect()
  await node.connect()
  expect(node.created).toBe(1)

  node.shards = 'digest of other shards'
  await node.connect()
  await node.connect()
  expect(node.created).toBe(2)

  const { viewed } = node
  node.viewed = node.shards // of a release that did not record the script
  await node.connect()
  expect([node.created, node.viewed]).toEqual([3, viewed])

  node.viewed = `${node.shards} digest of another script`
  await node.connect()
  await node.connect()
  expect([node.created, node.viewed]).toEqual([4, viewed])
})

it('a transaction enters the schema before its first read, and defines tables on the coordinator', () => {
  const rewrite = enterFirst('views')
  const begin = { text: 'begin isolation level repeatable read' }
  expect(rewrite(begin)).toEqual({ statement: begin })
  const definition = rewrite({ text: 'create table t ()' })
  expect(definition.before?.text).toBe('select views.enter_schema()')
  expect(definition.statement).toEqual({ text: 'select views.define($1)', values: ['create table t ()'] })
  const read = { text: 'select from t', values: [] }
  expect(rewrite(read)).toEqual({ statement: read })
})
