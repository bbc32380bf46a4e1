/** How often users see the progress of a tool call. */
import { expect, it } from 'vitest';
import {
  createProgress,
  MAX_PROGRESS_CHARS,
  PROGRESS_PAUSE_MS,
} from '../../../src/agent/tools/tool-calls.ts';

function progressAt() {
  const lines: string[] = [];
  let now = 5_000;
  const progress = createProgress(
    (event) => lines.push(event.type === 'tool_progress' ? event.text : event.type),
    { id: 'c1', name: 'probe' },
    () => now,
  );
  return { lines, progress, pass: (ms: number) => (now += ms) };
}

it(`reports the first line immediately, and another after ${PROGRESS_PAUSE_MS} ms`, () => {
  const { lines, progress, pass } = progressAt();
  for (let n = 0; n < 1_000; n += 1) progress(`line ${n}`);
  pass(PROGRESS_PAUSE_MS - 1);
  progress('too soon');
  pass(1);
  progress('soon enough');
  expect(lines).toEqual(['line 0', 'soon enough']);
});

it('reports the progress of an old call less often: at most 400 lines in an hour', () => {
  const { lines, progress, pass } = progressAt();
  for (let ms = 0; ms < 3_600_000; ms += 100) {
    progress('on my way');
    pass(100);
  }
  expect(lines.length).toBeGreaterThan(300);
  expect(lines.length).toBeLessThan(400);
});

it(`turns anything into one line of at most ${MAX_PROGRESS_CHARS} characters`, () => {
  const { lines, progress, pass } = progressAt();
  progress(' \n ');
  progress(`a\n\u202eb${'c'.repeat(10_000)}`);
  expect(lines).toHaveLength(1);
  expect(lines[0]).toHaveLength(MAX_PROGRESS_CHARS);
  expect(lines[0]).toMatch(/^a bc+$/);
  pass(PROGRESS_PAUSE_MS);
  progress('and on');
  expect(lines).toHaveLength(2);
});
