/** The screen about usage: tokens by day, model, person or channel, as a chart next to the table of the same numbers. */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { BudgetReport } from '../../../../src/protocol/agent/budgets.ts';
import type { UsageReport } from '../../../../src/protocol/agent/usage.ts';
import { dayAndClock, money, number, say } from '../texts.ts';
import { Chips, Loading, Section, Table, useAnswer } from './parts.tsx';

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
/** Columns of the chart; older ones are in the table. */
const MAX_BARS = 90;
/** Size of the chart in its own units, which the page scales. */
const [WIDTH, HEIGHT] = [600, 160];

type Group = UsageReport['groups'][number];
/** As JSON: its time is a text. */
type Budget = Omit<BudgetReport, 'resetsAt'> & { resetsAt: string };
/** What a column of the chart shows. */
type Column = Pick<Group, 'key' | 'promptTokens' | 'completionTokens'>;

export function Usage(): JSX.Element {
  const [by, setBy] = useState('day');
  const [days, setDays] = useState('30');
  const [from, setFrom] = useState(() => since('30'));
  const answer = useAnswer<UsageReport & { budgets?: readonly Budget[] }>(
    `/v1/usage?by=${by}&from=${encodeURIComponent(from)}`,
  );
  if (answer.body === undefined) return <Loading of={answer} />;
  const { groups, more, total, budgets = [] } = answer.body;
  return (
    <>
      <Section title={say('page.set.usage')}>
        <div class="settings-form">
          <Chips label={say('page.set.by')} options={BY} value={by} change={setBy} />
          <Chips
            label={say('page.set.of_last')}
            options={DAYS}
            value={days}
            change={(next) => {
              setDays(next);
              setFrom(since(next));
            }}
          />
        </div>
        <div class="settings-form">
          <Figure label={say('page.set.usage_tokens')} value={number(tokens(total))} />
          <Figure label={say('page.set.answers')} value={number(total.answers)} />
          {total.cost !== undefined && <Figure label={say('page.set.cost')} value={money(total.cost)} />}
        </div>
        {groups.length === 0 ? (
          <p class="settings-empty">{say('page.set.usage_none')}</p>
        ) : (
          <Chart groups={by === 'day' ? everyDay(groups, Number(days)) : groups.slice(-MAX_BARS)} />
        )}
      </Section>
      {budgets.length > 0 && (
        <Section title={say('page.budget.title')}>
          <Budgets budgets={budgets} />
        </Section>
      )}
      <Section title={say('page.markdown.table')}>
        <Numbers groups={groups} name={BY[isBy(by) ? by : 'day']} />
        {more && <p class="quiet">{say('page.set.usage_more')}</p>}
      </Section>
    </>
  );
}

function since(days: string): string {
  return new Date(Date.now() - Number(days) * DAY_MS).toISOString();
}

function isBy(by: string): by is keyof typeof BY {
  return by in BY;
}

/** One number in large type. */
function Figure({ label, value }: { label: string; value: string }): JSX.Element {
  return (
    <div class="settings-field">
      <span class="usage-figure">{value}</span>
      <span class="quiet">{label}</span>
    </div>
  );
}

/** A group for each day of the period up to today, in UTC as the gateway counts; for a day without tokens an empty one. */
function everyDay(groups: readonly Group[], days: number): Column[] {
  const byDay = new Map(groups.map((group) => [group.key, group]));
  return Array.from({ length: Math.min(days + 1, MAX_BARS) }, (_, ago) => {
    const key = new Date(Date.now() - ago * DAY_MS).toISOString().slice(0, 10);
    return byDay.get(key) ?? { key, promptTokens: 0, completionTokens: 0 };
  }).toReversed();
}

/** A column for each group, input tokens below and output tokens above, between the scale and the names of the outer two. */
function Chart({ groups }: { groups: readonly Column[] }): JSX.Element {
  const most = Math.max(1, ...groups.map(tokens));
  const step = WIDTH / groups.length;
  const width = Math.min(48, step * 0.75);
  const nameOf = (group: Column | undefined): string => group?.key || say('page.set.none');
  return (
    <figure class="usage-chart">
      <figcaption class="quiet">{number(most, { notation: 'compact' })}</figcaption>
      <svg
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={say('page.set.usage_chart', { most: number(most) })}
      >
        {[0, 0.5, 1].map((part) => (
          <line key={part} x1={0} x2={WIDTH} y1={HEIGHT * part} y2={HEIGHT * part} />
        ))}
        {groups.map((group, nth) => {
          const [input = 0, output = 0] = [group.promptTokens, group.completionTokens].map(
            (count) => (HEIGHT * count) / most,
          );
          const x = nth * step + (step - width) / 2;
          return (
            <g key={group.key} class="usage-bar">
              <title>{`${nameOf(group)}: ${number(tokens(group))}`}</title>
              <rect class="usage-input" x={x} width={width} y={HEIGHT - input} height={input} />
              <rect class="usage-output" x={x} width={width} y={HEIGHT - input - output} height={output} />
            </g>
          );
        })}
      </svg>
      <div class="usage-axis quiet" aria-hidden="true">
        <span>{nameOf(groups[0])}</span>
        {groups.length > 1 && <span>{nameOf(groups.at(-1))}</span>}
      </div>
    </figure>
  );
}

function Numbers({ groups, name }: { groups: readonly Group[]; name: string }): JSX.Element {
  const priced = groups.some(({ cost }) => cost !== undefined);
  const heads = [
    name,
    say('page.set.read'),
    say('page.set.written'),
    say('page.set.answers'),
    say('page.set.model_time'),
    ...(priced ? [say('page.set.cost')] : []),
  ];
  const rows = groups.map((group) => [
    group.key || say('page.set.none'),
    number(group.promptTokens),
    number(group.completionTokens),
    number(group.answers),
    `${number(Math.round(group.modelMs / 1_000))} s`,
    ...(priced ? [group.cost === undefined ? '' : money(group.cost)] : []),
  ]);
  return <Table caption={say('page.set.usage_numbers')} heads={heads} rows={rows} />;
}

/** What is spent and reserved of each budget, with what owners have added to it. */
function Budgets({ budgets }: { budgets: readonly Budget[] }): JSX.Element {
  const heads = ['title', 'spent', 'reserved', 'cap', 'resets'] as const;
  const rows = budgets.map(({ scope, subject, unit, resetsAt, ...amounts }) => [
    `${say(`page.budget.${scope}`)} ${subject}`.trim(),
    ...[amounts.spent, amounts.reserved, amounts.cap].map((amount) =>
      unit === 'tokens' ? number(amount) : money({ amount, currency: unit }),
    ),
    dayAndClock(new Date(resetsAt)),
  ]);
  return (
    <Table
      caption={say('page.budget.title')}
      heads={heads.map((head) => say(`page.budget.${head}`))}
      rows={rows}
    />
  );
}

function tokens({
  promptTokens,
  completionTokens,
}: Pick<Group, 'promptTokens' | 'completionTokens'>): number {
  return promptTokens + completionTokens;
}
