import { Anchor, Button, Stack } from '@mantine/core'
import { signOutHere } from '#layout/sign-out.ts'
import { t } from '#strings/strings.ts'
import { Passkeys } from '../account/own-passkeys.tsx'
import { SecondFactor } from '../account/second-factor.tsx'
import { useSession } from './session.ts'
import { SignInLayout } from './sign-in-layout.tsx'

/** Shown before anything else to people whose role requires a second factor, until they have one and continue. */
export function SecondFactorSetUpPage({ onDone }: { onDone(): void }) {
  const me = useSession()
  return (
    <SignInLayout title={t.secondFactorSetUp.title} text={t.secondFactorSetUp.text} wide>
      <Stack>
        <SecondFactor />
        <Passkeys />
        <Button disabled={me.secondFactorMissing} onClick={onDone} fullWidth>
          {t.secondFactorSetUp.continue}
        </Button>
        <Anchor component="button" type="button" size="sm" onClick={() => void signOutHere()}>
          {t.account.signOut}
        </Anchor>
      </Stack>
    </SignInLayout>
  )
}
