import { orderBody } from '../load.ts'
import type { Neighbour } from './neighbour.ts'
import { OPEN_SUPPLIER } from './stage.ts'

const JSON_TYPE = 'Content-Type: application/json'
/** More than any limit of requests in progress. */
const MANY = 64

/** Words that are nearly those of many pages. */
const WORST_SEARCH = ['transaction', 'authentication', 'notification', 'configuration', 'documentation']
  .map((word) => word.replace(/n$/, 'm'))
  .join('+')

const lines = (...all: string[]) => all.join('\r\n')

/** The callers of docs/limits.md, in the order of its table. Each names the interface at whose limits it is. */
export const NEIGHBOURS: readonly Neighbour[] = [
  {
    name: 'dealer',
    calls: ({ noisy }) => ({
      connections: MANY,
      head: lines('POST /open-api/v1/esim/order HTTP/1.1', 'Host: x', JSON_TYPE),
      body: orderBody('{id}'),
      signs: noisy,
    }),
  },
  {
    name: 'catalogue',
    calls: ({ noisy }) => ({
      connections: MANY,
      head: lines('POST /open-api/v1/package/list HTTP/1.1', 'Host: x', JSON_TYPE),
      body: '{"pageSize":500}',
      signs: noisy,
    }),
  },
  {
    name: 'twins',
    calls: ({ twins }) => ({
      connections: MANY,
      head: lines('POST /open-api/v1/esim/order HTTP/1.1', 'Host: x', JSON_TYPE),
      body: orderBody('{id}'),
      signs: twins,
    }),
  },
  {
    name: 'wrong-signatures',
    calls: ({ noisy: { appKey } }) => ({
      connections: MANY,
      head: lines('POST /open-api/v1/health HTTP/1.1', 'Host: x', JSON_TYPE),
      body: '{}',
      signs: { appKey, appSecret: 'not the secret of this dealer' },
    }),
  },
  {
    name: 'unfinished-bodies',
    calls: ({ noisy }) => ({
      connections: 8 * MANY, // a hundred megabytes
      head: lines('POST /open-api/v1/health HTTP/1.1', 'Host: x', JSON_TYPE),
      bodyBytes: 200_000,
      holds: true,
      signs: noisy,
    }),
  },
  {
    name: 'receipts',
    calls: ({ noisy: { tenantId, token } }) => ({
      connections: MANY / 4, // more would measure how fast the caller sends
      head: lines(
        `POST /console/api/tenants/${tenantId}/top-up-requests/with-receipt?amount=10000&reference={id}&fileName=r.pdf HTTP/1.1`,
        ...['Host: x', `Authorization: Bearer ${token}`, 'Content-Type: application/pdf'],
      ),
      bodyBytes: 4 * 1024 * 1024,
    }),
  },
  {
    name: 'console-lists',
    calls: ({ noisy: { tenantId, token } }) => ({
      connections: MANY,
      head: lines(
        `GET /console/api/orders?tenantId=${tenantId}&limit=200 HTTP/1.1`,
        ...['Host: x', `Authorization: Bearer ${token}`],
      ),
    }),
  },
  {
    name: 'exports',
    calls: ({ noisy: { tenantId, token } }) => ({
      connections: MANY,
      head: lines(
        `GET /console/api/orders.csv?tenantId=${tenantId} HTTP/1.1`,
        ...['Host: x', `Authorization: Bearer ${token}`],
      ),
    }),
  },
  {
    name: 'sign-ins',
    calls: ({ baseUrl }) => ({
      connections: MANY,
      head: lines(
        'POST /console/api/session HTTP/1.1',
        `Host: ${new URL(baseUrl).host}`,
        `Origin: ${baseUrl}`,
        JSON_TYPE,
      ),
      body: '{"email":"{id}@example.com","password":"not the password"}',
    }),
  },
  {
    name: 'supplier-events',
    calls: () => ({
      connections: MANY,
      head: lines(`POST /suppliers/${OPEN_SUPPLIER}/events HTTP/1.1`, 'Host: x', JSON_TYPE),
      body: '{"transactionId":"01K9ZZZZZZZZZZZZZZZZZZZZZZ-1"}',
    }),
  },
  {
    name: 'supplier',
    calls: ({ noisy, hangingPackage }) => ({
      connections: MANY,
      head: lines('POST /open-api/v1/esim/order HTTP/1.1', 'Host: x', JSON_TYPE),
      body: orderBody('{id}', hangingPackage),
      signs: noisy,
    }),
  },
  {
    name: 'receiver',
    calls: ({ deaf }) => ({
      connections: MANY,
      head: lines('POST /open-api/v1/esim/order HTTP/1.1', 'Host: x', JSON_TYPE),
      body: orderBody('{id}'),
      signs: deaf,
    }),
  },
  {
    name: 'searches',
    calls: () => ({ connections: MANY, head: lines(`GET /docs/search?q=${WORST_SEARCH} HTTP/1.1`, 'Host: x') }),
  },
  {
    name: 'pages',
    calls: () => ({ connections: 4 * MANY, head: lines('GET /docs/ HTTP/1.1', 'Host: x') }),
  },
]
