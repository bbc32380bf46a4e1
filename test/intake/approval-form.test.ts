/** The form in which the arguments of a call are changed: what fits, and what is said where it does not. */
import { expect, it } from 'vitest';
import {
  createApprovalButtons,
  MAX_FORM_ARGUMENTS,
  MAX_FORM_TEXT,
} from '../../src/intake/approvals/buttons.ts';
import { type ApprovalRecord, type Approvals, buttonValue } from '../../src/protocol/agent/approvals.ts';
import type { PressAnswer } from '../../src/protocol/receive.ts';
import { inEnglish } from '../../src/protocol/texts/say.ts';
import { partial } from '../fakes/partial.ts';

/** The answer to "Edit" under a request with these arguments. */
async function edit(
  args: unknown,
  shows: { forms?: true } = { forms: true },
): Promise<PressAnswer | undefined> {
  const approvals = partial<Approvals>({
    decidable: async () => ({ request: partial<ApprovalRecord>({ tool: 'wipe', args }) }),
  });
  return await createApprovalButtons(approvals)({
    value: buttonValue('a'.repeat(22), 'changed'),
    address: 'telegram:1',
    place: 'private',
    userId: 'telegram:1',
    owner: false,
    ...shows,
    say: inEnglish,
  });
}
const numbered = (count: number, text = 'x'): Record<string, string> =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [`n${at}`, text]));

it('has a field for each of at most five arguments of at most 4,000 characters', async () => {
  expect((await edit(numbered(MAX_FORM_ARGUMENTS, 'x'.repeat(MAX_FORM_TEXT))))?.form?.fields).toHaveLength(5);
});

it.each([
  ['has too many arguments', numbered(MAX_FORM_ARGUMENTS + 1)],
  ['has an argument that is too long', numbered(1, 'x'.repeat(MAX_FORM_TEXT + 1))],
  ['has an argument with a name that no label holds', { ['n'.repeat(46)]: 'x' }],
  ['has no arguments', {}],
])('is not shown for a call that %s: the person reads how else to change it', async (_what, args) => {
  const answer = await edit(args);
  expect(answer?.form).toBeUndefined();
  expect(answer?.reply).toBe(
    'Reply to my question with a JSON object that has the new values, or send it after /approve.',
  );
});

it('is not shown where the press says that no form can be', async () => {
  expect((await edit({ word: 'x' }, {}))?.form).toBeUndefined();
});
