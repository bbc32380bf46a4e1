/** Tools of servers that do what not every client expects: in their schemas, and in their results. */
import { describe, expect, it } from 'vitest';
import type { Tool } from '../../src/protocol/agent/tool.ts';
import { executeTool } from '../../src/agent/tools/tool-run.ts';
import { toolContext } from '../fakes/agent/tool-context.ts';
import { type OpenMcp, scripted, startMcp } from '../fakes/mcp/servers.ts';

function toolOf(mcp: OpenMcp, name: string): Tool {
  const found = mcp.tools().find((tool) => tool.name === name);
  if (found === undefined) throw new Error(`There is no ${name}.`);
  return found;
}

const call = (mcp: OpenMcp, name: string, args: Record<string, unknown> = {}, signal?: AbortSignal) =>
  executeTool(toolOf(mcp, name), args, toolContext(signal && { signal }), 60_000);

describe('an odd server', () => {
  it('gives the model its structured content beside the text, unless a text repeats it', async () => {
    const mcp = await startMcp({ notes: scripted(['structured_beside', 'structured_twice']) });
    expect((await call(mcp, 'notes__structured_beside')).content).toBe(
      'Retrieved 1 chat\n{"chats":[{"id":7,"title":"Trip"}]}',
    );
    expect((await call(mcp, 'notes__structured_twice')).content).toBe('{ "b": 2, "a": [1] }');
  });

  it('immediately answers a call with an error when its result is not an object', async () => {
    const mcp = await startMcp({ notes: scripted(['no_object', 'echo']) });
    expect(await call(mcp, 'notes__no_object', {}, AbortSignal.timeout(10_000))).toMatchObject({
      isError: true,
      content: expect.stringContaining('does not follow the protocol'),
    });
    expect((await call(mcp, 'notes__echo', { text: 'still here' })).content).toBe('still here');
  });

  it('offers tools with odd schemas, names what model servers do not get of them, and what is left out', async () => {
    const mcp = await startMcp({ notes: scripted(['rust', 'untyped', 'no_schema', 'echo']) });
    expect(mcp.status()[0]?.tools).toEqual(['notes__rust', 'notes__untyped', 'notes__echo']);
    expect(mcp.status()[0]?.notices).toEqual([
      'The tool "no_schema" is left out: it has no schema of an object.',
      'Model servers get a simpler schema of "rust" ("pattern", "format"); arguments are checked against the original.',
    ]);
    const rust = toolOf(mcp, 'notes__rust');
    expect(rust.parameters.safeParse({ value: { any: ['thing'] }, key: 'a' }).success).toBe(true);
    expect(rust.parameters.safeParse({ key: 'a' }).success).toBe(false);
  });
});
