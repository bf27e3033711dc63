export const PRODUCTS = '/products'
export const RULES = '/sale-rules'
export const ADD_RULE = '/add-sale-rule'
export const RULE_PREVIEW = '/sale-rules-preview'
export const RULE_PAGE = '/sale-rules/$ruleName'

export function rulePath(ruleName: string): string {
  return `${RULES}/${encodeURIComponent(ruleName)}`
}
