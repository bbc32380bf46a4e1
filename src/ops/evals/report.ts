/** Replays and evaluations as people and programs read them: texts, JSON, and JUnit's XML for CI. */
import type { EvalItem, EvalMark, ReplayReport, ReportedSide } from '../../protocol/agent/replays.ts';
import { costText } from '../../protocol/agent/usage.ts';
import { clipEnd, escapeControls, oneLine } from '../../lib/text.ts';
import { duration, whole } from '../trace/explain.ts';
import { checkText } from './checks.ts';
import type { EvalReport } from './run-eval.ts';

/** Narrowest and widest line of two columns, in characters. */
const MIN_WIDTH = 60;
const MAX_WIDTH = 160;
/** Characters of a question in a line. */
const QUESTION_CHARS = 60;
/** Between the columns. */
const GAP = '  │  ';

/** A replay for a terminal of this many columns: figures and answers side by side. */
export function replayText(report: ReplayReport, columns: number): string {
  const { turnId, session, question, original, replay, missing } = report;
  const width = Math.floor((Math.min(Math.max(columns, MIN_WIDTH), MAX_WIDTH) - GAP.length) / 2);
  const lines = [
    `Turn ${turnId} of ${session}: ${clipEnd(oneLine(question), width * 2)}`,
    '',
    ...sideBySide(figures('As it was', original), figures('Replay', replay), width),
    '',
    ...sideBySide(answerLines(original), answerLines(replay), width),
    ...(missing.length === 0 ? [] : ['', 'Not as it was:', ...missing.map((text) => `  - ${text}`)]),
  ];
  return lines.map(escapeControls).join('\n');
}

function figures(title: string, side: ReportedSide): string[] {
  const about = side.estimated ? '≈' : '';
  return [
    title,
    `${side.model || 'unknown model'}, profile ${side.profileId || 'unknown'}`,
    `${about}${whole(side.promptTokens)} tokens in, ${about}${whole(side.completionTokens)} out${priceText(side)}`,
    `model time ${duration(side.modelMs)}, ${whole(side.iterations)} calls of the model`,
    ...side.calls.map(
      ({ name, args, result }) =>
        `${result === undefined ? '✗ not run' : '✓'} ${clipEnd(oneLine(`${name}(${JSON.stringify(args)})`), MAX_WIDTH)}`,
    ),
  ];
}

function priceText({ cost }: ReportedSide): string {
  return cost === undefined ? '' : `, ${costText(cost, 'en')}`;
}

function answerLines({ answer, reason, error }: ReportedSide): string[] {
  const end = error ?? (reason === 'completed' ? undefined : reason);
  return [...answer.split('\n'), ...(end === undefined ? [] : [`[${end}]`])];
}

/** Two columns of lines, each wrapped to `width`. */
function sideBySide(original: readonly string[], replay: readonly string[], width: number): string[] {
  const columns = [original, replay].map((lines) => lines.flatMap((line) => wrapped(line, width)));
  const [first = [], second = []] = columns;
  const rows = Math.max(first.length, second.length);
  return Array.from({ length: rows }, (_, at) =>
    `${(first[at] ?? '').padEnd(width)}${GAP}${second[at] ?? ''}`.trimEnd(),
  );
}

/** A line in pieces of at most `width` UTF-16 units, between words where it has some. */
function wrapped(line: string, width: number): string[] {
  const pieces: string[] = [];
  let rest = line;
  while (rest.length > width) {
    const space = rest.lastIndexOf(' ', width);
    const end = space > width / 2 ? space : width;
    pieces.push(rest.slice(0, end).toWellFormed());
    rest = rest.slice(end).replace(/^ /, '');
  }
  return [...pieces, rest];
}

/** The sums of a model, or of the turns as they were. */
interface Totals {
  tests: number;
  passed: number;
  errors: number;
  promptTokens: number;
  completionTokens: number;
  modelMs: number;
  cost: { amount: number; currency: string } | null;
}

function totalsOf(items: readonly EvalItem[], side: 'original' | 'replay'): Totals {
  const sides = items.map(({ report }) => report[side]);
  const sum = (field: 'promptTokens' | 'completionTokens' | 'modelMs'): number =>
    sides.reduce((total, one) => total + one[field], 0);
  const costs = sides.flatMap(({ cost }) => cost ?? []);
  const [first] = costs;
  return {
    tests: items.length,
    passed: items.filter(({ pass }) => pass).length,
    errors: items.filter(({ report }) => report.replay.error !== undefined).length,
    promptTokens: sum('promptTokens'),
    completionTokens: sum('completionTokens'),
    modelMs: sum('modelMs'),
    cost:
      first === undefined
        ? null
        : { amount: costs.reduce((total, { amount }) => total + amount, 0), currency: first.currency },
  };
}

function itemsOf({ items }: EvalReport, model: string): EvalItem[] {
  return items.filter((item) => item.model === model);
}

/** True when every check of every turn has passed on every model. */
export function hasPassed({ items }: EvalReport): boolean {
  return items.length > 0 && items.every(({ pass }) => pass);
}

