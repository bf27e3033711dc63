import type { SupplierType } from '#suppliers/create-supplier.ts'

/**
 * A sample configuration for each type, with what is required and what most operators set. A test proves that each is
 * valid.
 */
export const SUPPLIER_EXAMPLES: Record<SupplierType, object> = {
  sandbox: { slowMs: 4_000 },
  stock: { leastValidityHours: 24 },
  es2plus: {
    url: 'https://smdp.example.com',
    functionRequesterIdentifier: '1.3.6.1.4.1.1',
    cert: 'cert.pem',
    key: 'key.pem',
  },
  gateway: { url: 'https://esim.upstream.example', appKey: 'ak_0123456789abcdef', appSecret: 'THE_APP_SECRET' },
  airalo: { clientId: 'THE_CLIENT_ID', clientSecret: 'THE_CLIENT_SECRET', ...spendLimit() },
  'esim-access': { accessCode: 'THE_ACCESS_CODE', secretKey: 'THE_SECRET_KEY', ...spendLimit() },
  'esim-go': { apiKey: 'THE_API_KEY', ...spendLimit() },
  mobimatter: { apiKey: 'THE_API_KEY', merchantId: 'THE_MERCHANT_ID', ...spendLimit() },
  zendit: { apiKey: 'THE_API_KEY', ...spendLimit() },
}

function spendLimit(): object {
  return { dailySpendLimit: { amount: '100', currencyCode: 'USD' } }
}

/** The examples, as shown in the help of `supplier add`. */
export function supplierExamplesText(): string {
  const lines = Object.entries(SUPPLIER_EXAMPLES).map(
    ([type, config]) => `  ${type.padEnd(12)} ${JSON.stringify(config)}`,
  )
  return `
Configuration files (docs/suppliers.md and the guide of each wholesaler list all members):
${lines.join('\n')}

Example:
  npm run -s admin -- supplier add upstream --type gateway --config upstream.json`
}
