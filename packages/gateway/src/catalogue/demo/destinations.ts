import { GLOBAL, REGIONAL } from '@dealer-esim/contract'
import { countries } from 'countries-list'

/**
 * The countries of the demo catalogue, by ISO 3166-1 alpha-2: the price of the smallest package (1 GB for a week, in US
 * cents) and the usual mobile operators for travellers, each with its best network. The prices are invented; names,
 * continents and currencies are from countries-list.
 */
export const DESTINATIONS: Readonly<Record<string, readonly [cents: number, operators: string]>> = {
  // Europe
  AD: [650, 'Andorra Telecom 5G'],
  AL: [450, 'One Albania 5G, Vodafone 5G'],
  AT: [350, 'A1 5G, Magenta 5G, Drei 5G'],
  BA: [520, 'BH Telecom 4G, m:tel 4G, HT Eronet 4G'],
  BE: [350, 'Proximus 5G, Orange 5G, BASE 5G'],
  BG: [350, 'A1 5G, Yettel 5G, Vivacom 5G'],
  CH: [390, 'Swisscom 5G, Sunrise 5G, Salt 5G'],
  CY: [390, 'Cyta 5G, Epic 5G, PrimeTel 5G'],
  CZ: [350, 'T-Mobile 5G, O2 5G, Vodafone 5G'],
  DE: [350, 'Telekom 5G, Vodafone 5G, O2 5G'],
  DK: [350, 'TDC 5G, Telenor 5G, Telia 5G, 3 5G'],
  EE: [350, 'Telia 5G, Elisa 5G, Tele2 5G'],
  ES: [350, 'Movistar 5G, Orange 5G, Vodafone 5G, Yoigo 5G'],
  FI: [350, 'Elisa 5G, DNA 5G, Telia 5G'],
  FR: [350, 'Orange 5G, SFR 5G, Bouygues Telecom 5G, Free 5G'],
  GB: [350, 'EE 5G, O2 5G, Vodafone 5G, Three 5G'],
  GI: [690, 'Gibtelecom 5G'],
  GR: [350, 'Cosmote 5G, Vodafone 5G, Nova 5G'],
  HR: [350, 'Hrvatski Telekom 5G, A1 5G, Telemach 5G'],
  HU: [350, 'Magyar Telekom 5G, Yettel 5G, One 5G'],
  IE: [350, 'Vodafone 5G, Three 5G, Eir 5G'],
  IS: [420, 'Síminn 5G, Vodafone 5G, Nova 5G'],
  IT: [350, 'TIM 5G, Vodafone 5G, WindTre 5G, iliad 5G'],
  LI: [490, 'FL1 4G, Swisscom 5G, Salt 5G'],
  LT: [350, 'Telia 5G, Bitė 5G, Tele2 5G'],
  LU: [350, 'POST 5G, Tango 5G, Orange 5G'],
  LV: [350, 'LMT 5G, Tele2 5G, Bite 5G'],
  MD: [490, 'Orange 5G, Moldcell 4G, Moldtelecom 4G'],
  ME: [490, 'Crnogorski Telekom 5G, One 5G, m:tel 5G'],
  MK: [490, 'Makedonski Telekom 5G, A1 5G'],
  MT: [390, 'Epic 5G, GO 5G, Melita 5G'],
  NL: [350, 'KPN 5G, Odido 5G, Vodafone 5G'],
  NO: [370, 'Telenor 5G, Telia 5G, Ice 5G'],
  PL: [350, 'Orange 5G, Play 5G, Plus 5G, T-Mobile 5G'],
  PT: [350, 'MEO 5G, NOS 5G, Vodafone 5G'],
  RO: [350, 'Orange 5G, Vodafone 5G, Digi 5G'],
  RS: [420, 'mts 5G, Yettel 5G, A1 5G'],
  SE: [350, 'Telia 5G, Tele2 5G, Telenor 5G, 3 5G'],
  SI: [350, 'Telekom Slovenije 5G, A1 5G, Telemach 5G'],
  SK: [350, 'Slovak Telekom 5G, Orange 5G, O2 5G'],
  UA: [390, 'Kyivstar 4G, Vodafone 4G, lifecell 4G'],
  XK: [590, 'Vala 5G, IPKO 5G'],

  // Asia
  AE: [520, 'e& 5G, du 5G'],
  AM: [490, 'Team 4G, Viva 5G, Ucom 5G'],
  AZ: [520, 'Azercell 5G, Bakcell 4G, Nar 4G'],
  BD: [450, 'Grameenphone 4G, Robi 4G, Banglalink 4G'],
  BH: [520, 'Batelco 5G, Zain 5G, stc 5G'],
  CN: [420, 'China Unicom 5G, China Mobile 5G, China Telecom 5G'],
  GE: [450, 'Magti 5G, Silknet 5G, Cellfie 4G'],
  HK: [350, 'CSL 5G, 3 5G, SmarTone 5G, China Mobile Hong Kong 5G'],
  ID: [380, 'Telkomsel 5G, Indosat 5G, XLSmart 5G'],
  IL: [390, 'Partner 5G, Pelephone 5G, Cellcom 5G, HOT mobile 5G'],
  IN: [420, 'Airtel 5G, Jio 5G, Vi 5G'],
  IQ: [690, 'Zain 4G, Asiacell 4G, Korek 4G'],
  JO: [520, 'Zain 5G, Orange 5G, Umniah 5G'],
  JP: [450, 'NTT DOCOMO 5G, KDDI 5G, SoftBank 5G, Rakuten Mobile 5G'],
  KG: [490, 'MegaCom 4G, Beeline 4G, O! 4G'],
  KH: [420, 'Smart 4G, Cellcard 4G, Metfone 4G'],
  KR: [420, 'SK Telecom 5G, KT 5G, LG U+ 5G'],
  KW: [520, 'Zain 5G, Ooredoo 5G, stc 5G'],
  KZ: [450, 'Beeline 5G, Kcell 5G, Tele2 5G'],
  LA: [450, 'Lao Telecom 5G, Unitel 5G, ETL 4G'],
  LK: [420, 'Dialog 5G, SLT-Mobitel 5G, Hutch 4G'],
  MN: [590, 'Mobicom 5G, Unitel 5G, Skytel 4G'],
  MO: [390, 'CTM 5G, 3 5G, China Telecom 5G'],
  MV: [790, 'Dhiraagu 5G, Ooredoo 5G'],
  MY: [350, 'Maxis 5G, CelcomDigi 5G, U Mobile 5G'],
  NP: [490, 'Ncell 4G, Nepal Telecom 4G'],
  OM: [520, 'Omantel 5G, Ooredoo 5G, Vodafone 5G'],
  PH: [420, 'Globe 5G, Smart 5G, DITO 5G'],
  PK: [450, 'Jazz 4G, Zong 4G, Telenor 4G, Ufone 4G'],
  QA: [520, 'Ooredoo 5G, Vodafone 5G'],
  SA: [490, 'stc 5G, Mobily 5G, Zain 5G'],
  SG: [350, 'Singtel 5G, StarHub 5G, M1 5G'],
  TH: [350, 'AIS 5G, True 5G'],
  TJ: [690, 'Tcell 4G, MegaFon 4G, Babilon-M 4G'],
  TR: [390, 'Turkcell 5G, Vodafone 5G, Türk Telekom 5G'],
  TW: [390, 'Chunghwa Telecom 5G, Taiwan Mobile 5G, Far EasTone 5G'],
  UZ: [450, 'Beeline 5G, Ucell 5G, Uzmobile 5G, Mobiuz 5G'],
  VN: [380, 'Viettel 5G, VinaPhone 5G, MobiFone 5G'],

  // Africa
  BJ: [790, 'MTN 5G, Moov Africa 4G, Celtiis 4G'],
  BW: [790, 'Mascom 5G, Orange 5G, BTC 4G'],
  CD: [850, 'Vodacom 4G, Orange 4G, Airtel 4G'],
  CI: [790, 'Orange 5G, MTN 4G, Moov Africa 4G'],
  CM: [790, 'MTN 4G, Orange 4G'],
  DZ: [690, 'Djezzy 4G, Ooredoo 4G, Mobilis 4G'],
  EG: [490, 'Vodafone 5G, Orange 5G, e& 5G, WE 5G'],
  ET: [850, 'Ethio Telecom 5G, Safaricom 4G'],
  GH: [690, 'MTN 4G, Telecel 4G, AT 4G'],
  KE: [590, 'Safaricom 5G, Airtel 5G, Telkom 4G'],
  MA: [490, 'Maroc Telecom 5G, Orange 5G, inwi 5G'],
  MG: [790, 'Orange 4G, Yas 5G, Airtel 4G'],
  ML: [850, 'Orange 4G, Moov Africa Malitel 4G'],
  MU: [690, 'my.t 5G, Emtel 5G'],
  MW: [850, 'Airtel 4G, TNM 4G'],
  MZ: [790, 'Vodacom 5G, Movitel 4G, Tmcel 4G'],
  NA: [790, 'MTC 4G, TN Mobile 4G'],
  NG: [690, 'MTN 5G, Airtel 5G, Glo 4G'],
  RE: [490, 'Orange 5G, SFR 5G, Free 5G'],
  RW: [790, 'MTN 4G, Airtel 4G'],
  SC: [890, 'Cable & Wireless 5G, Airtel 5G, Intelvision 4G'],
  SN: [690, 'Orange 5G, Yas 5G, Expresso 4G'],
  TN: [490, 'Ooredoo 5G, Orange 5G, Tunisie Telecom 5G'],
  TZ: [690, 'Vodacom 5G, Airtel 5G, Yas 5G'],
  UG: [690, 'MTN 5G, Airtel 5G'],
  ZA: [490, 'Vodacom 5G, MTN 5G, Telkom 5G, Cell C 4G'],
  ZM: [690, 'MTN 5G, Airtel 5G, Zamtel 4G'],

  // The Americas
  AR: [490, 'Claro 5G, Personal 5G, Movistar 4G'],
  BB: [890, 'Digicel 4G, Flow 4G'],
  BO: [690, 'Entel 4G, Tigo 4G, Viva 4G'],
  BR: [450, 'Vivo 5G, Claro 5G, TIM 5G'],
  BS: [890, 'BTC 4G, Aliv 4G'],
  CA: [450, 'Rogers 5G, Bell 5G, TELUS 5G'],
  CL: [450, 'Entel 5G, Movistar 5G, Claro 5G, WOM 5G'],
  CO: [450, 'Claro 5G, Movistar 5G, Tigo 5G, WOM 5G'],
  CR: [520, 'Kölbi 5G, Claro 5G, Liberty 5G'],
  DO: [520, 'Claro 5G, Altice 5G'],
  EC: [520, 'Claro 4G, Movistar 4G, CNT 4G'],
  GT: [520, 'Claro 5G, Tigo 5G'],
  HN: [590, 'Tigo 4G, Claro 4G'],
  JM: [690, 'Digicel 4G, Flow 4G'],
  MX: [420, 'Telcel 5G, AT&T 5G, Movistar 5G'],
  NI: [590, 'Claro 4G, Tigo 4G'],
  PA: [520, 'Tigo 4G, Más Móvil 4G'],
  PE: [450, 'Claro 5G, Movistar 5G, Entel 5G, Bitel 4G'],
  PR: [450, 'Claro 5G, Liberty 5G, T-Mobile 5G'],
  PY: [590, 'Tigo 5G, Personal 4G, Claro 4G'],
  SV: [520, 'Tigo 4G, Claro 4G, Movistar 4G'],
  TT: [690, 'bmobile 4G, Digicel 4G'],
  US: [420, 'T-Mobile 5G, AT&T 5G, Verizon 5G'],
  UY: [520, 'Antel 5G, Claro 5G, Movistar 5G'],

  // Oceania
  AU: [420, 'Telstra 5G, Optus 5G, Vodafone 5G'],
  FJ: [690, 'Vodafone 5G, Digicel 4G'],
  GU: [590, 'GTA 5G, Docomo Pacific 5G, IT&E 5G'],
  NZ: [420, 'Spark 5G, One NZ 5G, 2degrees 5G'],
  PG: [990, 'Digicel 4G, Vodafone 4G'],
  WS: [990, 'Digicel 4G, Vodafone 4G'],
}

