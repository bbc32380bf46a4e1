/** Titles as text: what models write around them is stripped, and no title exceeds its limit. */
import { describe, expect, it } from 'vitest';
import { firstWords, titleIn } from '../../../src/agent/after-turn/title-worker.ts';
import { GatewayError } from '../../../src/protocol/errors.ts';
import { MAX_TITLE_CHARS, readTitle } from '../../../src/protocol/sessions/session-list.ts';

describe('the title in an answer', () => {
  it.each([
    ['Tickets to Rome', 'Tickets to Rome'],
    ['"Tickets to Rome."', 'Tickets to Rome'],
    ['**Title:** Tickets to Rome', 'Tickets to Rome'],
    ['## Tickets to Rome\n\nThis title says it all.', 'Tickets to Rome'],
    ['\n\n- - -\nTickets to Rome', 'Tickets to Rome'],
    ['„Fahrkarten nach Rom“', 'Fahrkarten nach Rom'],
    ['ローマへの切符', 'ローマへの切符'],
    ['[Tickets](http://evil.example)', 'Tickets(http://evil.example)'],
    ['<script>alert(1)</script>', 'scriptalert(1)/script'],
    ['Tickets\u202e to Rome\u0007', 'Tickets to Rome'],
    ['', ''],
    ['***', ''],
  ])('of %j is %j', (answer, title) => {
    expect(titleIn(answer)).toBe(title);
  });

  it('is cut between words, and never within a character', () => {
    const long = titleIn('word '.repeat(40));
    expect(long).toMatch(/^(word )+word…$/);
    expect(long.length).toBeLessThanOrEqual(60);
    const faces = titleIn('😀'.repeat(60));
    expect(faces.isWellFormed()).toBe(true);
    expect(faces.length).toBeLessThanOrEqual(60);
  });
});

it('is the first words of a message when no model provides one', () => {
  expect(firstWords('  How do I\nget to Rome?  ')).toBe('How do I get to Rome?');
  expect(firstWords('How do I get to Rome by train from a small town in the very north of Norway?')).toBe(
    'How do I get to Rome by train from a small town in the very…',
  );
});

it(`from a user has 1 to ${MAX_TITLE_CHARS} characters`, () => {
  expect(readTitle(` ${'x'.repeat(MAX_TITLE_CHARS)}\n`)).toHaveLength(MAX_TITLE_CHARS);
  expect(() => readTitle('x'.repeat(MAX_TITLE_CHARS + 1))).toThrow(GatewayError);
  expect(() => readTitle(' \n ')).toThrow('The title is empty');
});
