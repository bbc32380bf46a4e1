/** The screen about profiles: what each is for, its model and its tools. */
import { h } from '../dom.js';
import { row, rows, section } from './parts.js';
import { say } from '../texts.js';

/** @typedef {import('../../../../src/contracts/agent/profile.ts').Profile} Profile */

/** @type {import('./parts.js').Screen} */
export async function profilesScreen({ ask }) {
  /** @type {{ profiles: Profile[], errors: string[] }} */
  const { profiles, errors } = await ask('GET', '/v1/profiles');
  const shown = profiles.map(({ id, description, model, usableBy, enabledTools, planning }) => {
    const tools = enabledTools.length === 0 ? say('page.set.no_tools') : enabledTools.join(', ');
    const about = say('page.set.profile_about', {
      model: model ?? say('page.set.own_model'),
      who: say(`page.set.usable_${usableBy}`),
      planning: say(`page.set.planning_${planning}`),
      tools,
    });
    return row(description === undefined ? id : `${id}: ${description}`, about);
  });
  const broken = errors.map((error) => h('p', { class: 'error-text' }, error));
  const where = h('p', { class: 'quiet' }, say('page.set.profiles_where'));
  return [section(say('page.set.profiles'), ...broken, rows(shown, ''), where)];
}
