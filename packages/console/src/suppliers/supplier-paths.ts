export const STOCK = '/stock'
export const STOCK_BATCHES = `${STOCK}/batches`
export const STOCK_CODES = `${STOCK}/codes`
export const SUPPLIERS = '/suppliers'
export const ADD_SUPPLIER = '/add-supplier'
export const SUPPLIER_REPORTS = '/supplier-reports'
export const SUPPLIER_PAGE = '/suppliers/$supplier'

export function supplierPage(supplier: string): string {
  return `${SUPPLIERS}/${encodeURIComponent(supplier)}`
}
