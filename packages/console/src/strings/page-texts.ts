import en from './en.json?pages.json'
import { language, t as startTexts } from './strings.ts'
import type { PageTexts, Strings } from './text-parts.ts'

const files = import.meta.glob<PageTexts>(['./*.json', '!./en.json'], { query: '?pages.json', import: 'default' })
const load = files[`./${language}.json`]

/** All texts, for pages that show more of a section than the console loads with its start. Awaited, so that no page is shown without. */
export const t: Strings = { ...startTexts, ...(load === undefined ? en : await load()) }
