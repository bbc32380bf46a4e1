/** The screen about usage: tokens by day, model, person or channel, as bars with the table beside. */
import { h } from '../dom.js';
import { choice, form, labelled, section, table } from './parts.js';

/** @typedef {import('../../../../src/contracts/usage.ts').UsageReport} Report */

const BY = {
  day: 'day',
  model: 'model',
  user: 'person',
  channel: 'channel',
  session: 'chat',
  purpose: 'purpose',
};
const DAYS = { 7: '7 days', 30: '30 days', 90: '90 days', 365: 'a year' };
const DAY_MS = 86_400_000;
/** Rows of the chart. */
const MAX_BARS = 90;

/** What is shown; kept while the page is open. */
const chosen = { by: 'day', days: '30' };

/** @type {import('./parts.js').Screen} */
export async function usageScreen(host) {
  const from = new Date(Date.now() - Number(chosen.days) * DAY_MS).toISOString();
  /** @type {Report} */
  const { groups, more, total } = await host.ask(
    'GET',
    `/v1/usage?by=${chosen.by}&from=${encodeURIComponent(from)}`,
  );
  const by = choice(BY, chosen.by);
  const days = choice(DAYS, chosen.days);
  const show = () => {
    Object.assign(chosen, { by: by.value, days: days.value });
    void host.act(async () => undefined);
  };
  const cells = groups.map((group) => [
    group.key || '(none)',
    number(group.promptTokens),
    number(group.completionTokens),
    number(group.answers),
    `${number(Math.round(group.modelMs / 1_000))} s`,
  ]);
  const sum = `${number(total.promptTokens + total.completionTokens)} tokens in ${number(total.answers)} answers`;
  return [
    section(
      'Usage',
      form('Show', show, labelled('By', by), labelled('Of the last', days)),
      h('p', {}, sum),
      bars(groups),
    ),
    section(
      'Table',
      table('Usage in numbers', ['', 'Read', 'Written', 'Answers', 'Model time'], cells),
      ...(more ? [h('p', { class: 'quiet' }, 'There are more; those with the most tokens are listed.')] : []),
    ),
  ];
}

/** @param {Report['groups']} groups */
function bars(groups) {
  const shown = groups.slice(-MAX_BARS);
  const most = Math.max(1, ...shown.map(tokens));
  const lines = shown.map((group) => {
    const meter = h('progress', { max: most, value: tokens(group), 'aria-hidden': 'true' });
    return h(
      'div',
      { class: 'usage-bar' },
      h('span', {}, group.key || '(none)'),
      meter,
      h('span', {}, number(tokens(group))),
    );
  });
  return h('div', { class: 'usage-bars', 'aria-hidden': 'true' }, ...lines);
}

/** @param {Report['groups'][number]} group */
function tokens({ promptTokens, completionTokens }) {
  return promptTokens + completionTokens;
}

/** @param {number} value */
function number(value) {
  return value.toLocaleString();
}
