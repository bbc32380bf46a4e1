/** The screen about the files behind the settings: where they are, what is wrong with them, and which variables are set. */
import type { JSX } from 'preact';
import { useContext } from 'preact/hooks';
import { CopyButton } from '../parts/copy.tsx';
import { Row, Rows } from '../parts/rows.tsx';
import { kept, say } from '../texts.ts';
import { ConfigAnswer } from './config-form.tsx';
import { Loading, Section } from './parts.tsx';

export function Environment(): JSX.Element {
  const config = useContext(ConfigAnswer);
  if (config?.body === undefined) return config === undefined ? <></> : <Loading of={config} />;
  const { file, problems, environment } = config.body;
  return (
    <>
      <Section title="config.json" about={say('page.set.file_about')}>
        <p class="settings-secret">
          <code>{file}</code>
          <CopyButton text={file} label={say('page.set.copy_path')} />
        </p>
        {problems.length === 0 ? (
          <p class="dot ok">{say('page.set.file_ok')}</p>
        ) : (
          <p class="error-text settings-errors">{problems.map(kept).join('\n')}</p>
        )}
      </Section>
      <Section title={say('page.set.environment')} about={say('page.set.environment_about')}>
        <Rows empty="">
          {environment.map(({ name, isSet }) => (
            <Row
              key={name}
              title={name}
              mood={isSet ? 'ok' : 'off'}
              about={isSet ? say('page.set.is_set') : say('page.set.unset')}
            />
          ))}
        </Rows>
      </Section>
    </>
  );
}
