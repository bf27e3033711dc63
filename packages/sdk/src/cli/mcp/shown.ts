import {
  type ActionAnswer,
  formatMoney,
  type HealthAnswer,
  type OrderSummary,
  type PackageOnSale,
  type Profile,
} from '@dealer-esim/contract'
import { printable } from '../output.ts'

/**
 * What agents see. Members are listed, not removed: one that a newer gateway adds is not shown, so it cannot leak. Activation
 * codes are in `codesOf` only. Amounts are decimals, because a model reads 45000 as 45 000.
 */

/** `45000` of USD → `'4.50 USD'`. */
export function amountText(units: number, currencyCode: string): string {
  return `${formatMoney(units)} ${currencyCode}`
}

export function shownPackage(each: PackageOnSale) {
  const { packageCode, packageType, name, dataType, volume, duration, periodNumMin, periodNumMax } = each
  const { unusedValidTime, activationPolicy, ekycRequired, locationCodes, topUpSupported, cancelPolicy } = each
  return {
    ...{ packageCode, packageType, name: printable(name), price: amountText(each.price, each.currencyCode) },
    ...{ dataType, volumeBytes: volume, durationDays: duration, periodNumMin, periodNumMax, unusedValidTime },
    ...{ activationPolicy, ekycRequired, locationCodes, topUpSupported, cancelPolicy },
  }
}

export function shownOrder(order: OrderSummary) {
  const { orderNo, transactionId, orderType, orderStatus, currencyCode, esimTranNo, keyLabel, createTime } = order
  return {
    ...{ orderNo, transactionId, orderType, orderStatus, esimTranNo, keyLabel, createTime },
    amount: amountText(order.amount, currencyCode),
    refundedAmount: amountText(order.refundedAmount, currencyCode),
    remark: order.remark === null ? null : printable(order.remark),
    packages: order.packageInfoList.map((line) => ({
      ...{ packageCode: line.packageCode, name: printable(line.packageName), count: line.count },
      ...{ periodNum: line.periodNum, price: amountText(line.price, currencyCode) },
      ...{ deliveredCount: line.deliveredCount, failedCount: line.failedCount },
    })),
  }
}

export function shownEsim(profile: Profile) {
  const { esimTranNo, orderNo, transactionId, packageCode, packageName, iccid, esimStatus, smdpStatus } = profile
  const { totalVolume, orderUsage, usageUpdateTime, totalDuration, installBefore, activateTime } = profile
  const { expiredTime, suspended, createTime } = profile
  return {
    ...{ esimTranNo, orderNo, transactionId, packageCode, packageName: printable(packageName), iccid, esimStatus },
    ...{ smdpStatus, suspended, totalVolumeBytes: totalVolume, usedBytes: orderUsage, usageUpdateTime },
    ...{ totalDurationDays: totalDuration, installBefore, activateTime, expiredTime, createTime },
  }
}

/** Anybody who has one of these can install the eSIM. */
export function codesOf(profile: Profile) {
  const { esimTranNo, iccid, ac, smdpAddress, matchingId, confirmationCode, qrCodeUrl, shareUrl } = profile
  return { esimTranNo, iccid, activationCode: ac, smdpAddress, matchingId, confirmationCode, qrCodeUrl, shareUrl }
}

export function shownAction(action: ActionAnswer) {
  const { actionNo, transactionId, esimTranNo, orderNo, actionStatus, failureReason, keyLabel, createTime } = action
  return {
    ...{ actionNo, transactionId, action: action.action, esimTranNo, orderNo, actionStatus, keyLabel, createTime },
    refundAmount: amountText(action.refundAmount, action.currencyCode),
    feeAmount: amountText(action.feeAmount, action.currencyCode),
    failureReason: failureReason === null ? null : printable(failureReason),
  }
}

/** What the key may still spend, as the gateway counts it; null: no such limit. */
export function budgetOf({ keyLimits }: HealthAnswer, currencyCode: string) {
  if (keyLimits === null) throw new Error('The AppKey is not that of a restricted key.')
  const { perOrderMax, perDayMax, daySpent, dayResetTime, totalMax, totalSpent, expiresAt } = keyLimits
  const left = (max: number | null, spent: number) =>
    max === null ? null : amountText(Math.max(0, max - spent), currencyCode)
  return {
    perOrderMax: left(perOrderMax, 0),
    leftToday: left(perDayMax, daySpent),
    ...{ dayResetTime },
    leftInTotal: left(totalMax, totalSpent),
    ...{ expiresAt },
  }
}
