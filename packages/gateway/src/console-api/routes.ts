import { accountRoutes } from './account.ts'
import { meRoutes } from './me.ts'
import { peopleRoutes } from './people.ts'
import type { Route } from './route.ts'
import { searchRoutes } from './search.ts'
import { signInRoutes } from './sign-in.ts'

/** Every route of the console, in one table. A test walks it with every role. */
export const routes: readonly Route[] = [
  ...signInRoutes,
  ...meRoutes,
  ...accountRoutes,
  ...peopleRoutes,
  ...searchRoutes,
]
