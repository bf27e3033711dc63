import { NativeSelect } from '@mantine/core'
import { useLocalStorage } from '@mantine/hooks'
import { CodeBlock } from '#code/code-block.tsx'
import { Card } from '#parts/page.tsx'
import { Hint } from '#parts/values.tsx'
import { t } from '#strings/page-texts.ts'
import { SNIPPETS, type SnippetCall, type SnippetLanguage } from './snippets.ts'

/** The request as a program, in the language chosen last. */
export function SnippetCard({ call }: { call: SnippetCall }) {
  const [chosen, choose] = useLocalStorage({ key: 'explorer-language', defaultValue: 'bash' })
  const { name, language, write } = SNIPPETS[chosen as SnippetLanguage] ?? SNIPPETS.bash
  return (
    <Card
      title={t.explorer.snippet}
      actions={
        <NativeSelect
          aria-label={t.explorer.language}
          size="xs"
          value={chosen}
          data={Object.entries(SNIPPETS).map(([value, { name }]) => ({ value, label: name }))}
          onChange={(event) => choose(event.currentTarget.value)}
        />
      }
    >
      <Hint>{t.explorer.snippetText}</Hint>
      <CodeBlock label={name} text={write(call)} language={language} />
    </Card>
  )
}
