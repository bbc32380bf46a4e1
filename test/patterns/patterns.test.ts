/** No regular expression in the sources takes more than linear time, whatever the text. */
import vm from 'node:vm';
import { expect, it } from 'vitest';
import { type Attack, attacksOn, textOf } from './attack-texts.ts';
import { findPatterns } from './find-patterns.ts';

/** Length of the texts, and the CPU time that one of them may take; the best of three runs counts. */
const LENGTH = 65_536;
const MAX_MS = 50;
const RUNS = 3;
/** A run is ended after this time. */
const GIVE_UP_MS = 500;
/**
 * Patterns created from the source of another pattern, which is checked itself (the log), and alternatives of literal
 * texts, which cannot be slow.
 */
const COPIES = [
  'src/ops/log.ts',
  'src/protocol/isomorphic/call-fields.js',
  'src/providers/filter/answer-filter.ts',
  'src/providers/filter/answer-filter.ts',
  'src/providers/shape.ts',
];
const SHOWN = 5;

const run = new vm.Script('search()');

/** CPU time in milliseconds for replacing every match of the pattern; `Infinity` when it does not end. */
function timeOf(pattern: RegExp, text: string): number {
  // The redactor and the renderers search one text repeatedly.
  const everywhere = pattern.sticky
    ? pattern
    : new RegExp(pattern.source, `${pattern.flags.replace('g', '')}g`);
  Object.assign(globalThis, { search: () => text.replace(everywhere, '') });
  const before = process.threadCpuUsage();
  try {
    run.runInThisContext({ timeout: GIVE_UP_MS });
  } catch {
    return Infinity;
  }
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1_000;
}

/** The time of the attack that takes longest. Stops at the first that takes too long. */
function slowestOf(pattern: RegExp): { ms: number; attack: Attack | undefined } {
  let slowest: { ms: number; attack: Attack | undefined } = { ms: 0, attack: undefined };
  for (const attack of attacksOn(pattern)) {
    const text = textOf(attack, LENGTH);
    let ms = timeOf(pattern, text);
    for (let n = 1; n < RUNS && ms > MAX_MS / 4; n += 1) ms = Math.min(ms, timeOf(pattern, text));
    if (ms > slowest.ms) slowest = { ms, attack };
    if (ms > MAX_MS) return slowest;
  }
  return slowest;
}

it('finds the slow ones among known patterns', () => {
  const slow = [
    /\b[a-z][a-z0-9+.-]*:\/\//i,
    /[)\].,]+$/,
    /^(\s*)#/gm,
    /^(a+)+$/,
    /^(a|a)*$/,
    /\bfind\b.*-delete\b/s,
    /^\s*word\s*\s*$/,
  ];
  expect(slow.filter((pattern) => slowestOf(pattern).ms <= MAX_MS)).toEqual([]);
  const fast = [/:\/\/[^\s:@/]*:/, /^[\w-]{1,50}$/, /\s+/g, /^\s*#/, /[.!?]/y];
  expect(fast.filter((pattern) => slowestOf(pattern).ms > MAX_MS)).toEqual([]);
});

it(`searches ${LENGTH / 1_024} KiB of any text with each of them in ${MAX_MS} ms`, () => {
  const { found, copies } = findPatterns();
  expect(found.length).toBeGreaterThan(200);
  expect(copies.map((place) => place.split(':')[0])).toEqual(COPIES);
  const written = new Map(found.map(({ place, pattern }) => [String(pattern), { place, pattern }]));
  const measured = [...written.values()]
    .map(({ place, pattern }) => ({ place, pattern: String(pattern), ...slowestOf(pattern) }))
    .toSorted((a, b) => b.ms - a.ms);
  const lines = measured
    .slice(0, SHOWN)
    .map(({ ms, place, pattern }) => `${ms.toFixed(1).padStart(6)} ms  ${place}  ${pattern}\n`);
  process.stdout.write(`${written.size} patterns, the slowest:\n${lines.join('')}`);
  expect(measured.filter(({ ms }) => ms > MAX_MS)).toEqual([]);
}, 300_000);
