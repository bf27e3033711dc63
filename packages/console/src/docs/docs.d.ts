import '@tanstack/react-router'

declare module '@tanstack/react-router' {
  interface StaticDataRouteOption {
    /** The section of the documentation that explains the page. */
    docs?: string | undefined
  }
}
