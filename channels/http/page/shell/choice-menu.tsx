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
        <Picker
          id="profile"
          label={say('page.profile.badge')}
          value={profile}
          options={profiles.map(({ id, description }) => ({
            value: id,
            label: id,
            title: description ?? '',
          }))}
          choose={(profileId) => choices.change({ profileId })}
        />
      )}
      <Picker
        id="model"
        label={say('page.model')}
        value={model}
        title={problem}
        options={models}
        choose={(name) => choices.change({ model: name || null })}
      />
      {mode !== undefined && (
        <Picker
          id="mode"
          label={say('page.mode')}
          value={mode}
          disabled={choices.isRunning.value}
          options={MODES.map(([value, title]) => ({ value, title, label: modeName(title) }))}
          choose={(name) => choices.change({ mode: name })}
        />
      )}
      {mode !== undefined && <p class="quiet menu-note">{does}</p>}
      {problem !== '' && <p class="error-text menu-note">{problem}</p>}
    </Menu>
  );
}

interface PickerProps {
  id: string;
  label: string;
  value: string;
  title?: string;
  disabled?: boolean;
  options: { value: string; label: string; title?: string }[];
  choose: (value: string) => Promise<void>;
}

function Picker({ id, label, value, title, disabled, options, choose }: PickerProps): JSX.Element {
  return (
    <label id={`${id}-picker`} class="menu-field">
      {label}
      <select
        id={id}
        value={value}
        title={title}
        disabled={disabled}
        onChange={({ currentTarget }) => void choose(currentTarget.value)}
      >
        {options.map((option) => (
          <option key={option.value} value={option.value} title={option.title}>
            {option.label}
          </option>
        ))}
      </select>
    </label>
  );
}
