/** What the pages say about changes to plans, done word for word. */
import { expect, it } from 'vitest';
import { MAX_PLAN_STEPS, type StepEdit } from '../../src/protocol/agent/plan.ts';
import { editPlan, MAX_STEP_EDITS } from '../../src/protocol/agent/plan-edits.ts';
import { MAX_TODO_CHARS } from '../../src/protocol/store/notes.ts';
import { MAX_PENDING_EDITS, MAX_PLAN_RUNS } from '../../src/protocol/agent/plan-store.ts';
import { readEdits } from '../../src/intake/plans/plan-text.ts';
import { classifyByName, testPlan } from '../fakes/agent/plans.ts';
import { codeBlocks, proseOf, tableRows } from './pages.ts';
import { inEnglish } from '../../src/protocol/texts/say.ts';

const PLAN = testPlan(3, { state: 'stored' });
const context = { version: 2, classify: classifyByName };
const PROFILES = 'docs/profiles-and-planning.md';

const written = tableRows(PROFILES).flatMap(([first = '']) =>
  /^\d|^add/.test(first) ? first.split(', ').map((text) => text.replace('words', 'words of a step')) : [],
);

it('lists every way to write a change', () => {
  expect(written.length).toBeGreaterThan(6);
});

it.each(written)('accepts the change %j', (text) => {
  const read = readEdits(text, PLAN);
  if ('problem' in read) throw new Error(inEnglish.text(read.problem));
  expect(editPlan(PLAN, read.edits, context)).toHaveProperty('plan');
});

it('accepts the edits of the page about the HTTP API, all of them at once', () => {
  const block = codeBlocks('docs/http-api.md').find(({ text }) => text.includes('"op": "drop"'));
  const edits: StepEdit[] = JSON.parse(block?.text ?? '[]');
  expect(new Set(edits.map(({ op }) => op)).size).toBe(4);
  expect(editPlan(PLAN, edits, context)).toHaveProperty('plan');
});

it.each([
  [PROFILES, `1 to ${MAX_PLAN_STEPS} steps, each of at most ${MAX_TODO_CHARS} characters`],
  [PROFILES, `at most ${MAX_PENDING_EDITS} changes at a time`],
  [PROFILES, `${MAX_PLAN_RUNS} times at most`],
  ['docs/http-api.md', `At most ${MAX_STEP_EDITS} edits`],
])('%s names the limit: %s', (page, text) => {
  expect(proseOf(page).replaceAll(/\s+/g, ' ')).toContain(text);
});
