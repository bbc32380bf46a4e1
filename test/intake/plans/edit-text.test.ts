/** Changes to a plan as users write them. */
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { looksLikeEdits, readEdits } from '../../../src/intake/plans/plan-text.ts';
import { testPlan } from '../../fakes/agent/plans.ts';
import { inEnglish } from '../../../src/protocol/texts/say.ts';

const PLAN = testPlan(3);

it.each([
  ['2 drop', [{ op: 'drop', step: 's2' }]],
  ['Drop 2', [{ op: 'drop', step: 's2' }]],
  ['remove 3.', [{ op: 'drop', step: 's3' }]],
  ['3 before 1', [{ op: 'move', step: 's3', before: 's1' }]],
  ['move 1  AFTER 3', [{ op: 'move', step: 's1', after: 's3' }]],
  ['2: Paint it: twice', [{ op: 'reword', step: 's2', description: 'Paint it: twice' }]],
  ['add: Rest', [{ op: 'add', description: 'Rest' }]],
  ['add after 2: Rest', [{ op: 'add', description: 'Rest', after: 's2' }]],
  ['Add before 1 : Rest', [{ op: 'add', description: 'Rest', before: 's1' }]],
  [
    '2 drop\n\n 3 before 1 \n2: not dropped; really',
    [
      { op: 'drop', step: 's2' },
      { op: 'move', step: 's3', before: 's1' },
      { op: 'reword', step: 's2', description: 'not dropped; really' },
    ],
  ],
  [
    '2 drop; add: Rest',
    [
      { op: 'drop', step: 's2' },
      { op: 'add', description: 'Rest' },
    ],
  ],
])('reads %j', (text, edits) => {
  expect(looksLikeEdits(text) || text.startsWith('remove')).toBe(true);
  expect(readEdits(text, PLAN)).toEqual({ edits });
});

it.each([
  ['why step 2?', /did not understand "why step 2\?"/],
  ['2 drop\nmake it nicer', /did not understand "make it nicer"/],
  ['4 drop', /no step 4: the plan has 3/],
  ['0: none', /no step 0/],
  ['1 before 7', /no step 7/],
  ['2:', /did not understand/],
  ['', /no change/],
  [Array.from({ length: 31 }, () => '1 drop').join('\n'), /At most 30/],
])('refuses %j with a sentence about the line', (text, why) => {
  const read = readEdits(text, PLAN);
  expect('problem' in read ? inEnglish.text(read.problem) : 'was read').toMatch(why);
});

it('never throws, and returns either changes or a sentence', () => {
  const line = fc.oneof(
    fc.string(),
    fc.stringMatching(/^(add|drop|move|\d)? ?(before|after)? ?\d?:? ?\w{0,5}$/),
  );
  fc.assert(
    fc.property(fc.array(line), (lines) => {
      const read = readEdits(lines.join('\n'), PLAN);
      expect('edits' in read ? read.edits.length : inEnglish.text(read.problem).length).toBeGreaterThan(0);
    }),
  );
});
