import '@tanstack/react-router'
import type { PageRoute } from '#page-list.ts'

declare module '@tanstack/react-router' {
  interface StaticDataRouteOption {
    /** The section of the documentation that explains the page. */
    docs?: string | undefined
    mayOpen?: PageRoute['mayOpen']
  }
}