/** An evaluation for a terminal: a row for each model, and what has failed. */
export function evalText(report: EvalReport): string {
  const { set, models, profile } = report;
  const width = Math.max(...models.map((model) => model.length), 'as it was'.length);
  const row = (name: string, score: string, totals: Totals): string =>
    [
      name.padEnd(width),
      score.padStart(9),
      whole(totals.promptTokens).padStart(11),
      whole(totals.completionTokens).padStart(11),
      duration(totals.modelMs).padStart(13),
      totals.cost === null ? '' : costText(totals.cost, 'en').padStart(11),
    ]
      .join('  ')
      .trimEnd();
  const first = itemsOf(report, models[0] ?? '');
  const failures = report.items.filter(({ pass }) => !pass);
  const lines = [
    `Set ${set}, ${first.length} turns${profile === null ? '' : `, profile ${profile}`}`,
    '',
    `${''.padEnd(width)}     passed    tokens in   tokens out     model time         cost`,
    row('as it was', '', totalsOf(first, 'original')),
    ...models.map((model) => {
      const totals = totalsOf(itemsOf(report, model), 'replay');
      return row(model, `${totals.passed}/${totals.tests}`, totals);
    }),
    ...failures.flatMap(failureLines),
  ];
  return lines.map(escapeControls).join('\n');
}

function failureLines({ model, checks, report: { turnId, question, missing } }: EvalItem): string[] {
  return [
    '',
    `✗ ${model}  ${turnId}  ${clipEnd(oneLine(question), QUESTION_CHARS)}`,
    ...checks.filter(({ pass }) => !pass).map(({ check, detail = '' }) => `    ${check}: ${detail}`),
    ...missing.map((text) => `    (${text})`),
  ];
}

/** The marked turns of a home, by set. */
export function marksText(marks: readonly EvalMark[]): string {
  const lines = marks.map(({ set, turnId, session, question, checks }) =>
    [
      `${set}  ${turnId}  ${session}  ${clipEnd(oneLine(question), QUESTION_CHARS)}`,
      ...checks.map((check) => `    ${checkText(check)}`),
    ].join('\n'),
  );
  return lines.map((line) => line.split('\n').map(escapeControls).join('\n')).join('\n');
}

/** An evaluation as JSON, for programs. */
export function evalJson(report: EvalReport): string {
  const { models, items, ...about } = report;
  const totals = models.map((model) => ({ model, ...totalsOf(itemsOf(report, model), 'replay') }));
  return JSON.stringify({ ...about, passed: hasPassed(report), totals, items }, null, 2);
}

/**
 * An evaluation as JUnit's XML, which CI systems read: a suite for each model, a case for each turn
 * (https://github.com/testmoapp/junitxml).
 */
export function evalJunit(report: EvalReport): string {
  const suites = report.models.map((model) => {
    const items = itemsOf(report, model);
    const totals = totalsOf(items, 'replay');
    const { tests, errors } = totals;
    const failures = tests - totals.passed - errors;
    const time = items.reduce((sum, item) => sum + item.report.replay.ms, 0) / 1_000;
    const about = {
      name: model,
      tests,
      failures,
      errors,
      time: time.toFixed(3),
      timestamp: report.startedAt,
    };
    return [`  <testsuite${attributes(about)}>`, ...items.map(caseXml(report.set)), '  </testsuite>'].join(
      '\n',
    );
  });
  const lines = ['<?xml version="1.0" encoding="UTF-8"?>', `<testsuites${attributes({ name: report.set })}>`];
  return [...lines, ...suites, '</testsuites>', ''].join('\n');
}

function caseXml(set: string) {
  return ({ model, checks, report: { turnId, question, replay } }: EvalItem): string => {
    const name = `${turnId} ${clipEnd(oneLine(question), QUESTION_CHARS)}`;
    const about = { classname: `${set}.${model}`, name, time: (replay.ms / 1_000).toFixed(3) };
    const kind = replay.error === undefined ? 'failure' : 'error';
    const failures = checks.filter(({ pass }) => !pass);
    const details = failures.map(({ check, detail = '' }) => `${check}: ${detail}`).join('\n');
    const message = failures.map(({ check }) => check).join('; ');
    const problems =
      failures.length === 0
        ? []
        : [`      <${kind}${attributes({ message, type: 'check' })}>${xmlText(details)}</${kind}>`];
    const output = `      <system-out>${xmlText(replay.answer)}</system-out>`;
    return [`    <testcase${attributes(about)}>`, ...problems, output, '    </testcase>'].join('\n');
  };
}

function attributes(values: Readonly<Record<string, string | number>>): string {
  return Object.entries(values)
    .map(([name, value]) => ` ${name}="${xmlText(String(value)).replaceAll('"', '&quot;')}"`)
    .join('');
}

/** A text in XML 1.0, without the characters that it cannot have (§2.2). */
function xmlText(text: string): string {
  return text
    .toWellFormed()
    .replaceAll(/[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu, '\ufffd')
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;');
}
