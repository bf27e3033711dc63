import {
  type ActivationPolicy,
  type DataType,
  formatTime,
  type PackageOnSale,
  type Profile,
  type RtEsim,
  type RtPackage,
  rtTime,
} from '@dealer-esim/contract'
import type { Snapshot } from '#catalogue/catalogue.ts'

export function rtPackage(item: PackageOnSale, supportTopUpType: RtPackage['supportTopUpType']): RtPackage {
  const { packageCode, slug, name, price, currencyCode, smsStatus, unusedValidTime, duration, durationUnit } = item
  return {
    ...{ packageCode, slug, name, price, currencyCode, smsStatus, unusedValidTime, duration, durationUnit },
    retailPrice: item.retailPrice ?? price,
    volume: item.volume ?? 0,
    dataType: dataTypeOf(item.dataType, item.fupPolicy),
    ...locationsOf(item.locationCodes),
    description: item.description ?? name,
    activeType: ACTIVE_TYPES[item.activationPolicy],
    favorite: false,
    speed: item.speed ?? '',
    ipExport: '',
    supportTopUpType,
    fupPolicy: item.fupPolicy ?? '',
    locationNetworkList: item.locationNetworkList.map((network) => ({ ...network, locationLogo: '' })),
  }
}

/** Converts an eSIM, with today's catalogue data of its package. */
export function rtEsim(
  profile: Profile,
  catalogue: Pick<Snapshot, 'find'>,
  { supportTopUpType, installationTime }: Pick<RtEsim, 'supportTopUpType'> & { installationTime: Date | undefined },
): RtEsim {
  const { esimTranNo, orderNo, transactionId, imsi, iccid, msisdn, ac, qrCodeUrl, esimStatus, eid, pin, puk } = profile
  const { packageCode, packageName, totalDuration, durationUnit, confirmationCode } = profile
  const item = catalogue.find(packageCode)
  const createTime = rtTime(profile.createTime)
  const duration = item?.duration ?? totalDuration
  const { locationCode } = locationsOf(item?.coverage.locationCodes ?? [])
  const volume = item?.volume == null ? (profile.totalVolume ?? 0) : Number(item.volume)
  return {
    ...{ esimTranNo, orderNo, transactionId, imsi, iccid, msisdn, ac, qrCodeUrl, eid, pin, puk },
    // The family has no such member, so an eSIM without a confirmation code has none here.
    ...(confirmationCode !== null && { confirmationCode }),
    smsStatus: item?.smsStatus ?? 0,
    shortUrl: profile.shareUrl ?? qrCodeUrl,
    smdpStatus: profile.smdpStatus ?? 'RELEASED',
    activeType: item ? ACTIVE_TYPES[item.activationPolicy] : 1,
    dataType: item ? dataTypeOf(item.dataType, item.fupPolicy) : 1,
    activateTime: rtTime(profile.activateTime),
    expiredTime: rtTime(profile.expiredTime ?? profile.installBefore),
    installationTime: installationTime === undefined ? null : rtTime(formatTime(installationTime)),
    totalVolume: profile.totalVolume ?? 0,
    ...{ totalDuration, durationUnit, esimStatus },
    orderUsage: profile.orderUsage ?? 0,
    apn: profile.apn ?? '',
    ipExport: '',
    supportTopUpType,
    fupPolicy: item?.fupPolicy ?? '',
    packageList: [
      {
        ...{ packageName, packageCode, duration, volume, locationCode, createTime, esimTranNo, transactionId },
        slug: item?.slug ?? packageCode,
      },
    ],
  }
}

/** 2 continues at a lower speed after the day's volume, as the fair-use policy describes; 3 stops. */
function dataTypeOf(dataType: DataType, fupPolicy: string | null): RtPackage['dataType'] {
  if (dataType === 'TOTAL') return 1
  if (dataType === 'UNLIMITED') return 4
  return fupPolicy === null ? 3 : 2
}

const ACTIVE_TYPES: Record<ActivationPolicy, RtPackage['activeType']> = {
  ON_INSTALL: 1,
  ON_FIRST_NETWORK: 2,
  ON_PURCHASE: 3,
}

function locationsOf(codes: readonly string[]): { location: string; locationCode: string } {
  const location = codes.filter((code) => !code.startsWith('!')).join(',')
  return { location, locationCode: codes.find((code) => code.startsWith('!')) ?? location }
}
