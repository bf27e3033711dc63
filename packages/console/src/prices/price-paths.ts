/** Paths of the pages for price plans and groups. */
export const PLANS = '/catalogue/prices'
export const GROUPS = `${PLANS}/groups`
export const PLAN_PAGE = `${PLANS}/plans/$planName`
export const GROUP_PAGE = `${GROUPS}/$groupName`

export function planPath(planName: string): string {
  return PLAN_PAGE.replace('$planName', encodeURIComponent(planName))
}

export function groupPath(groupName: string): string {
  return GROUP_PAGE.replace('$groupName', encodeURIComponent(groupName))
}
