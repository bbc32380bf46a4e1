/** Which tools a window has room for, in what form, and that none of them is lost. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { selectTools, TOOL_SHARE } from '../../../src/agent/prompt/tool-selection.ts';
import {
  createPreparation,
  type PreparedProfile,
  schemaTokens,
} from '../../../src/agent/prompt/prepared-profile.ts';
import { withCallerOptions } from '../../../src/agent/model/caller-options.ts';
import { defaultProfile } from '../../../src/agent/profiles/built-in.ts';
import { callableTools, directCall, FIND_TOOL, USE_TOOL } from '../../../src/agent/tools/tool-pair.ts';
import { checkCall } from '../../../src/agent/tools/tool-run.ts';
import { ALL_MCP_TOOLS, DEFAULT_TOOLS } from '../../../src/protocol/agent/profile.ts';
import type { ToolSchema } from '../../../src/protocol/agent/provider.ts';
import type { Tool } from '../../../src/protocol/agent/tool.ts';
import { createTools } from '../../../src/tools/index.ts';
import { serverTools } from '../../fakes/agent/server-tools.ts';
import { toolOptions } from '../../fakes/tool-options.ts';

const builtIn = createTools(toolOptions);

/** The default profile with these tools of servers. */
function prepared(...added: readonly Tool[]): PreparedProfile {
  const enabledTools = [...DEFAULT_TOOLS, ALL_MCP_TOOLS];
  return createPreparation({ tools: () => [...builtIn, ...added] })({ ...defaultProfile(), enabledTools });
}

const limitOf = (window: number): number => Math.floor(window * TOOL_SHARE);
const namesOf = (schemas: readonly ToolSchema[]): string[] => schemas.map(({ name }) => name);

describe('the tools of a call', () => {
  it('are all of the default profile, unchanged, on a window of 16,384 tokens', () => {
    const all = prepared();
    expect(selectTools(all, limitOf(16_384))).toEqual({
      schemas: all.schemas,
      tokens: all.toolTokens,
      hidden: [],
    });
  });

  it('keep their full form up to their very size, and lose only words one token below it', () => {
    const all = prepared();
    expect(selectTools(all, all.toolTokens).schemas).toBe(all.schemas);
    const { schemas, hidden } = selectTools(all, all.toolTokens - 1);
    expect(hidden).toEqual([]);
    expect(namesOf(schemas)).toEqual(namesOf(all.schemas));
    const cron = schemas.find(({ name }) => name === 'cron');
    expect(cron?.description).toBe(
      'Do something later or repeatedly: add, list or remove scheduled tasks of this chat.',
    );
    expect(cron?.parameters).toMatchObject({
      properties: { action: { enum: ['add', 'list', 'remove'] }, time_zone: { type: 'string' } },
      required: ['action'],
    });
    expect(JSON.stringify(schemas)).not.toMatch(/"(minimum|maxLength|pattern|description)":[^"]*\d/);
  });

  it('are those of planning, memory and files first on a window of 4,096 tokens, the others behind the pair', () => {
    const { schemas, tokens, hidden } = selectTools(prepared(), limitOf(4_096));
    expect(namesOf(schemas)).toEqual(
      expect.arrayContaining(['plan', 'todo', 'memory', 'read_file', 'list_dir', FIND_TOOL, USE_TOOL]),
    );
    expect(tokens).toBeLessThanOrEqual(limitOf(4_096));
    expect(hidden.length).toBeGreaterThan(0);
    expect(schemas.at(-2)?.description).toContain(hidden[0]);
  });

  it('keep the gateway’s own in full and put the 60 tools of a server behind the pair, which counts them', () => {
    const { schemas, hidden } = selectTools(prepared(...serverTools('big', 60)), limitOf(16_384));
    const own = prepared().schemas;
    expect(schemas.slice(0, own.length)).toEqual(own);
    expect(namesOf(schemas.slice(own.length))).toEqual([FIND_TOOL, USE_TOOL]);
    expect(schemas.at(-2)?.description).toContain('60 of big');
    expect(hidden).toHaveLength(60);
  });

  it('include a small server as a whole, and never a part of one', () => {
    const tools = [...serverTools('big', 60), ...serverTools('tiny', 3)];
    const names = namesOf(selectTools(prepared(...tools), limitOf(16_384)).schemas);
    expect(names.filter((name) => name.startsWith('tiny__'))).toHaveLength(3);
    expect(names.filter((name) => name.startsWith('big__'))).toEqual([]);
  });

  it('are none where not even the pair fits', () => {
    const all = prepared();
    expect(selectTools(all, 40)).toMatchObject({ schemas: [], tokens: 0 });
    expect(selectTools(all, 0).hidden).toHaveLength(all.schemas.length);
  });

  it('are the same list for the same window, so that the prompt keeps its start', () => {
    const all = prepared(...serverTools('big', 60));
    const limit = limitOf(8_192);
    expect(selectTools(all, limit).schemas).toBe(selectTools(all, limit).schemas);
  });

  it('include those that a caller of the API brings, whatever they take', () => {
    const tools = Array.from({ length: 40 }, (_, at) => ({
      name: `own_${at}`,
      description: 'of the caller '.repeat(20),
      parameters: { type: 'object', description: 'kept' },
    }));
    const asked = withCallerOptions(prepared(), { tools, gatewayTools: true });
    const { schemas, hidden } = selectTools(asked, limitOf(4_096));
    expect(schemas.slice(-40)).toEqual(tools);
    expect(hidden).toHaveLength(prepared().schemas.length);
  });

  it('never take more than their share, and each of them can be called, directly or through the pair', () => {
    const servers = fc.array(fc.integer({ min: 1, max: 60 }), { maxLength: 3 });
    const property = fc.property(servers, fc.integer({ min: 256, max: 40_000 }), (counts, window) => {
      const tools = counts.flatMap((count, at) => serverTools(`s${at}`, count));
      const all = prepared(...tools);
      const { schemas, tokens, hidden } = selectTools(all, limitOf(window));
      const offered = namesOf(schemas);
      const calls = [
        ...offered.map((name) => ({ id: 'c', name, args: {} })),
        ...hidden.map((name) => ({ id: 'c', name: USE_TOOL, args: { name, arguments: {} } })),
      ].map((call) => directCall(call, all.tools));
      const isKnown = (call: (typeof calls)[number]): boolean => {
        const checked = checkCall(call, callableTools(all, call));
        return !('refusal' in checked) || !checked.refusal.content.startsWith('There is no tool');
      };
      return (
        schemaTokens(schemas) === tokens &&
        tokens <= limitOf(window) &&
        calls.every(isKnown) &&
        (hidden.length === 0 || schemas.length === 0 || offered.includes(USE_TOOL)) &&
        offered.length - (offered.includes(USE_TOOL) ? 2 : 0) + hidden.length === all.schemas.length
      );
    });
    expect(fc.check(property, { numRuns: 25 })).toMatchObject({ failed: false });
  });
});
