/** What the model is told between iterations, derived only from the rows of a turn. */
import { describe, expect, it } from 'vitest';
import { failedIn, idleIterations, notesFor } from '../../../src/agent/prompt/nudges.ts';
import type { PreparedProfile } from '../../../src/agent/prompt/prepared-profile.ts';
import { partialTurn } from '../../fakes/agent/turn.ts';
import { TurnRows } from '../../../src/agent/turn/turn-rows.ts';
import { defaultProfile } from '../../../src/agent/profiles/built-in.ts';
import { type Profile, profileSchema } from '../../../src/protocol/agent/profile.ts';
import type { ContextRecord } from '../../../src/protocol/store/records.ts';
import { type Todo, type TodoStatus, writeTodos } from '../../../src/protocol/store/notes.ts';

const LIST: Todo[] = ['Knead', 'Bake', 'Eat'].map((text) => ({ text, status: 'pending' }));

/** A turn whose iterations each made one call; a `todo` call gives the status of the items after it. */
function turnOf(...calls: (string | Partial<Record<number, TodoStatus>>)[]): TurnRows {
  const rows = new TurnRows('Bake some bread', []);
  let list = LIST;
  for (const [at, call] of calls.entries()) {
    const iteration = at + 1;
    const isTodo = typeof call !== 'string' || call === 'todo list';
    const name = isTodo ? 'todo' : call;
    if (typeof call !== 'string') {
      list = list.map((item, index) => ({ ...item, status: call[index] ?? item.status }));
    }
    const args = isTodo ? { action: call === 'todo list' ? 'list' : 'update' } : {};
    const answer = { kind: 'assistant' as const, content: '', msgId: `m${iteration}` };
    rows.add(iteration, { ...answer, toolCalls: [{ id: 'c', name, args }] });
    rows.add(iteration, {
      kind: 'tool_result',
      toolCallId: 'c',
      toolName: name,
      callIndex: 0,
      content: isTodo ? writeTodos(list) : 'ok',
      isError: false,
    });
  }
  return rows;
}

const prepared = preparedWith('todo', 'list_dir');

/** A prepared profile, of which nudges read only the names of its tools. */
function preparedWith(...names: string[]): PreparedProfile {
  const tools = new Map(names.map((name) => [name, {}]));
  return { tools } as unknown as PreparedProfile;
}

function said(rows: TurnRows, n: number, over: Partial<Profile> = {}): string {
  const profile = { ...defaultProfile('You.'), iterationBudgetEnabled: false, ...over };
  return notesFor(partialTurn({ profile, rows, prepared }), n, '').content;
}

const looks = (count: number): string[] => Array.from({ length: count }, () => 'list_dir');

describe('a profile', () => {
  it('has defaults for thinking, the budget and the review (N-31, N-32, N-33)', () => {
    expect(profileSchema.parse({})).toMatchObject({
      thinkEnabled: true,
      iterationBudgetEnabled: true,
      planningPhase2Enabled: false,
    });
  });

  it('repeats the goal every 5 iterations and warns of a stall after 8 by default (N-34, N-35, N-36)', () => {
    expect(profileSchema.parse({})).toMatchObject({
      goalAnchoringEnabled: true,
      goalAnchoringInterval: 5,
      antiStallEnabled: true,
      antiStallThreshold: 8,
    });
  });

  it('has no validation, no new plan and no planning subagents by default (N-38, N-39, N-40)', () => {
    expect(profileSchema.parse({})).toMatchObject({
      stepValidationEnabled: false,
      adaptiveReplanEnabled: false,
      subagentPlanningEnabled: false,
    });
  });
});

describe('the goal', () => {
  const due = (over: Partial<Profile>): number[] =>
    Array.from({ length: 16 }, (_, at) => at + 1).filter((n) =>
      said(turnOf(...looks(n - 1)), n, { antiStallEnabled: false, ...over }).includes('Bake some bread'),
    );

  it('is repeated at iterations 5, 10, 15 and at no other (N-34, N-35)', () => {
    expect(due({})).toEqual([5, 10, 15]);
    expect(due({ goalAnchoringInterval: 7 })).toEqual([7, 14]);
    expect(due({ goalAnchoringEnabled: false })).toEqual([]);
  });

  it('comes with the open items of the todo list', () => {
    const note = said(turnOf({ 0: 'done', 1: 'in_progress' }, ...looks(3)), 5);
    expect(note).toContain('Still open in the todo list: "Bake", "Eat".');
    expect(said(turnOf(...looks(4)), 5)).not.toContain('todo list:');
  });
});