/** Countries that also have daily, unlimited and large packages. */
export const POPULAR: readonly string[] =
  'AE AT AU BR CA CH CN DE EG ES FR GB GR HK ID IN IT JP KR MA MX MY NL NZ PH PT SA SG TH TR TW US VN ZA'.split(' ')

/** A territory of several countries. */
export interface Region {
  /** A territory made up of several countries. */
  readonly code: string
  readonly name: string
  readonly marker: typeof REGIONAL | typeof GLOBAL
  readonly countries: readonly string[]
  /** The first part of its package codes. Never two letters, which stand for countries. */
  readonly cents: number
}

const ALL = Object.keys(DESTINATIONS).sort()

const onContinents = (...continents: string[]) =>
  ALL.filter((code) => continents.includes(countries[code as keyof typeof countries].continent))

const list = (codes: string) => codes.split(' ')

const regional = (code: string, name: string, cents: number, codes: readonly string[]): Region => ({
  ...{ code, name, cents, countries: codes },
  marker: REGIONAL,
})

export const REGIONS: readonly Region[] = [
  regional('EUROPE', 'Europe', 420, onContinents('EU')),
  regional('ASIA', 'Asia', 490, onContinents('AS')),
  regional('AFRICA', 'Africa', 890, onContinents('AF')),
  regional('LATAM', 'Latin America', 690, list('AR BO BR CL CO CR DO EC GT HN MX NI PA PE PR PY SV UY')),
  regional('NORTH_AMERICA', 'North America', 490, list('CA MX US')),
  regional('CARIBBEAN', 'Caribbean', 890, list('BB BS DO JM PR TT')),
  regional('OCEANIA', 'Oceania', 590, onContinents('OC')),
  regional('MIDDLE_EAST', 'Middle East', 590, list('AE BH IL IQ JO KW OM QA SA TR')),
  regional('SOUTHEAST_ASIA', 'Southeast Asia', 420, list('ID KH LA MY PH SG TH VN')),
  regional('GREATER_CHINA', 'Greater China', 450, list('CN HK MO TW')),
  regional('JAPAN_KOREA', 'Japan and South Korea', 490, list('JP KR')),
  regional('BALKANS', 'Balkans', 490, list('AL BA BG GR HR ME MK RO RS SI XK')),
  regional('NORDICS', 'Nordic countries', 390, list('DK FI IS NO SE')),
  { code: 'GLOBAL', name: 'Global', marker: GLOBAL, countries: ALL, cents: 990 },
]
