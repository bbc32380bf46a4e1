/** Tool calls in the shapes that servers send them. */
import { MAX_CALLS_KEPT } from '../../../src/agent/deps.ts';
import { MAX_CALL_CHARS } from '../../../src/providers/openai/pieces.ts';
import { type Case, delta, DONE, LAST, LIST_CALL, message, ollama, openai, STOP } from './wire.ts';

const ARGS = '{"path":"."}';
const ENDED = [delta({}, 'tool_calls'), DONE];
const called = { calls: [LIST_CALL], finish: 'tool_calls' };
const twice = { calls: [LIST_CALL, LIST_CALL], finish: 'tool_calls' };
const malformed = (part: string) => ({ calls: [{ name: 'list_dir', args: {}, malformed: part }] });
const call = (fields: object): string => delta({ tool_calls: [fields] });
const whole = (more: object = {}, args: unknown = ARGS, name: unknown = 'list_dir'): object => ({
  index: 0,
  id: 'call_1',
  type: 'function',
  function: { name, arguments: args },
  ...more,
});
const deep = (levels: number): string => `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`;

/** Arguments with slips that leave no doubt about what is meant. */
const SLIPS: readonly (readonly [string, string])[] = [
  ['repeated', `${ARGS}${ARGS}`],
  ['behind empty ones', `{}${ARGS}`],
  ['that grow object by object', `{}{"path":"."}{"path":"."}`],
  ['with a comma too many', '{"path":".",}'],
  ['as a Python dict', "{'path': '.'}"],
  ['in a whole call', '{"name":"list_dir","arguments":{"path":"."}}'],
  ['in a whole call, encoded twice', '{"name":"list_dir","arguments":"{\\"path\\":\\".\\"}"}'],
  ['in a field', '{"parameters":{"path":"."}}'],
  ['in a fence with a comma too many', '```json\n{"path":".",}\n```'],
];
const RAW_LINES = '{"path":"a","content":"one\ntwo\tthree"}';

const OPENAI: readonly Case[] = [
  ...SLIPS.map(([what, text]) => openai(`arguments ${what}`, [call(whole({}, text)), ...ENDED], called)),
  openai(
    'arguments that hold all so far in each piece',
    [
      call(whole({}, '{"pa')),
      ...['{"path":', '{"path":"."}', '{"path":"."}'].map((text) =>
        call({ index: 0, function: { arguments: text } }),
      ),
      ...ENDED,
    ],
    called,
  ),
  openai(
    'empty arguments before the real ones',
    [call(whole({}, '{}')), call({ index: 0, function: { arguments: ARGS } }), ...ENDED],
    called,
  ),
  openai('raw lines in arguments', [call(whole({}, RAW_LINES, 'write_file')), ...ENDED], {
    calls: [{ name: 'write_file', args: { path: 'a', content: 'one\ntwo\tthree' } }],
  }),
  openai(
    'two different objects as arguments',
    [call(whole({}, '{"path":"a"}{"path":"b"}')), ...ENDED],
    malformed('{"path":"a"}'),
  ),
  openai(
    'arguments with a quote too many',
    [call(whole({}, '{"path":"a"b"}')), ...ENDED],
    malformed('{"path"'),
  ),
  openai('a call in one piece', [call(whole()), ...ENDED], called),
  openai(
    'arguments a character at a time',
    [
      call(whole({}, '')),
      ...ARGS.split('').map((text) => call({ index: 0, function: { arguments: text } })),
      ...ENDED,
    ],
    called,
  ),
  openai(
    'two calls whose pieces alternate',
    [
      call(whole({}, '{"path"')),
      call(whole({ index: 1, id: 'call_2' }, '{"path"')),
      call({ index: 0, function: { arguments: ':"."}' } }),
      call({ index: 1, function: { arguments: ':"."}' } }),
      ...ENDED,
    ],
    twice,
  ),
  openai(
    'calls without ids',
    [call(whole({ id: null })), call(whole({ id: null, index: 1 })), ...ENDED],
    twice,
  ),
  openai(
    'calls without indexes',
    [call(whole({ index: null })), call(whole({ index: null, id: 'b' })), ...ENDED],
    twice,
  ),
  openai('calls with the same id', [call(whole()), call(whole({ index: 1 })), ...ENDED], twice),
  openai('indexes from 1', [call(whole({ index: 1 })), call(whole({ index: 2, id: 'b' })), ...ENDED], twice),
  openai('finish_reason stop', [call(whole()), ...STOP], called),
  openai('a call behind text', [delta({ content: 'I look.' }), call(whole()), ...ENDED], {
    ...called,
    text: 'I look.',
  }),
  openai(
    '20 calls at once',
    [
      delta({ tool_calls: Array.from({ length: 20 }, (_, index) => whole({ index, id: `c${index}` })) }),
      ...ENDED,
    ],
    { calls: Array.from({ length: 20 }, () => LIST_CALL) },
  ),
  openai('a call without a name', [call(whole({}, ARGS, null)), ...ENDED], { calls: [{ name: 'unnamed' }] }),
  openai(
    'a name with markup behind it',
    [call(whole({}, ARGS, 'list_dir<|channel|>commentary')), ...ENDED],
    called,
  ),
  openai('a name with its namespace', [call(whole({}, ARGS, 'functions.list_dir')), ...ENDED], called),
  openai(
    'a name in two pieces',
    [call(whole({}, '', 'list_')), call({ index: 0, function: { name: 'dir', arguments: ARGS } }), ...ENDED],
    called,
  ),
  openai(
    'a name repeated in each piece',
    [call(whole({}, '{"path"')), call(whole({}, ':"."}')), ...ENDED],
    called,
  ),
  openai('arguments encoded twice', [call(whole({}, JSON.stringify(ARGS))), ...ENDED], called),
  openai('arguments in a fence', [call(whole({}, `\`\`\`json\n${ARGS}\n\`\`\``)), ...ENDED], called),
  openai('arguments with a brace too many', [call(whole({}, `${ARGS}}`)), ...ENDED], called),
  openai('arguments with a mark behind them', [call(whole({}, `${ARGS}<|im_end|>`)), ...ENDED], called),
  openai('arguments that are cut', [call(whole({}, '{"path":')), ...ENDED], malformed('{"path":')),
  openai('arguments that are a list', [call(whole({}, '[1]')), ...ENDED], malformed('[1]')),
  openai('arguments 64 levels deep', [call(whole({}, deep(64))), ...ENDED], {
    calls: [{ name: 'list_dir' }],
  }),
  openai('arguments 65 levels deep', [call(whole({}, deep(65))), ...ENDED], malformed('{"a":')),
  openai('no arguments', [call(whole({}, null)), ...ENDED], { calls: [{ name: 'list_dir', args: {} }] }),
  openai('arguments as an object', [call(whole({}, { path: '.' })), ...ENDED], called),
  openai('an index as text', [call(whole({ index: '0' })), ...ENDED], called),
  openai('an id as a number', [call(whole({ id: 7 })), ...ENDED], called),
  openai(
    'parallel calls under index 0 with two ids',
    [call(whole()), call(whole({ id: 'call_2' })), ...ENDED],
    twice,
  ),
  openai(
    'parallel calls under index 0 without ids',
    [call(whole({ id: '' })), call(whole({ id: '' })), ...ENDED],
    twice,
  ),
  openai(
    'a legacy function_call',
    [delta({ function_call: { name: 'list_dir', arguments: ARGS } }), ...STOP],
    called,
  ),
  openai(
    'a legacy function_call in pieces',
    [
      delta({ function_call: { name: 'list_dir', arguments: '{"path"' } }),
      delta({ function_call: { arguments: ':"."}' } }),
      delta({}, 'function_call'),
      DONE,
    ],
    called,
  ),
  openai('tool_calls that is one object', [delta({ tool_calls: whole() }), ...ENDED], called),
  openai(
    'a call without its function',
    [call({ index: 0, id: 'a', name: 'list_dir', arguments: ARGS }), ...ENDED],
    called,
  ),
  openai(
    'calls without an end of arguments',
    [
      call(whole({}, 'x'.repeat(MAX_CALL_CHARS - 100))),
      ...[1, 2].map(() => call({ index: 0, function: { arguments: 'x'.repeat(100) } })),
      ...ENDED,
    ],
    {
      code: 'bad_response',
    },
  ),
];

