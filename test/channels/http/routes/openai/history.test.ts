/** Earlier tool calls, in the form of OpenAI's two routes: what happens to unreadable arguments. */
import { describe, expect, it } from 'vitest';
import { toContext } from '../../../../../channels/http/model-apis/completion-messages.ts';
import { inputContext } from '../../../../../channels/http/model-apis/response-input.ts';
import type { ChatMessage } from '../../../../../src/protocol/agent/provider.ts';
import { MAX_JSON_DEPTH } from '../../../../../src/lib/json/json.ts';
import { nestedJson } from '../../../../fakes/model/nested-json.ts';

const ROUTES: [route: string, history: (text: string) => ChatMessage[]][] = [
  [
    'completions',
    (text) =>
      toContext([
        {
          role: 'assistant',
          content: null,
          tool_calls: [{ id: 'c', function: { name: 'look', arguments: text } }],
        },
      ]),
  ],
  [
    'responses',
    (text) =>
      inputContext([{ type: 'function_call', call_id: 'c', name: 'look', arguments: text }], undefined),
  ],
];

describe.each(ROUTES)('a tool call in the history of %s', (_, history) => {
  const callOf = (text: string) => {
    const [message] = history(text);
    return message?.role === 'assistant' ? message.toolCalls?.[0] : undefined;
  };

  it(`has arguments of at most ${MAX_JSON_DEPTH} levels, else it is malformed`, () => {
    const shallow = nestedJson(MAX_JSON_DEPTH);
    expect(JSON.stringify(callOf(shallow))).toBe(`{"id":"c","name":"look","args":${shallow}}`);
    for (const text of [nestedJson(MAX_JSON_DEPTH + 1), nestedJson(100_000)]) {
      const { args, malformed } = callOf(text) ?? {};
      expect(args).toEqual({});
      expect(malformed === text).toBe(true);
    }
  });

  it.each(['no JSON', '[]', '7'])('is malformed with %j for arguments', (text) => {
    expect(callOf(text)).toEqual({ id: 'c', name: 'look', args: {}, malformed: text });
  });

  it('has none where they are empty', () => {
    expect(callOf('')).toEqual({ id: 'c', name: 'look', args: {} });
  });
});
