/**
 * The screen about `config.json`: a form based on its schema, which writes the changes and says when each takes effect.
 */
import { h } from '../dom.ts';
import { descriptionOf, groupTitle } from './config-descriptions.js';
import { fieldsOf } from './config-fields.js';
import { row, rows, section } from './parts.js';
import { kept, say } from '../texts.ts';
import { messageOf } from '../failures/in-place.js';

/**
 * @typedef {object} Config
 * @property {string} file
 * @property {string} version
 * @property {import('./config-descriptions.js').Schema} schema
 * @property {Record<string, unknown>} written
 * @property {Record<string, unknown>} values
 * @property {{ name: string, isSet: boolean }[]} environment
 * @property {import('../texts.ts').TextRef[]} problems What is wrong with the file as it is.
 * @property {string[]} needsRestart
 */

/** What the last change reported; shown once, above the form. */
let lastReport = '';

/** @type {import('./parts.js').Screen} */
export async function configScreen(host) {
  /** @type {Config} */
  const config = await host.ask('GET', '/v1/config');
  const groups = groupsOf(config);
  const status = h('p', { class: 'settings-status', role: 'status' }, lastReport);
  lastReport = '';
  const errorText = h(
    'p',
    { class: 'error-text settings-errors', role: 'alert' },
    config.problems.map(kept).join('\n'),
  );
  const save = async () => {
    status.textContent = '';
    try {
      const changes = groups.flatMap(({ fields }) => fields.flatMap((field) => field.change()));
      if (changes.length === 0) {
        status.textContent = say('page.set.unchanged');
        return;
      }
      /** @type {{ atOnce: string[], needsRestart: string[] }} */
      const { atOnce, needsRestart } = await host.ask('PATCH', '/v1/config', {
        version: config.version,
        changes,
      });
      lastReport = [
        say('page.set.saved'),
        fieldsText('page.set.counts_now', atOnce),
        fieldsText('page.set.counts_later', needsRestart),
      ]
        .join(' ')
        .trim();
      await host.act(async () => undefined);
    } catch (error) {
      errorText.textContent = messageOf(error);
      errorText.scrollIntoView({ block: 'nearest' });
    }
  };
  const formElement = formOf(config, groups);
  formElement.addEventListener('submit', (event) => {
    event.preventDefault();
    void save();
  });
  const restartText = fieldsText('page.set.waits_restart', config.needsRestart);
  return [
    section(
      'config.json',
      h('p', { class: 'quiet' }, config.file),
      h('p', {}, restartText),
      status,
      errorText,
      formElement,
    ),
    section(say('page.set.environment'), rows(variables(config), '')),
  ];
}

/**
 * The fields by the part of the settings that they are in.
 * @param {Config} config
 */
function groupsOf(config) {
  return Object.entries(config.schema.properties ?? {})
    .filter(([name]) => name !== '$schema')
    .map(([name, schema]) => ({
      name,
      schema,
      fields: fieldsOf(schema, [name], config.written[name], config.values[name]),
    }))
    .filter(({ fields }) => fields.length > 0);
}

/**
 * @param {Config} config
 * @param {ReturnType<typeof groupsOf>} groups
 */
function formOf(config, groups) {
  return h(
    'form',
    { class: 'config-form' },
    ...groups.map(({ name, schema, fields }) =>
      h(
        'details',
        { class: 'config-group', open: config.written[name] !== undefined },
        h('summary', {}, ...groupTitle(name)),
        ...(schema.properties === undefined ? [] : descriptionOf(schema)),
        ...fields.map(({ element }) => element),
      ),
    ),
    h('div', { class: 'config-save' }, h('button', { type: 'submit', class: 'primary' }, say('page.save'))),
  );
}

/** @param {Config} config */
function variables({ environment }) {
  return environment.map(({ name, isSet }) =>
    row(name, isSet ? say('page.set.is_set') : say('page.set.unset')),
  );
}

/**
 * @param {'page.set.counts_now' | 'page.set.counts_later' | 'page.set.waits_restart'} key
 * @param {string[]} fields
 */
function fieldsText(key, fields) {
  return fields.length === 0 ? '' : say(key, { fields: fields.join(', ') });
}