describe('a stall', () => {
  const warned = (rows: TurnRows, n: number, over: Partial<Profile> = {}): boolean =>
    said(rows, n, { goalAnchoringEnabled: false, ...over }).includes('without progress');

  it('causes no warning after 7 iterations without progress, and one after 8 (N-37)', () => {
    expect(Array.from({ length: 16 }, (_, at) => warned(turnOf(...looks(at)), at + 1))).toEqual(
      Array.from({ length: 16 }, (_, at) => at === 8),
    );
    expect(warned(turnOf(...looks(7)), 8)).toBe(false);
    expect(said(turnOf(...looks(8)), 9)).toContain('8 iterations without progress');
    expect(warned(turnOf(...looks(16)), 17)).toBe(true);
  });

  it('ends with progress in the list, but not when the list is only read (N-37, N-54)', () => {
    const progress = { 0: 'done' as const };
    expect(warned(turnOf(...looks(7), progress), 9)).toBe(false);
    expect(warned(turnOf(...looks(7), progress, ...looks(7)), 16)).toBe(false);
    expect(warned(turnOf(...looks(7), progress, ...looks(8)), 17)).toBe(true);
    expect(warned(turnOf(...looks(7), 'todo list'), 9)).toBe(true);
    expect(warned(turnOf(progress, ...looks(6), 'todo list', 'list_dir'), 10)).toBe(true);
    // The same status again is not progress.
    expect(warned(turnOf(progress, ...looks(7), progress), 10)).toBe(true);
  });

  it('causes no warning when the profile disables it, and an earlier one when it sets a lower threshold (N-36)', () => {
    expect(warned(turnOf(...looks(8)), 9, { antiStallEnabled: false })).toBe(false);
    expect(warned(turnOf(...looks(3)), 4, { antiStallThreshold: 3 })).toBe(true);
    expect(warned(turnOf(...looks(2)), 3, { antiStallThreshold: 3 })).toBe(false);
  });

  it('does not mention a todo list to a model without the tool', () => {
    const profile = defaultProfile('You.');
    const bare = partialTurn({ profile, rows: turnOf(...looks(8)), prepared: preparedWith() });
    expect(notesFor(bare, 9, '').content).toMatch(/8 iterations without progress\. (?!.*todo)/);
  });

  it('is counted from the rows, including those of a journal', () => {
    const rows = turnOf({ 0: 'done' }, ...looks(3));
    const journal = [rows.user, ...rows.steps].map((row, seq): ContextRecord => ({
      ...row,
      seq,
      turnId: 't',
    }));
    expect(idleIterations(rows, 5)).toBe(3);
    expect(idleIterations(new TurnRows('', journal), 5)).toBe(3);
  });
});

describe('a failed todo', () => {
  const replan = { adaptiveReplanEnabled: true };
  const asked = (rows: TurnRows, n: number, over: Partial<Profile> = replan): boolean =>
    said(rows, n, over).includes('make a new plan');

  it('asks for a new plan exactly once, at the next iteration (N-39, N-46)', () => {
    const rows = turnOf({ 0: 'done' }, { 1: 'failed' }, 'todo list', { 2: 'in_progress' });
    expect([1, 2, 3, 4, 5].map((n) => asked(rows, n))).toEqual([false, false, true, false, false]);
    expect(said(rows, 3, replan)).toContain('Failed: "Bake".');
    expect(asked(rows, 3, {})).toBe(false);
  });

  it('asks again when another item fails, but not when the same one is marked again (N-39, N-54)', () => {
    const rows = turnOf({ 0: 'failed' }, { 0: 'failed' }, { 1: 'failed' });
    expect([1, 2, 3].map((iteration) => failedIn(rows, iteration))).toEqual([['Knead'], [], ['Bake']]);
  });

  it('causes no request when the turn only reads the list', () => {
    const rows = new TurnRows('Go on', []);
    const call = { id: 'c', name: 'todo', args: { action: 'list' } };
    rows.add(1, { kind: 'assistant', content: '', toolCalls: [call], msgId: 'm1' });
    const content = writeTodos([{ text: 'Knead', status: 'failed' }]);
    rows.add(1, {
      kind: 'tool_result',
      toolCallId: 'c',
      toolName: 'todo',
      callIndex: 0,
      content,
      isError: false,
    });
    expect(failedIn(rows, 1)).toEqual([]);
  });
});

it('gives the budget, the goal, the stall and the new plan in this order (N-44, N-45, N-46)', () => {
  const rows = turnOf(...looks(4), { 0: 'failed' });
  const profile = { iterationBudgetEnabled: true, adaptiveReplanEnabled: true };
  const note = said(rows, 6, { ...profile, antiStallThreshold: 5, goalAnchoringInterval: 3 });
  expect(note).toMatch(
    /^Iterations left in this turn, this one included: 15 of 20\.\n\nKeep to the goal.*\n\nFailed: "Knead"/,
  );
  const stalled = said(turnOf(...looks(5)), 6, {
    ...profile,
    antiStallThreshold: 5,
    goalAnchoringInterval: 3,
  });
  expect(stalled).toMatch(/^Iterations left.*\n\nKeep to the goal.*\n\nYou have gone 5 iterations/);
});

it('gives no note when none is needed', () => {
  const profile = { ...defaultProfile('You.'), iterationBudgetEnabled: false };
  expect(notesFor(partialTurn({ profile, rows: turnOf(), prepared }), 1, 'It is Sunday.').content).toBe(
    'It is Sunday.',
  );
});
