import type { OperationName } from '@dealer-esim/contract'

/** The section of the documentation that explains an operation. A test proves that it exists. */
export const OPERATION_DOCS: Record<OperationName, string> = {
  health: 'quick-start#2-health-am-i-connected',
  'account/balance': 'money#what-may-be-spent',
  'package/list': 'catalogue#keep-a-copy',
  'esim/order': 'idempotency#the-order-that-cannot-be-placed-twice',
  'esim/topup': 'after-the-sale',
  'esim/query': 'idempotency#what-to-retry',
  'esim/profile/list': 'after-the-sale#links-for-the-traveller',
  'esim/profile/send': 'after-the-sale#send-the-link-by-e-mail',
  'brand/list': 'brands',
  'esim/cancel': 'after-the-sale',
  'esim/suspend': 'after-the-sale#suspend-unsuspend-revoke',
  'esim/unsuspend': 'after-the-sale#suspend-unsuspend-revoke',
  'esim/revoke': 'after-the-sale#suspend-unsuspend-revoke',
  'esim/action/query': 'after-the-sale',
  'webhook/set': 'webhooks',
  'webhook/test': 'testing#test-your-receiver',
  'order/list': 'after-the-sale#what-you-bought-and-paid',
  'account/statement': 'after-the-sale#what-you-bought-and-paid',
  'location/list': 'catalogue',
  'device/list': 'languages#phones-that-take-an-esim',
  'esim/usage/query': 'after-the-sale',
  'test/balance/set': 'testing#test-operations',
  'test/esim/update': 'testing#test-operations',
  'test/order/resolve': 'testing#test-operations',
}
