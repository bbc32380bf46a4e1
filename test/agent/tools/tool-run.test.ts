/** One tool call: anything that goes wrong becomes a result the model can read. */
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { MAX_RESULT_CHARS } from '../../../src/agent/deps.ts';
import { checkCall, executeTool } from '../../../src/agent/tools/tool-run.ts';
import { ToolError } from '../../../src/protocol/errors.ts';
import { schemaProblem } from '../../../src/lib/json/json-schema.ts';
import {
  defineTool,
  type Tool,
  type ToolContext,
  type ToolEffect,
  type ToolResult,
} from '../../../src/protocol/agent/tool.ts';
import { toolContext } from '../../fakes/agent/tool-context.ts';

function probe(
  execute: (args: { count: number }, ctx: ToolContext) => Promise<ToolResult>,
  effect: ToolEffect = 'pure',
): Tool {
  return defineTool({
    name: 'probe',
    description: 'For tests.',
    parameters: z.strictObject({ count: z.int().default(1) }),
    effect,
    risk: () => 'safe',
    results: 'operator',
    reach: () => 'outside',
    execute,
  });
}

const fine = probe(async ({ count }) => ({ content: `ok ${count}` }));
const tools = new Map([[fine.name, fine]]);

describe('checking a call', () => {
  it('lists the available tools when the model calls an unknown one', () => {
    const checked = checkCall({ id: '1', name: 'sudo', args: {} }, tools);
    expect(checked).toEqual({
      refusal: { content: 'There is no tool "sudo". The tools are: probe.', isError: true },
    });
  });

  it('reports arguments that are not an object, and names the field that is wrong', () => {
    const malformed = checkCall({ id: '1', name: 'probe', args: {}, malformed: '{"count": ' }, tools);
    expect(malformed).toHaveProperty('refusal.content', expect.stringContaining('{"count": '));
    const wrong = checkCall({ id: '1', name: 'probe', args: { count: 'two' } }, tools);
    expect(wrong).toHaveProperty('refusal.content', expect.stringContaining('count'));
  });

  it.each([
    ['text for a number', { count: '5' }, { count: 5 }],
    ['null for an optional number', { count: null }, { count: 1 }],
  ])('reads %s in the type that the tool wants', (_what, args, read) => {
    expect(checkCall({ id: '1', name: 'probe', args }, tools)).toHaveProperty('args', read);
  });

  it('reads the arguments of a tool with a foreign schema in its types', () => {
    const schema = {
      type: 'object',
      properties: { q: { type: 'string' }, limit: { type: 'integer' } },
      required: ['q'],
    };
    const parameters = z.record(z.string(), z.unknown()).superRefine((args, issues) => {
      const problem = schemaProblem(schema, args);
      if (problem !== undefined) issues.addIssue({ code: 'custom', message: problem });
    });
    const foreign = new Map([['far', { ...fine, name: 'far', schema, parameters }]]);
    const read = (args: Record<string, unknown>) => checkCall({ id: '1', name: 'far', args }, foreign);
    expect(read({ q: 'x', limit: null })).toHaveProperty('args', { q: 'x' });
    expect(read({ q: 'x', limit: '7' })).toHaveProperty('args', { q: 'x', limit: 7 });
    expect(read({ q: null })).toHaveProperty('refusal');
  });

  it('names what was wrong at first when nothing helps', () => {
    const checked = checkCall({ id: '1', name: 'probe', args: { count: '5 files', more: null } }, tools);
    expect(checked).toHaveProperty('refusal.content', expect.stringMatching(/count[^]*more/));
  });

  it('fills in defaults', () => {
    expect(checkCall({ id: '1', name: 'probe', args: {} }, tools)).toHaveProperty('args', { count: 1 });
  });
});

describe('running a call', () => {
  it('returns the result of the tool', async () => {
    expect(await executeTool(fine, { count: 3 }, toolContext(), 1_000)).toEqual({
      content: 'ok 3',
      isError: false,
    });
  });

  it.each([
    { what: 'an error of the gateway', thrown: new ToolError('x', 'no such row'), read: 'no such row' },
    { what: 'a foreign error', thrown: new TypeError('undefined is no function'), read: 'undefined is no' },
    { what: 'something that is no error', thrown: 'just text', read: 'just text' },
  ])('turns $what into a result (B-48)', async ({ thrown, read }) => {
    const failing = probe(() => Promise.reject(thrown));
    const outcome = await executeTool(failing, {}, toolContext(), 1_000);
    expect(outcome.isError).toBe(true);
    expect(outcome.content).toContain(read);
  });

  it('abandons a tool that does not finish, and reports an unknown outcome unless the tool is pure', async () => {
    const hangs = (effect: ToolEffect): Tool => probe(() => new Promise(() => undefined), effect);
    const pure = await executeTool(hangs('pure'), {}, toolContext(), 20);
    expect(pure).toEqual({ content: 'probe did not finish within 0.02 s.', isError: true });
    const unsafe = await executeTool(hangs('unsafe'), {}, toolContext(), 20);
    expect(unsafe.content).toContain('outcome is unknown');
  });

  it('ends with the turn, even when the tool ignores the signal (N-58)', async () => {
    const turn = new AbortController();
    const deaf = probe(() => {
      turn.abort(new Error('stopped'));
      return new Promise(() => undefined);
    });
    const outcome = await executeTool(deaf, {}, toolContext({ signal: turn.signal }), 60_000);
    expect(outcome.content).toContain('was stopped before it finished');
  });

  it('gives the tool a signal that aborts at its time limit', async () => {
    const listening = probe(
      (_, ctx) =>
        new Promise((_resolve, reject) => {
          ctx.signal.addEventListener('abort', () => reject(new Error('let go')));
        }),
    );
    expect((await executeTool(listening, {}, toolContext(), 20)).content).toContain('did not finish');
  });

  it('clips a long result to its head and tail, and keeps one at the limit whole', async () => {
    const long = (length: number): Tool => probe(async () => ({ content: `a${'x'.repeat(length - 2)}z` }));
    const whole = await executeTool(long(MAX_RESULT_CHARS), {}, toolContext(), 1_000);
    expect(whole.content).toHaveLength(MAX_RESULT_CHARS);
    const clipped = await executeTool(long(5_000_000), {}, toolContext(), 1_000);
    expect(clipped.content.length).toBeLessThan(MAX_RESULT_CHARS + 100);
    expect(clipped.content).toMatch(/^ax+\n\[… \d+ characters left out …\]\nx+z$/);
  });

  it('replaces characters that no database can store', async () => {
    const nasty = probe(async () => ({ content: 'a\0b\ud800' }));
    expect((await executeTool(nasty, {}, toolContext(), 1_000)).content).toBe('a\u2400b\ufffd');
  });
});
