import type { OperatorContactView } from '@dealer-esim/gateway/http/console/operations/operator-settings.ts'
import { SimpleGrid, TextInput } from '@mantine/core'
import { useApi } from '#api/use-api.ts'
import { SettingsCard } from '#parts/settings-card.tsx'
import { Hint } from '#parts/values.tsx'
import { isOperatorAdmin, useSession } from '#people/sign-in/session.ts'
import { t } from '#strings/strings.ts'

/** Whom dealers ask, and how. */
export function ContactSettings() {
  const mayEdit = isOperatorAdmin(useSession())
  const { data } = useApi<OperatorContactView>('/operator-contact')
  if (!data) return null
  return (
    <SettingsCard
      key={JSON.stringify(data)}
      title={t.contact.title}
      saveTo={{ method: 'PUT', path: '/operator-contact' }}
      mayEdit={mayEdit}
      parse={({ name = null, email = null, phone = null, hours = null }) => ({ body: { name, email, phone, hours } })}
    >
      {(errors) => (
        <>
          <Hint>{t.contact.text}</Hint>
          <SimpleGrid cols={{ base: 1, sm: 2 }}>
            <TextInput
              name="name"
              label={t.contact.name}
              description={t.contact.nameHint}
              defaultValue={data.name ?? ''}
              placeholder={data.legalName ?? undefined}
              maxLength={100}
              readOnly={!mayEdit}
            />
            <TextInput
              name="hours"
              label={t.contact.hours}
              description={t.contact.hoursHint}
              defaultValue={data.hours ?? ''}
              maxLength={100}
              readOnly={!mayEdit}
            />
            <TextInput
              name="email"
              type="email"
              label={t.contact.email}
              defaultValue={data.email ?? ''}
              error={errors.email}
              maxLength={254}
              readOnly={!mayEdit}
            />
            <TextInput
              name="phone"
              type="tel"
              label={t.contact.phone}
              defaultValue={data.phone ?? ''}
              maxLength={40}
              readOnly={!mayEdit}
            />
          </SimpleGrid>
        </>
      )}
    </SettingsCard>
  )
}
