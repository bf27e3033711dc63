import type { DryRunAnswerOf, DryRunName, DryRunOf } from '#requests/dry-runs.ts'

const esimTranNo = '06EQ7X1KCM0RB8Q2N5T3W9Z4GA'

/** Dry runs of the two purchases in openapi-examples.ts. */
export const dryRunExamples: { [N in DryRunName]: { request: DryRunOf<N>; answer: DryRunAnswerOf<N> } } = {
  'esim/order': {
    request: { validateOnly: true, packageInfoList: [{ packageCode: 'JP_1_7', count: 1 }] },
    answer: {
      validateOnly: true,
      amount: 45_000,
      currencyCode: 'USD',
      balanceAfter: 9_955_000,
      packageInfoList: [dryRunLine('JP_1_7', 'Japan 1 GB 7 days', 45_000)],
    },
  },
  'esim/topup': {
    request: { validateOnly: true, esimTranNo, packageCode: 'JP_1_7_TOPUP' },
    answer: {
      validateOnly: true,
      amount: 40_000,
      currencyCode: 'USD',
      balanceAfter: 9_915_000,
      packageInfoList: [dryRunLine('JP_1_7_TOPUP', 'Japan 1 GB 7 days, top-up', 40_000)],
      esimTranNo,
    },
  },
}

function dryRunLine(packageCode: string, packageName: string, price: number) {
  return { packageCode, packageName, count: 1, price, periodNum: null, available: null }
}
