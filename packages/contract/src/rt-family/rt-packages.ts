import Type, { type Static } from 'typebox'
import { SMS_STATUSES } from '#schemas/enumerations.ts'
import { optionalNumber, optionalText, rtMoney, rtQuantity } from './rt-scalars.ts'

export const rtLocationListRequest = Type.Object({})

export const rtLocationListAnswer = Type.Object({
  locationList: Type.Array(
    Type.Object({
      code: Type.String({ description: 'ISO 3166-1 alpha-2, `!RG` or `!GL`.' }),
      name: Type.String(),
      type: Type.Enum([1, 2], { description: '1 country, 2 region.' }),
      subLocationList: Type.Array(Type.Object({ code: Type.String(), name: Type.String() })),
    }),
  ),
})

export const rtPackageListRequest = Type.Object({
  locationCode: optionalText('ISO 3166-1 alpha-2, `!RG` (regional) or `!GL` (global).'),
  type: optionalText('BASE or TOPUP; BASE where absent.'),
  packageCode: optionalText('Only this package; a packageCode, or a slug. With type TOPUP also the package to top up.'),
  slug: optionalText('Only the package with this slug. With type TOPUP also the package to top up.'),
  iccid: optionalText('Only the TOPUP packages that fit this eSIM.'),
  esimTranNo: optionalText('The same.'),
  dataType: optionalNumber('Only packages of this kind of data.'),
})

export const rtDataType = () =>
  Type.Enum([1, 2, 3, 4], { description: '1 total; 2 per day, then slower; 3 per day, then cut off; 4 unlimited.' })
export const rtActiveType = () =>
  Type.Enum([1, 2, 3], { description: 'Begins 1 on installation, 2 on the first network, 3 on purchase.' })
export const rtSupportTopUpType = () =>
  Type.Enum([1, 2, 3], { description: '1 no, 2 by a package, 3 by days, sent as periodNum.' })
export const rtSmsStatus = () => Type.Enum([...SMS_STATUSES], { description: '0 none, 1 by phone and API, 2 by API.' })

const rtPackage = Type.Object({
  packageCode: Type.String(),
  slug: Type.String(),
  name: Type.String(),
  price: rtMoney({ description: 'Of one eSIM; of a day pass, of one day.' }),
  retailPrice: rtMoney({ description: 'The price where no retail price is set.' }),
  currencyCode: Type.String(),
  volume: rtQuantity({ description: 'Bytes; 0 is unlimited.' }),
  smsStatus: rtSmsStatus(),
  dataType: rtDataType(),
  unusedValidTime: rtQuantity({ description: 'Days within which it must first be used.' }),
  duration: rtQuantity(),
  durationUnit: Type.Enum(['DAY']),
  location: Type.String({ description: 'Countries, separated by commas.' }),
  locationCode: Type.String({ description: '`!RG`, `!GL` or the countries.' }),
  description: Type.String(),
  activeType: rtActiveType(),
  favorite: Type.Boolean({ description: 'Always false.' }),
  speed: Type.String(),
  ipExport: Type.String({ description: 'Always empty: not known.' }),
  supportTopUpType: rtSupportTopUpType(),
  fupPolicy: Type.String(),
  locationNetworkList: Type.Array(
    Type.Object({
      locationName: Type.String(),
      locationLogo: Type.String({ description: 'Always empty.' }),
      locationCode: Type.String(),
      operatorList: Type.Array(Type.Object({ operatorName: Type.String(), networkType: Type.String() })),
    }),
  ),
})
export type RtPackage = Static<typeof rtPackage>

export const rtPackageListAnswer = Type.Object({
  packageList: Type.Optional(Type.Array(rtPackage, { description: 'All of them: there are no pages.' })),
  notModified: Type.Optional(
    Type.Literal(true, { description: 'In place of the list, for a request whose If-None-Match has the ETag.' }),
  ),
})
