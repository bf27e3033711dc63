import { compare, median } from '../compare.ts'
import type { Environment } from '../environment.ts'
import type { Figure } from '../figure.ts'
import { placeWithPlainSql } from '../plain-sql.ts'
import { type Sold, sell, startSelling, verifySold } from '../sold/gateway-side.ts'
import { countStatements, readCounters, statementTable, writtenPerEsim } from '../sold/statements.ts'

const DEALERS = 20
const ORDERS = 8_000
const PLAIN_ORDERS = 8_000
const WARM_TURNS = 2
/** As many as in order-hot. */
const CONNECTIONS = 400
const PLAIN_CONNECTIONS = 16

export const sold: Figure = {
  name: 'sold',
  summary:
    'eSIMs/s from the signed order to the delivered eSIM to its last acknowledged event, against plain-SQL orders/s',
  async run(bench) {
    const plain = await bench.createDatabase('sold-plain')
    const selling = await startSelling(bench, DEALERS)
    try {
      return [await compareRates(bench, plain)]
    } finally {
      await selling.stop()
      await plain.drop()
    }

    async function compareRates(bench: Environment, { databaseUrl, createTenants }: typeof plain) {
      const plainIds = (await createTenants(DEALERS)).map(({ tenantId }) => tenantId)
      const measured: Sold[] = []
      const ours = async () => {
        const turn = await sell(bench, selling, ORDERS, CONNECTIONS)
        measured.push(turn)
        return turn.perSecond
      }
      const against = async () =>
        (await placeWithPlainSql(databaseUrl, plainIds, PLAIN_ORDERS, PLAIN_CONNECTIONS)).perSecond
      for (let warmed = 0; warmed < WARM_TURNS; warmed++) {
        await ours()
        await against()
      }
      const isCounted = await countStatements(bench.db)
      const before = await readCounters(bench.db)
      const result = await compare({
        name: 'sold',
        what: `eSIMs/s of one gateway with both roles: signed esim/order over ${CONNECTIONS} connections and ${DEALERS} dealers, delivered by the sandbox, both kinds of event acknowledged by a local receiver; against plain-SQL orders/s, one prepared round trip and transaction per order, ${PLAIN_CONNECTIONS} connections, no HTTP, fulfilment or sending`,
        aim: { min: 1.5 },
        rounds: bench.rounds,
        progress: bench.progress,
        ours,
        against,
      })
      const after = await readCounters(bench.db)
      const counted = measured.slice(WARM_TURNS)
      if (isCounted) for (const line of statementTable(before, after, ORDERS * counted.length)) bench.progress(line)
      const gatewayUs = median(counted.map((turn) => turn.gatewayUs))
      const serverUs = median(counted.map((turn) => turn.serverUs))
      result.notes.push(
        await verifySold(bench, selling, ORDERS * measured.length),
        `processor time per eSIM: gateway ${gatewayUs.toFixed(0)} µs, server ${serverUs.toFixed(0)} µs`,
        writtenPerEsim(before, after, ORDERS * counted.length),
      )
      return result
    }
  },
}
