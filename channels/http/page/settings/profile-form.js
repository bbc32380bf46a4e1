/** The form of a profile: its prompts, and a field for each value of its `config.json`. */
import { confirmDelete } from '../confirm.ts';
import { h } from '../dom.ts';
import { fieldsOf } from './config-fields.js';
import { section } from './parts.js';
import { kept, say } from '../texts.ts';
import { attempt } from '../failures/in-place.js';

/**
 * @typedef {Omit<import('../../../../src/protocol/agent/profile.ts').ProfileReport, 'schema' | 'errors'> & { schema: import('./config-descriptions.js').Schema, problems: import('../texts.ts').TextRef[] }} Report
 * @typedef {{ element: HTMLElement, change: () => Record<string, string | null> }} Prompt
 */

/**
 * Reads the profile and makes its form; `finish` gets what to say about a change, or '' where there was none.
 * @param {import('./parts.js').ScreenHost} host
 * @param {string} id
 * @param {(report: string) => Promise<void>} finish
 * @returns {Promise<Node[]>}
 */
export async function profileForm(host, id, finish) {
  const path = `/v1/profiles/${encodeURIComponent(id)}`;
  /** @type {Report} */
  const profile = await host.ask('GET', path);
  const errorText = h(
    'p',
    { class: 'error-text settings-errors', role: 'alert' },
    profile.problems.map(kept).join('\n'),
  );
  /** @param {() => Promise<void>} work */
  const act = async (work) => {
    if (!(await attempt(errorText, work))) errorText.scrollIntoView({ block: 'nearest' });
  };
  const prompts = [promptOf('systemPrompt', profile), promptOf('subagentSystemPrompt', profile)];
  const fields = fieldsOf(profile.schema, [], profile.written, profile.values).filter(
    ({ path: [name] }) => name !== '$schema',
  );
  const save = async () => {
    const changes = fields.flatMap((field) => field.change());
    const prompted = Object.assign({}, ...prompts.map((prompt) => prompt.change()));
    if (changes.length === 0 && Object.keys(prompted).length === 0) {
      await finish(say('page.set.unchanged'));
      return;
    }
    await host.ask('PATCH', path, { version: profile.version, changes, ...prompted });
    await finish(say('page.set.profile_saved', { id }));
  };
  const remove = async () => {
    const question = profile.isBuiltIn ? 'page.set.profile_reset_ask' : 'page.set.profile_delete_ask';
    const word = say(profile.isBuiltIn ? 'page.set.profile_reset' : 'page.delete');
    if (!(await confirmDelete(say(question, { id }), word))) return;
    await host.ask('DELETE', `${path}?version=${encodeURIComponent(profile.version)}`);
    await finish(say('page.set.profile_removed', { id }));
  };
  const formElement = h(
    'form',
    { class: 'config-form' },
    ...prompts.map(({ element }) => element),
    ...fields.map(({ element }) => element),
    buttons(
      profile,
      () => void act(remove),
      () => void finish(''),
    ),
  );
  formElement.addEventListener('submit', (event) => {
    event.preventDefault();
    void act(save);
  });
  return [section(id, h('p', { class: 'quiet' }, profile.folder), errorText, formElement)];
}

/**
 * Only what has files can be deleted; a built-in profile is then as it was without them.
 * @param {Report} profile
 * @param {() => void} remove
 * @param {() => void} leave
 */
function buttons({ isBuiltIn, hasFiles }, remove, leave) {
  const word = say(isBuiltIn ? 'page.set.profile_reset' : 'page.delete');
  return h(
    'div',
    { class: 'config-save' },
    h('button', { type: 'submit', class: 'primary' }, say('page.save')),
    h('button', { type: 'button', onclick: leave }, say('page.cancel')),
    ...(hasFiles ? [h('button', { type: 'button', class: 'danger', onclick: remove }, word)] : []),
  );
}

/**
 * @param {'systemPrompt' | 'subagentSystemPrompt'} name
 * @param {Report} profile
 * @returns {Prompt}
 */
function promptOf(name, { [name]: text }) {
  const field = h('textarea', { rows: 6, dir: 'auto' }, text ?? '');
  const before = field.value;
  const element = h(
    'div',
    { class: 'config-field' },
    h('label', {}, h('span', {}, say(`page.set.profile_${name}`)), field),
    h('p', { class: 'quiet' }, say('page.set.profile_prompt_how')),
  );
  const change = () => {
    if (field.value === before) return {};
    return { [name]: field.value.trim() === '' ? null : `${field.value.trimEnd()}\n` };
  };
  return { element, change };
}
