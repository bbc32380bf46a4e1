/** The screen about profiles: what each is for, its model and its tools; new ones, and the form of one. */
import { h } from '../dom.ts';
import { profileForm } from './profile-form.js';
import { button, form, labelled, row, rows, section } from './parts.js';
import { kept, say } from '../texts.ts';

/** @typedef {import('../../../../src/protocol/agent/profile.ts').Profile} Profile */

/** The profile whose form is shown; '' = the list. */
let edited = '';
/** What the last change reported; shown once, above the list. */
let lastReport = '';

/** @type {import('./parts.js').Screen} */
export async function profilesScreen(host) {
  const id = edited;
  /** @param {string} report */
  const finish = (report) => {
    edited = '';
    lastReport = report;
    return host.act(async () => undefined);
  };
  // A form that cannot be shown, such as that of a profile that is gone, gives way to the list with the next look.
  edited = '';
  const content = id === '' ? await list(host) : await profileForm(host, id, finish);
  edited = id;
  return content;
}

/** @param {import('./parts.js').ScreenHost} host */
async function list(host) {
  /** @type {{ profiles: Profile[], problems: import('../texts.ts').TextRef[] }} */
  const { profiles, problems } = await host.ask('GET', '/v1/profiles');
  const status = h('p', { class: 'settings-status', role: 'status' }, lastReport);
  lastReport = '';
  const broken = problems.map((problem) => h('p', { class: 'error-text' }, kept(problem)));
  const where = h('p', { class: 'quiet' }, say('page.set.profiles_where'));
  const profileRows = profiles.map((profile) => profileRow(host, profile));
  return [
    section(say('page.set.profiles'), status, ...broken, rows(profileRows, ''), where),
    section(say('page.set.profile_new'), newProfile(host)),
  ];
}

/**
 * @param {import('./parts.js').ScreenHost} host
 * @param {Profile} profile
 */
function profileRow(host, { id, description, model, usableBy, enabledTools, planning }) {
  const about = say('page.set.profile_about', {
    model: model ?? say('page.set.own_model'),
    who: say(`page.set.usable_${usableBy}`),
    planning: say(`page.set.planning_${planning}`),
    tools: enabledTools.length === 0 ? say('page.set.no_tools') : enabledTools.join(', '),
  });
  return row(
    description === undefined ? id : `${id}: ${description}`,
    about,
    button(say('page.edit'), id, () => void edit(host, id)),
  );
}

/**
 * @param {import('./parts.js').ScreenHost} host
 * @param {string} id
 */
function edit(host, id) {
  edited = id;
  return host.act(async () => undefined);
}

/** @param {import('./parts.js').ScreenHost} host */
function newProfile(host) {
  const name = h('input', { type: 'text', required: true, autocomplete: 'off', spellcheck: 'false' });
  const create = async () => {
    const id = name.value.trim();
    await host.ask('POST', '/v1/profiles', { id });
    await edit(host, id);
  };
  return form(
    say('page.set.create'),
    // What was typed stays when the gateway refuses it.
    () => void create().catch(host.showError),
    labelled(say('page.set.name'), name),
  );
}
