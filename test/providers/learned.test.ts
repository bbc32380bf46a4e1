/** What is remembered of models that refuse a part of a request, and for how long. */
import { describe, expect, it } from 'vitest';
import {
  createLearnedModels,
  FIRST_OMISSION_MS,
  LONGEST_OMISSION_MS,
  MAX_LEARNED_MODELS,
  MAX_OMISSIONS,
  MAX_UNREADABLE,
  RECALLED_MS,
  UNREADABLE_MS,
} from '../../src/providers/discovery.ts';

function setup() {
  const clock = { now: 0 };
  const learned = createLearnedModels(() => clock.now);
  return { clock, learned };
}

describe('a part of a request that a model refuses', () => {
  it('is left out for a minute, and then sent again', () => {
    const { clock, learned } = setup();
    const { omissions } = learned.of('first');
    omissions.note(['tools']);
    clock.now = FIRST_OMISSION_MS - 1;
    expect([[...omissions.current], omissions.previous]).toEqual([['tools'], []]);
    clock.now = FIRST_OMISSION_MS;
    expect([[...omissions.current], omissions.previous]).toEqual([[], ['tools']]);
  });

  it('is left out twice as long each time it is refused again, up to an hour', () => {
    const { clock, learned } = setup();
    const times: number[] = [];
    for (let nth = 0; nth < 9; nth += 1) {
      const { omissions } = learned.of('first');
      omissions.note(['tools']);
      const begun = clock.now;
      while (omissions.current.size > 0) clock.now += FIRST_OMISSION_MS / 2;
      times.push((clock.now - begun) / FIRST_OMISSION_MS);
    }
    expect(times).toEqual([1, 2, 4, 8, 16, 32, 60, 60, 60]);
    expect(LONGEST_OMISSION_MS).toBe(60 * FIRST_OMISSION_MS);
  });

  it('keeps its expiry when it is noted again before then', () => {
    const { clock, learned } = setup();
    const { omissions } = learned.of('first');
    omissions.note(['tools']);
    clock.now = FIRST_OMISSION_MS - 1;
    omissions.note(['tools', 'pictures']);
    clock.now = FIRST_OMISSION_MS;
    expect([...omissions.current]).toEqual(['pictures']);
  });

  it('is forgotten an hour after it was last left out', () => {
    const { clock, learned } = setup();
    const { omissions } = learned.of('first');
    omissions.note(['tools']);
    clock.now = FIRST_OMISSION_MS + RECALLED_MS - 1;
    expect(omissions.previous).toEqual(['tools']);
    clock.now += 1;
    expect(omissions.previous).toEqual([]);
    omissions.note(['tools']);
    clock.now += FIRST_OMISSION_MS;
    expect(omissions.current.size).toBe(0);
  });

  it('is remembered for a limited number of models, and of parts', () => {
    const { learned } = setup();
    learned.of('first').omissions.note(['tools']);
    for (let nth = 1; nth < MAX_LEARNED_MODELS; nth += 1) learned.of(`model ${nth}`);
    expect([...learned.of('first').omissions.current]).toEqual(['tools']);
    learned.of('one more');
    expect([...learned.of('first').omissions.current]).toEqual([]);
    const { omissions } = learned.of('many');
    for (let nth = 0; nth <= MAX_OMISSIONS; nth += 1) omissions.note([`field:f${nth}`]);
    expect(omissions.current.size).toBe(MAX_OMISSIONS);
    expect(omissions.current.has('field:f0')).toBe(false);
  });
});

describe('a picture that a server could not read', () => {
  it('is remembered for a day, together with a limited number of others', () => {
    const { clock, learned } = setup();
    for (let nth = 0; nth < MAX_UNREADABLE; nth += 1) learned.unreadable.set(`${nth}`, true);
    clock.now = UNREADABLE_MS - 1;
    expect(learned.unreadable.get('0')).toBe(true);
    learned.unreadable.set('one more', true);
    expect(learned.unreadable.get('0')).toBeUndefined();
    clock.now = UNREADABLE_MS;
    expect(learned.unreadable.get('1')).toBeUndefined();
  });
});
