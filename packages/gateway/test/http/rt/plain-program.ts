/*
 * Two programs that know nothing of this gateway, written from the description of the family's API as shops and plug-ins
 * write them: neither signs its requests. They trust the HTTP status, then `success`, and repeat what is busy or pending.
 */

export interface Shop {
  balance(): Promise<number>
  /** Buys one eSIM and waits for it. */
  buy(locationCode: string, reference: string): Promise<{ iccid: string; esimTranNo: string; ac: string }>
  /** Tops the eSIM up with the cheapest fitting package. @returns its total volume */
  topUp(iccid: string, reference: string): Promise<number>
  cancel(iccid: string): Promise<void>
}

interface Reply {
  success: boolean
  errorCode: string | null
  errorMsg: string | null
  // biome-ignore lint/suspicious/noExplicitAny: a program that checks no types
  obj: any
}

/** Sends whatever was set, also nothing. */
type Send = (operation: string, members: Record<string, unknown>) => Promise<Reply>

/** Sends only an access code and JSON without empty members. */
export function plainShop(baseUrl: string, accessCode: string): Shop {
  return shop(async (operation, members) => {
    const response = await fetch(`${baseUrl}/api/v1/open/${operation}`, {
      method: 'POST',
      headers: { 'RT-AccessCode': accessCode, 'Content-Type': 'application/json' },
      body: JSON.stringify(members),
    })
    return readReply(response)
  })
}

const MEMBERS = [
  'orderNo',
  'iccid',
  'esimTranNo',
  'startTime',
  'endTime',
  'slug',
  'locationCode',
  'type',
  'transactionId',
]

/**
 * Sends a record in which every member that it does not use is null or an empty string, in turn, and no body and no
 * Content-Type where it uses none.
 */
export function carelessShop(baseUrl: string, accessCode: string): Shop {
  let sent = 0
  return shop(async (operation, members) => {
    sent++
    const unused = MEMBERS.filter((name) => !(name in members))
    const filled = Object.fromEntries(unused.map((name, index) => [name, (sent + index) % 2 === 0 ? null : '']))
    const hasBody = Object.keys(members).length > 0
    const response = await fetch(`${baseUrl}/api/v1/open/${operation}`, {
      method: 'POST',
      headers: { 'RT-AccessCode': accessCode, ...(hasBody && { 'Content-Type': 'application/json;charset=UTF-8' }) },
      ...(hasBody && { body: JSON.stringify({ ...filled, ...members, channel: 'web', extra: { id: null } }) }),
    })
    return readReply(response)
  })
}

async function readReply(response: Response): Promise<Reply> {
  if (response.status !== 200) throw new Error(`HTTP ${response.status}`)
  return (await response.json()) as Reply
}

function shop(send: Send): Shop {
  const request = async (operation: string, members: Record<string, unknown> = {}) => {
    for (let repeats = 0; ; repeats++) {
      const { success, errorCode, errorMsg, obj } = await send(operation, members)
      if (success) return obj
      if ((errorCode !== '900001' && errorCode !== '200010') || repeats === 200)
        throw new Error(`${errorCode} ${errorMsg}`)
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  }
  return {
    balance: async () => (await request('balance/query')).balance,
    async buy(locationCode, reference) {
      const { packageList } = await request('package/list', { locationCode, type: 'BASE' })
      const [cheapest] = cheapestFirst(packageList)
      const { orderNo } = await request('esim/order', {
        transactionId: reference,
        amount: cheapest.price,
        packageInfoList: [{ packageCode: cheapest.slug, count: 1, price: cheapest.price }],
      })
      const { esimList } = await request('esim/query', { orderNo, pager: { pageNum: 1, pageSize: 20 } })
      return esimList[0]
    },
    async topUp(iccid, reference) {
      const { packageList } = await request('package/list', { type: 'TOPUP', iccid })
      const [{ packageCode, price }] = cheapestFirst(packageList)
      const body = { iccid, packageCode, transactionId: reference, amount: price }
      return (await request('esim/topup', body)).totalVolume
    },
    async cancel(iccid) {
      await request('esim/cancel', { iccid })
    },
  }
}

interface Package {
  packageCode: string
  slug: string
  dataType: number
  price: number
  volume: number
}

/** Packages with one total volume, which is all that this shop sells. */
function cheapestFirst(packages: Package[]): [Package] {
  const total = packages.filter(({ dataType }) => dataType === 1)
  return total.toSorted((left, right) => left.price - right.price || left.volume - right.volume) as [Package]
}
