/** The picker in the head of a chat: who answers the next messages, and how plans are followed. */
import type { JSX } from 'preact';
import type { ChatChoices } from '../chat/chat-choices.ts';
import { Menu } from '../parts/menu.tsx';
import { say } from '../texts.ts';

/** The modes in the order of the list, each with its explanation. */
const MODES: [mode: string, does: string][] = [
  ['planner', say('page.mode.planner')],
  ['teacher', say('page.mode.teacher')],
  ['agentic', say('page.mode.agentic')],
];

/** What a mode is called: the first word of its explanation. */
function modeName(does: string): string {
  return does.split(':', 1)[0] ?? '';
}

/** The picker of profile, model and plan mode. */
export function ChoiceMenu({ choices }: { choices: ChatChoices }): JSX.Element | null {
  const shown = choices.shown.value;
  if (shown === undefined) return null;
  const { profile, profiles, mode, model, models, answering, problem } = shown;
  const does = MODES.find(([name]) => name === mode)?.[1] ?? '';
  const parts = [
    answering,
    ...(profile === 'default' ? [] : [profile]),
    ...(mode === undefined || mode === 'planner' ? [] : [modeName(does)]),
  ];
  return (
    <Menu
      id="choices"
      class={`choices${mode === 'agentic' ? ' agentic' : ''}`}
      icon="chevron"
      label={parts.join(' · ')}
      about={say('page.choices')}
    >
      {profiles.length > 1 && (
        <label id="profile-picker" class="menu-field">
          {say('page.profile.badge')}
          <select
            id="profile"
            value={profile}
            onChange={({ currentTarget }) => void choices.change({ profileId: currentTarget.value })}
          >
            {profiles.map(({ id, description }) => (
              <option key={id} value={id} title={description ?? undefined}>
                {id}
              </option>
            ))}
          </select>
        </label>
      )}
      <label id="model-picker" class="menu-field">
        {say('page.model')}
        <select
          id="model"
          title={problem}
          value={model}
          onChange={({ currentTarget }) => void choices.change({ model: currentTarget.value || null })}
        >
          {models.map(({ value, label }) => (
            <option key={value} value={value}>
              {label}
            </option>
          ))}
        </select>
      </label>
      {mode !== undefined && (
        <label id="mode-picker" class="menu-field">
          {say('page.mode')}
          <select
            id="mode"
            value={mode}
            disabled={choices.running}
            onChange={({ currentTarget }) => void choices.change({ mode: currentTarget.value })}
          >
            {MODES.map(([name, explanation]) => (
              <option key={name} value={name} title={explanation}>
                {modeName(explanation)}
              </option>
            ))}
          </select>
        </label>
      )}
      {mode !== undefined && <p class="quiet menu-note">{does}</p>}
      {problem !== '' && <p class="error-text menu-note">{problem}</p>}
    </Menu>
  );
}
