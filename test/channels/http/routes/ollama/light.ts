/** A model that turns on a light, and the lines of a streamed answer. */
import { expect } from 'vitest';
import type { ChatChunk } from '../../../../../src/protocol/agent/provider.ts';

export const USAGE = { promptTokens: 7, completionTokens: 3, modelMs: 12.5 };

export const CALL: ChatChunk = {
  type: 'tool_call',
  call: { id: 'abc', name: 'light_on', args: { room: 'kitchen' } },
};
export const TOOLS = [
  {
    type: 'function',
    function: {
      name: 'light_on',
      description: 'Turns the light on',
      parameters: { type: 'object', properties: { room: { type: 'string' } }, required: ['room'] },
    },
  },
];

/** One line of a streamed chat. */
interface Line {
  message: {
    content: string;
    tool_calls?: { function: { index: number; name: string; arguments: unknown } }[];
  };
  done: boolean;
}

/** The lines of a streamed answer. */
export async function linesOf(response: Response): Promise<Line[]> {
  expect([response.status, response.headers.get('content-type')]).toEqual([200, 'application/x-ndjson']);
  return (await response.text())
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
}
