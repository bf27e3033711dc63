export const STOCK = '/stock'
export const STOCK_BATCHES = `${STOCK}/batches`
export const STOCK_CODES = `${STOCK}/codes`
export const SUPPLIERS = '/suppliers'
export const ADD_SUPPLIER = '/add-supplier'
export const SUPPLIER_REPORTS = '/supplier-reports'
/** The section with the settings on a supplier's page, for the end of a URL. */
export const SETTINGS = 'settings'
export const SUPPLIER_PAGE = '/suppliers/$supplier'

export function supplierPage(supplier: string): string {
  return `${SUPPLIERS}/${encodeURIComponent(supplier)}`
}
