import type { Me } from '@dealer-esim/gateway/http/console/people/me.ts'
import { isTestMode } from '#api/call-api.ts'
import { canOperate, isOperator } from '#people/sign-in/session.ts'
import { GROUPS } from '#prices/price-paths.ts'
import { ADD_RULE } from '#products/product-paths.ts'
import { t } from '#strings/strings.ts'
import { ADD_SUPPLIER } from '#suppliers/supplier-paths.ts'
import { navigationFor } from './navigation.ts'

interface Command {
  kind: 'PAGE' | 'ACTION'
  label: string
  to: string
}

/** Pages, settings and actions that the finder offers a person. An action is a page on which it begins. */
export function commandsFor(me: Me): Command[] {
  const own = `/tenants/${me.tenant?.tenantId}`
  const page = (label: string, to: string): Command => ({ kind: 'PAGE', label, to })
  const action = (label: string, to: string): Command => ({ kind: 'ACTION', label, to })
  return [
    ...navigationFor(me).map(({ label, to }) => page(label, to)),
    page(t.account.title, '/account'),
    ...(isOperator(me)
      ? [page(t.prices.tabs.groups, GROUPS), page(t.debugger.title, '/debugger')]
      : isTestMode
        ? []
        : [page(t.people.title, `${own}/people`)]),
    ...(canOperate(me)
      ? [
          action(t.dealers.new, '/tenants?new=1'),
          action(t.catalogue.import, '/catalogue/import'),
          action(t.saleRules.add, ADD_RULE),
        ]
      : []),
    ...(me.role === 'OPERATOR_ADMIN' ? [action(t.suppliers.add, ADD_SUPPLIER)] : []),
  ].filter((one, index, all) => all.findIndex(({ to }) => to === one.to) === index)
}