const OLLAMA: readonly Case[] = [
  ...SLIPS.map(([what, text]) =>
    ollama(
      `arguments ${what}`,
      [message({ tool_calls: [{ function: { name: 'list_dir', arguments: text } }] }), LAST],
      called,
    ),
  ),
  ollama(
    'a whole call as arguments',
    [
      message({
        tool_calls: [
          {
            function: {
              name: 'list_dir',
              arguments: { name: 'list_dir', arguments: { path: '.' } },
            },
          },
        ],
      }),
      LAST,
    ],
    called,
  ),
  ollama(
    'a call',
    [
      message({ content: '', tool_calls: [{ function: { name: 'list_dir', arguments: { path: '.' } } }] }),
      LAST,
    ],
    called,
  ),
  ollama('a call without arguments', [message({ tool_calls: [{ function: { name: 'list_dir' } }] }), LAST], {
    calls: [{ name: 'list_dir', args: {} }],
  }),
  ollama(
    'arguments that are null',
    [message({ tool_calls: [{ function: { name: 'list_dir', arguments: null } }] }), LAST],
    {
      calls: [{ name: 'list_dir', args: {} }],
    },
  ),
  ollama(
    'arguments as JSON text',
    [message({ tool_calls: [{ function: { name: 'list_dir', arguments: ARGS } }] }), LAST],
    called,
  ),
  ollama(
    'arguments that are a list',
    [message({ tool_calls: [{ function: { name: 'list_dir', arguments: [1] } }] }), LAST],
    malformed('[1]'),
  ),
  ollama(
    'an id as a number',
    [message({ tool_calls: [{ id: 7, function: { name: 'list_dir', arguments: { path: '.' } } }] }), LAST],
    called,
  ),
  ollama('a call without a name', [message({ tool_calls: [{ function: { arguments: {} } }] }), LAST], {
    calls: [{ name: 'unnamed' }],
  }),
  ollama(
    'a call without its function',
    [message({ tool_calls: [{ name: 'list_dir', arguments: { path: '.' } }] }), LAST],
    called,
  ),
  ollama(
    'arguments 65 levels deep',
    [
      message({
        tool_calls: [{ function: { name: 'list_dir', arguments: JSON.parse(deep(65)) as unknown } }],
      }),
      LAST,
    ],
    malformed('(nested too deep)'),
  ),
  ollama(
    'arguments 20,000 levels deep',
    [
      `{"message":{"tool_calls":[{"function":{"name":"list_dir","arguments":${deep(20_000)}}}]},"done":false}\n`,
      LAST,
    ],
    malformed('(nested too deep)'),
  ),
  ollama(
    'more calls than are kept',
    [
      message({
        tool_calls: Array.from({ length: MAX_CALLS_KEPT + 1 }, () => ({
          function: { name: 'list_dir', arguments: { path: '.' } },
        })),
      }),
      LAST,
    ],
    { finish: 'tool_calls' },
  ),
];

export const CALL_CASES: readonly Case[] = [...OPENAI, ...OLLAMA];
