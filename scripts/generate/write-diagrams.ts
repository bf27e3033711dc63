// npm run diagrams: writes the diagrams of the documentation, docs/images/*.svg. A test fails while they differ.
import { writeFileSync } from 'node:fs'
import { diagrams } from './diagrams.ts'

for (const [name, svg] of diagrams()) writeFileSync(new URL(`../../docs/images/${name}`, import.meta.url), svg)
