export const CATALOGUE = '/catalogue'
export const ADD_PACKAGE = '/add-package'
export const PACKAGE_PAGE = '/packages/$packageCode'
export const PACKAGE_PRICES_PAGE = `${PACKAGE_PAGE}/prices`

export function packagePath(packageCode: string): string {
  return PACKAGE_PAGE.replace('$packageCode', encodeURIComponent(packageCode))
}

export function packagePricesPath(packageCode: string): string {
  return `${packagePath(packageCode)}/prices`
}
