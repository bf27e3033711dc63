import type { OperationName } from '@dealer-esim/contract'

/** The section of the documentation that explains an operation. A test proves that it exists. */
export const OPERATION_DOCS: Record<OperationName, string> = {
  health: 'quick-start#2-health-am-i-connected',
  'account/balance': 'quick-start#3-accountbalance-what-can-i-spend',
  'package/list': 'catalogue#keep-a-copy',
  'esim/order': 'quick-start#5-esimorder-buy',
  'esim/topup': 'after-the-sale#top-ups-esimtopup',
  'esim/query': 'quick-start#6-esimquery-what-happened-to-it',
  'esim/profile/list': 'quick-start#7-esimprofilelist-hand-it-to-the-traveller',
  'esim/cancel': 'after-the-sale#cancel-esimcancel',
  'esim/suspend': 'after-the-sale#suspend-unsuspend-revoke',
  'esim/unsuspend': 'after-the-sale#suspend-unsuspend-revoke',
  'esim/revoke': 'after-the-sale#suspend-unsuspend-revoke',
  'esim/action/query': 'after-the-sale#cancel-esimcancel',
  'webhook/set': 'quick-start#8-webhookset-be-notified-of-changes',
  'order/list': 'after-the-sale#what-you-bought-and-paid',
  'account/statement': 'after-the-sale#what-you-bought-and-paid',
  'location/list': 'catalogue',
  'esim/usage/query': 'after-the-sale#usage-esimusagequery',
}
