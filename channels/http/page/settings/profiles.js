/** The screen about profiles: what each is for, its model and its tools. */
import { h } from '../dom.js';
import { row, rows, section } from './parts.js';

/** @typedef {import('../../../../src/contracts/profile.ts').Profile} Profile */

/** @type {import('./parts.js').Screen} */
export async function profilesScreen({ ask }) {
  /** @type {{ profiles: Profile[], errors: string[] }} */
  const { profiles, errors } = await ask('GET', '/v1/profiles');
  const shown = profiles.map(({ id, description, model, usableBy, enabledTools, planning }) => {
    const tools = enabledTools.length === 0 ? 'no tools' : enabledTools.join(', ');
    const about = `${model ?? 'the gateway’s model'} · for ${usableBy} · planning ${planning} · ${tools}`;
    return row(description === undefined ? id : `${id}: ${description}`, about);
  });
  const broken = errors.map((error) => h('p', { class: 'error-text' }, error));
  const where = h(
    'p',
    { class: 'quiet' },
    'Profiles are files in the folder profiles of the home; they are read again when they change.',
  );
  return [section('Profiles', ...broken, rows(shown, ''), where)];
}
