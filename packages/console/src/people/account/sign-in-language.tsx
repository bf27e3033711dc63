import { Anchor, Group, Text } from '@mantine/core'
import { chooseBeforeSignIn } from '#strings/reader.ts'
import { language, languages, nameOfLanguage, t } from '#strings/strings.ts'

/** The languages below the sign-in, each by its own name. */
export function SignInLanguage() {
  return (
    <Group role="group" aria-label={t.account.language} gap="md" justify="center">
      {languages.map((tag) =>
        tag === language ? (
          <Text key={tag} size="sm" lang={tag} aria-current="true">
            {nameOfLanguage(tag)}
          </Text>
        ) : (
          <Anchor key={tag} component="button" type="button" size="sm" lang={tag} onClick={() => choose(tag)}>
            {nameOfLanguage(tag)}
          </Anchor>
        ),
      )}
    </Group>
  )
}

function choose(tag: string): void {
  chooseBeforeSignIn(tag)
  location.reload()
}
