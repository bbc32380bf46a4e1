/** The screen about usage: tokens by day, model, person or channel, as bars next to the table. */
import { h } from '../dom.ts';
import { choice, form, labelled, section, table } from './parts.js';
import { money, number, say } from '../texts.ts';

/** @typedef {import('../../../../src/protocol/agent/usage.ts').UsageReport} Report */

const BY = {
  day: say('page.set.by_day'),
  model: say('page.set.by_model'),
  user: say('page.set.by_user'),
  channel: say('page.set.by_channel'),
  session: say('page.set.by_session'),
  purpose: say('page.set.by_purpose'),
};
const DAYS = {
  7: say('page.set.days', { count: 7 }),
  30: say('page.set.days', { count: 30 }),
  90: say('page.set.days', { count: 90 }),
  365: say('page.set.year'),
};
const DAY_MS = 86_400_000;
/** Rows of the chart. */
const MAX_BARS = 90;

/** What is shown; kept while the page is open. */
const selection = { by: 'day', days: '30' };

/** @type {import('./parts.js').Screen} */
export async function usageScreen(host) {
  const from = new Date(Date.now() - Number(selection.days) * DAY_MS).toISOString();
  /** @type {Report} */
  const { groups, more, total } = await host.ask(
    'GET',
    `/v1/usage?by=${selection.by}&from=${encodeURIComponent(from)}`,
  );
  const by = choice(BY, selection.by);
  const days = choice(DAYS, selection.days);
  const show = () => {
    Object.assign(selection, { by: by.value, days: days.value });
    void host.act(async () => undefined);
  };
  const priced = groups.some(({ cost }) => cost !== undefined);
  const cells = groups.map((group) => [
    group.key || say('page.set.none'),
    number(group.promptTokens),
    number(group.completionTokens),
    number(group.answers),
    `${number(Math.round(group.modelMs / 1_000))} s`,
    ...(priced ? [group.cost === undefined ? '' : money(group.cost)] : []),
  ]);
  const sum = say('page.set.usage_sum', {
    tokens: number(total.promptTokens + total.completionTokens),
    answers: number(total.answers),
  });
  return [
    section(
      say('page.set.usage'),
      form(
        say('page.set.show'),
        show,
        labelled(say('page.set.by'), by),
        labelled(say('page.set.of_last'), days),
      ),
      h('p', {}, sum),
      ...(total.cost === undefined ? [] : [h('p', {}, `${say('page.set.cost')}: ${money(total.cost)}`)]),
      bars(groups),
    ),
    section(
      say('page.markdown.table'),
      table(
        say('page.set.usage_numbers'),
        [
          '',
          say('page.set.read'),
          say('page.set.written'),
          say('page.set.answers'),
          say('page.set.model_time'),
          ...(priced ? [say('page.set.cost')] : []),
        ],
        cells,
      ),
      ...(more ? [h('p', { class: 'quiet' }, say('page.set.usage_more'))] : []),
    ),
  ];
}

/** @param {Report['groups']} groups */
function bars(groups) {
  const lastGroups = groups.slice(-MAX_BARS);
  const most = Math.max(1, ...lastGroups.map(tokens));
  const lines = lastGroups.map((group) => {
    const meter = h('progress', { max: most, value: tokens(group), 'aria-hidden': 'true' });
    return h(
      'div',
      { class: 'usage-bar' },
      h('span', {}, group.key || say('page.set.none')),
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
