import { Button, Center, Code, Image, Stack, Text, TextInput } from '@mantine/core'
import { useState } from 'react'
import { useChange } from '#api/use-api.ts'
import { Dialog } from '#parts/dialog.tsx'
import { Card } from '#parts/page.tsx'
import { CopyIcon, Hint } from '#parts/values.tsx'
import { t } from '#strings/strings.ts'
import { ReauthenticationFields } from '../sign-in/reauthenticate.tsx'
import { useSession } from '../sign-in/session.ts'
import { ShowRecoveryCodes } from './recovery-codes.tsx'

interface Setup {
  secret: string
  qr: string
}

type Step = { at: 'password' | 'remove' } | { at: 'scan'; setup: Setup } | { at: 'codes'; codes: string[] }

/** Set-up in three steps: enter the password, scan the QR code and enter a code, save the recovery codes. */
export function SecondFactor() {
  const me = useSession()
  const [step, setStep] = useState<Step>()
  const begin = useChange<Setup>({ quiet: true })
  const confirm = useChange<{ recoveryCodes: string[] }>({ quiet: true })
  const remove = useChange({ success: t.account.turnedOff, quiet: true })
  const close = () => setStep(undefined)
  const path = '/account/second-factor'
  return (
    <Card
      title={t.account.secondFactor}
      actions={
        <Button variant="default" onClick={() => setStep({ at: me.authenticator ? 'remove' : 'password' })}>
          {me.authenticator ? t.account.turnOff : t.account.setUp}
        </Button>
      }
    >
      <Hint>{me.authenticator ? t.account.secondFactorOn : t.account.secondFactorOff}</Hint>
      <Dialog
        title={t.account.secondFactor}
        opened={step?.at === 'password'}
        onClose={close}
        submit={t.account.setUp}
        busy={begin.isPending}
        error={begin.error}
        onSubmit={(body) =>
          begin.mutate({ method: 'POST', path, body }, { onSuccess: (setup) => setStep({ at: 'scan', setup }) })
        }
      >
        <ReauthenticationFields />
      </Dialog>
      <Dialog
        title={t.account.secondFactor}
        opened={step?.at === 'scan'}
        onClose={close}
        submit={t.account.confirm}
        busy={confirm.isPending}
        error={confirm.error}
        onSubmit={(body) =>
          confirm.mutate(
            { method: 'POST', path: `${path}/confirm`, body },
            {
              // A passkey has already created the codes.
              onSuccess: ({ recoveryCodes }) =>
                setStep(recoveryCodes.length > 0 ? { at: 'codes', codes: recoveryCodes } : undefined),
            },
          )
        }
      >
        {step?.at === 'scan' && <Scan setup={step.setup} />}
      </Dialog>
      {step?.at === 'codes' && <ShowRecoveryCodes codes={step.codes} onClose={close} />}
      <Dialog
        title={t.account.turnOff}
        opened={step?.at === 'remove'}
        onClose={close}
        submit={t.account.turnOff}
        danger
        busy={remove.isPending}
        error={remove.error}
        onSubmit={(body) => remove.mutate({ method: 'POST', path: `${path}/remove`, body }, { onSuccess: close })}
      >
        <ReauthenticationFields />
      </Dialog>
    </Card>
  )
}

function Scan({ setup }: { setup: Setup }) {
  return (
    <Stack>
      <Text size="sm">{t.account.scanText}</Text>
      <Center bg="white" p="sm">
        <Image src={`data:image/svg+xml,${encodeURIComponent(setup.qr)}`} alt={t.account.scanAlt} w={200} h={200} />
      </Center>
      <Text size="sm" component="div">
        {t.account.manualKey} <Code className="break">{setup.secret}</Code>
        <CopyIcon value={setup.secret} label={t.account.secondFactor} />
      </Text>
      <TextInput
        name="code"
        label={t.reauthentication.code}
        inputMode="numeric"
        autoComplete="one-time-code"
        required
        data-autofocus
      />
    </Stack>
  )
}
