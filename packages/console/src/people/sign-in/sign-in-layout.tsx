import { Anchor, Box, Center, Group, Paper, Stack, Text, Title, useComputedColorScheme } from '@mantine/core'
import { type ReactNode, useEffect } from 'react'
import { consoleBase } from '#api/call-api.ts'
import { consoleName, shownBrand } from '#brands/shown-brand.ts'
import { ErrorText } from '#parts/load-states.tsx'
import { t } from '#strings/strings.ts'

/** The layout of pages outside the console: sign-in, invitation, forced password change. */
export function SignInLayout(props: {
  title: string
  text?: string
  wide?: boolean
  below?: ReactNode
  children: ReactNode
}) {
  const { title, text, wide = false, below, children } = props
  useEffect(() => {
    document.title = `${title} · ${consoleName}`
  }, [title])
  return (
    <Center mih="100dvh" p="md" component="main">
      <Stack w="100%" maw={wide ? 680 : 400} gap="lg">
        <Group gap="xs" justify="center">
          <Logo />
          <Text fw={650} className="break">
            {consoleName}
          </Text>
        </Group>
        <Paper withBorder p="xl" shadow="sm">
          <Box mb="md">
            <Title order={1}>{title}</Title>
            {text && (
              <Text c="dimmed" size="sm" mt={4}>
                {text}
              </Text>
            )}
          </Box>
          {children}
        </Paper>
        {below}
      </Stack>
    </Center>
  )
}

/** Says why a link does not sign the person in, and offers another way to sign in. */
export function SignInFailed({ title, message }: { title: string; message: string }) {
  return (
    <SignInLayout title={title}>
      <Stack>
        <ErrorText>{message}</ErrorText>
        <Anchor href={consoleBase.href}>{t.signIn.back}</Anchor>
      </Stack>
    </SignInLayout>
  )
}

/** The operator's logo, or the product's where it has none. */
export function Logo({ size = 28 }: { size?: number }) {
  const isDark = useComputedColorScheme() === 'dark'
  const { icon, logoLight, logoDark } = shownBrand ?? {}
  const own = (isDark ? logoDark : logoLight) ?? logoLight ?? icon
  if (own !== undefined) return <img src={own} alt="" height={size} style={{ maxWidth: size * 5 }} />
  return (
    <svg viewBox="0 0 32 32" width={size} height={size} aria-hidden="true">
      <rect width="32" height="32" rx="8" fill="#0c8599" />
      <path d="M10 7h8l5 5v13H10z" fill="none" stroke="#fff" strokeWidth="2" strokeLinejoin="round" />
      <rect x="13" y="15" width="7" height="7" rx="1.5" fill="none" stroke="#fff" strokeWidth="2" />
    </svg>
  )
}
