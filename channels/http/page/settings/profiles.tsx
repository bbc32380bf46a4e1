/** The screens about profiles: what each is for, its model and its tools; new ones, and the form of one. */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { Profile, ProfileReport } from '../../../../src/protocol/agent/profile.ts';
import { confirmDelete } from '../confirm.tsx';
import { ask } from '../requests.ts';
import { run } from '../failures/show-error.ts';
import { Row, Rows } from '../parts/rows.tsx';
import { kept, say, type TextRef } from '../texts.ts';
import { type Change, type Part, SettingsForm } from './config-form.tsx';
import { type Schema, type Setting, settingsIn } from './config-values.ts';
import { Back, Field, Form, Loading, Section, useAnswer } from './parts.tsx';

/** What the last change reported; shown once, above the list. */
let lastReport = '';

/** The list; `item` is the profile whose form is shown. */
export function Profiles({ item }: { item: string }): JSX.Element {
  const answer = useAnswer<{ profiles: Profile[]; problems: TextRef[] }>('/v1/profiles');
  const [report] = useState(lastReport);
  lastReport = '';
  if (item !== '' && !item.includes('.') && item !== 'bindings') return <ProfileScreen id={item} />;
  if (answer.body === undefined) return <Loading of={answer} />;
  const { profiles, problems } = answer.body;
  const create = async (read: (name: string) => string): Promise<void> => {
    const id = read('id');
    await ask('POST', '/v1/profiles', { id });
    location.hash = `#settings/profiles/${id}`;
  };
  return (
    <>
      <Section title={say('page.set.profiles')} about={say('page.set.profiles_where')}>
        <p class="settings-status" role="status">
          {report}
        </p>
        {problems.map((problem) => (
          <p key={kept(problem)} class="error-text">
            {kept(problem)}
          </p>
        ))}
        <Rows empty="">{profiles.map(profileRow)}</Rows>
      </Section>
      <Section title={say('page.set.profile_new')}>
        <Form label={say('page.set.create')} submit={create}>
          <Field label={say('page.set.name')}>
            <input name="id" type="text" required autocomplete="off" spellcheck={false} />
          </Field>
        </Form>
      </Section>
    </>
  );
}

function profileRow({ id, description, model, usableBy, enabledTools, planning }: Profile): JSX.Element {
  const about = say('page.set.profile_about', {
    model: model ?? say('page.set.own_model'),
    who: say(`page.set.usable_${usableBy}`),
    planning: say(`page.set.planning_${planning}`),
    tools: enabledTools.length === 0 ? say('page.set.no_tools') : enabledTools.join(', '),
  });
  return (
    <Row key={id} title={description === undefined ? id : `${id}: ${description}`} about={about}>
      <a class="button" href={`#settings/profiles/${id}`} aria-label={`${say('page.edit')}: ${id}`}>
        {say('page.edit')}
      </a>
    </Row>
  );
}

type Report = Omit<ProfileReport, 'schema' | 'errors'> & { schema: Schema; problems: TextRef[] };
const PROMPTS = ['systemPrompt', 'subagentSystemPrompt'] as const;

/** The form of a profile: its prompts, and a field for each value of its `config.json`. */
function ProfileScreen({ id }: { id: string }): JSX.Element {
  const path = `/v1/profiles/${encodeURIComponent(id)}`;
  const answer = useAnswer<Report>(path);
  if (answer.body === undefined) return <Loading of={answer} />;
  const profile = answer.body;
  const finish = (report: string): void => {
    lastReport = report;
    location.hash = '#settings/profiles';
  };
  const save = async (changes: Change[]): Promise<string> => {
    const prompts = changes.filter(({ path: [name] }) => PROMPTS.some((prompt) => prompt === name));
    await ask('PATCH', path, {
      version: profile.version,
      changes: changes.filter((change) => !prompts.includes(change)),
      ...Object.fromEntries(
        prompts.map(({ path: [name], value }) => [
          name,
          typeof value === 'string' ? `${value.trimEnd()}\n` : null,
        ]),
      ),
    });
    const report = say('page.set.profile_saved', { id });
    finish(report);
    return report;
  };
  const word = say(profile.isBuiltIn ? 'page.set.profile_reset' : 'page.delete');
  const remove = async (): Promise<void> => {
    const question = profile.isBuiltIn ? 'page.set.profile_reset_ask' : 'page.set.profile_delete_ask';
    if (!(await confirmDelete(say(question, { id }), word))) return;
    await ask('DELETE', `${path}?version=${encodeURIComponent(profile.version)}`);
    finish(say('page.set.profile_removed', { id }));
  };
  const parts: Part[] = [
    [say('page.set.profile_prompts'), PROMPTS.map((name) => promptOf(name, profile))],
    [say('page.set.behaviour'), settingsIn(profile)],
  ];
  return (
    <>
      <Back href="#settings/profiles" to={say('page.set.profiles')} />
      <Section title={id}>
        <p class="quiet">{profile.folder}</p>
        {profile.hasFiles && (
          <button type="button" class="danger" onClick={() => run(remove())}>
            {word}
          </button>
        )}
      </Section>
      <SettingsForm parts={parts} problems={profile.problems} save={save} />
    </>
  );
}

/** A prompt as a setting: its file, or the default without one. */
function promptOf(name: (typeof PROMPTS)[number], { [name]: text }: Report): Setting {
  return {
    path: [name],
    name,
    schema: {
      type: 'string',
      title: say(`page.set.profile_${name}`),
      description: say('page.set.profile_prompt_how'),
    },
    written: text ?? undefined,
    value: text ?? undefined,
    kind: 'long',
    isHidden: false,
  };
}
