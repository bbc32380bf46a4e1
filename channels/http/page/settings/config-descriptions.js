/**
 * What the configuration form says about settings: titles of their groups, and descriptions with what an entry may
 * contain.
 */
import { h } from '../dom.ts';
import { say } from '../texts.ts';

/**
 * The part of JSON Schema that the form reads.
 * @typedef {object} Schema
 * @property {string} [type]
 * @property {string} [description]
 * @property {unknown} [default]
 * @property {(string | number)[]} [enum]
 * @property {Record<string, Schema>} [properties]
 * @property {Schema} [items]
 * @property {Schema[]} [anyOf]
 * @property {Schema[]} [oneOf]
 * @property {Schema | boolean} [additionalProperties]
 */

/** @type {Record<string, string>} */
const TITLES = {
  access: say('page.set.group_access'),
  channels: say('page.set.channels'),
  providers: say('page.set.group_providers'),
  tools: say('page.set.group_tools'),
  search: say('page.set.group_search'),
  approvals: say('page.set.group_approvals'),
  schedules: say('page.schedules'),
  limits: say('page.set.group_limits'),
  language: say('page.set.group_language'),
  bindings: say('page.set.group_bindings'),
  mcp: say('page.set.mcp'),
  media: say('page.set.group_media'),
  heartbeat: say('page.set.group_heartbeat'),
  transcription: say('page.set.group_transcription'),
  speech: say('page.set.group_speech'),
  hooks: say('page.set.group_hooks'),
  webhooks: say('page.set.group_webhooks'),
  afterTurn: say('page.set.group_after_turn'),
  memory: say('page.set.memory'),
  proxySignIn: say('page.set.group_proxy'),
  retention: say('page.set.group_retention'),
  backup: say('page.set.group_backup'),
  persona: say('page.set.group_persona'),
  turns: say('page.set.turns'),
};

/**
 * The title of a group, and its name in the file.
 * @param {string} name
 */
export function groupTitle(name) {
  const title = TITLES[name];
  const code = h('code', {}, name);
  return title === undefined ? [code] : [title, ' ', code];
}

/**
 * A setting's description, and those of what an entry may contain if the setting has entries.
 * @param {Schema} schema
 */
export function descriptionOf(schema) {
  const description =
    schema.description === undefined ? [] : [h('p', { class: 'quiet' }, ...withCode(schema.description))];
  const fields = Object.entries(entryFields(schema)).flatMap(([name, { description }]) =>
    description === undefined
      ? []
      : [h('dt', {}, h('code', {}, name)), h('dd', {}, ...withCode(description))],
  );
  if (fields.length === 0) return description;
  const list = h(
    'details',
    { class: 'config-entry' },
    h('summary', {}, say('page.set.entry_fields')),
    h('dl', { class: 'quiet' }, ...fields),
  );
  return [...description, list];
}

/**
 * The fields of the entries of a record or a list, of all their kinds.
 * @param {Schema} schema
 * @returns {Record<string, Schema>}
 */
function entryFields({ additionalProperties, items }) {
  const entry = items ?? additionalProperties;
  if (typeof entry !== 'object') return {};
  const kinds = [entry, ...(entry.oneOf ?? []), ...(entry.anyOf ?? [])];
  return Object.assign({}, ...kinds.map(({ properties }) => properties));
}

/**
 * A text, with what is between backticks as code.
 * @param {string} text
 */
function withCode(text) {
  return text.split('`').map((part, nth) => (nth % 2 === 0 ? part : h('code', {}, part)));
}
