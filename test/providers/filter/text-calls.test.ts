/** Tool calls that a model wrote as text. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MAX_HELD_CALL } from '../../../src/providers/filter/filter-state.ts';
import { filterPieces, filterText } from './setup.ts';

const LIST = { name: 'list_dir', args: { path: '.' } };

/** Every form seen in practice, each a call of `list_dir` with the path ".". */
const FORMS: readonly (readonly [string, string])[] = [
  ['Hermes', '<tool_call>\n{"name": "list_dir", "arguments": {"path": "."}}\n</tool_call>'],
  ['Hermes with its end left out', '<tool_call>{"name": "list_dir", "arguments": {"path": "."}}'],
  ['Llama 3.1', '{"name": "list_dir", "parameters": {"path": "."}}'],
  ['Llama 3.1 with a type', '{"type": "function", "name": "list_dir", "parameters": {"path": "."}}'],
  [
    'OpenAI’s own shape',
    '{"type":"function","function":{"name":"list_dir","arguments":"{\\"path\\":\\".\\"}"}}',
  ],
  ['a bare list', '[{"name": "list_dir", "arguments": {"path": "."}}]'],
  ['python_tag', '<|python_tag|>{"name": "list_dir", "parameters": {"path": "."}}<|eom_id|>'],
  ['python_tag with code', '<|python_tag|>list_dir.call(path=".")'],
  ['Mistral', '[TOOL_CALLS][{"name": "list_dir", "arguments": {"path": "."}}]'],
  ['Mistral since 2025', '[TOOL_CALLS]list_dir[ARGS]{"path": "."}'],
  [
    'Qwen-coder',
    '<tool_call>\n<function=list_dir>\n<parameter=path>\n.\n</parameter>\n</function>\n</tool_call>',
  ],
  [
    'Qwen-coder without its wrapper',
    '<function=list_dir>\n<parameter=path>\n.\n</parameter>\n</function>\n</tool_call>',
  ],
  ['fenced', '```json\n{"name": "list_dir", "arguments": {"path": "."}}\n```'],
  ['fenced without a language', '```\n{"name": "list_dir", "arguments": {"path": "."}}\n```\n<|im_end|>'],
  [
    'DeepSeek',
    '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>list_dir\n```json\n{"path": "."}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>',
  ],
  [
    'DeepSeek V3.1',
    '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>list_dir<｜tool▁sep｜>{"path": "."}<｜tool▁call▁end｜><｜tool▁calls▁end｜>',
  ],
  [
    'DeepSeek V3.2',
    '<｜DSML｜function_calls>\n<｜DSML｜invoke name="list_dir">\n<｜DSML｜parameter name="path" string="true">.</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>',
  ],
  ['<function=>', '<function=list_dir>{"path": "."}</function>'],
  ['GLM', '<tool_call>list_dir\n<arg_key>path</arg_key>\n<arg_value>.</arg_value>\n</tool_call>'],
  [
    'Kimi',
    '<|tool_calls_section_begin|><|tool_call_begin|>functions.list_dir:0<|tool_call_argument_begin|>{"path": "."}<|tool_call_end|><|tool_calls_section_end|>',
  ],
  ['Granite', '<|tool_call|>[{"name": "list_dir", "arguments": {"path": "."}}]'],
  [
    'invoke',
    '<function_calls><invoke name="list_dir"><parameter name="path">.</parameter></invoke></function_calls>',
  ],
  [
    'harmony',
    '<|channel|>analysis<|message|>Look.<|end|><|start|>assistant<|channel|>commentary to=functions.list_dir <|constrain|>json<|message|>{"path": "."}<|call|>',
  ],
];

describe('a tool call written as text', () => {
  it.each(FORMS)('in the form of %s is a call', (_form, answer) => {
    expect(filterText(answer)).toMatchObject({ text: '', calls: [LIST], finishReason: 'tool_calls' });
  });

  it.each(FORMS.filter(([form]) => !/Llama|bare|own shape|harmony/.test(form)))(
    'in the form of %s is one behind words, which stay',
    (_form, answer) => {
      expect(filterText(`I look.\n${answer}`)).toMatchObject({ text: 'I look.\n', calls: [LIST] });
    },
  );

  it.each(FORMS)('in the form of %s is text when no such tool is offered', (_form, answer) => {
    const other = answer.replaceAll('list_dir', 'drop_table');
    const { calls, finishReason } = filterText(other);
    expect([calls, finishReason]).toEqual([[], 'stop']);
    expect(filterText(answer, { tools: [] }).calls).toEqual([]);
  });

  it.each(FORMS.filter(([form]) => form !== 'harmony'))(
    'in the form of %s keeps every character then',
    (_form, answer) => {
      const other = answer.replaceAll('list_dir', 'drop_table');
      expect(filterText(other).text.trim()).toBe(other.replace('<|im_end|>', '').trim());
    },
  );

  it('may be one of several', () => {
    const hermes = '<tool_call>{"name": "list_dir", "arguments": {"path": "."}}</tool_call>';
    expect(filterText(`${hermes}\n${hermes}`).calls).toEqual([LIST, LIST]);
    const bare = '{"name": "list_dir", "parameters": {"path": "."}}';
    expect(filterText(`${bare}; ${bare}`).calls).toEqual([LIST, LIST]);
    const list = '[TOOL_CALLS]list_dir[ARGS]{"path": "."}[TOOL_CALLS]list_dir[ARGS]{"path": "."}';
    expect(filterText(list).calls).toEqual([LIST, LIST]);
  });

  it('reads values by the schema of its tool', () => {
    const answer =
      '<function=list_dir>\n<parameter=path>\n42\n</parameter>\n<parameter=depth>\n3\n</parameter>\n</function>';
    expect(filterText(answer).calls).toEqual([{ name: 'list_dir', args: { path: '42', depth: 3 } }]);
  });

  it('is reported to the model as malformed, not to the user, when its JSON is broken', () => {
    const { text, calls } = filterText(
      '<tool_call>{"name": "list_dir", "arguments": {"path": "a</tool_call>',
    );
    expect(text).toBe('');
    expect(calls).toMatchObject([
      { name: 'list_dir', args: {}, malformed: expect.stringContaining('"path"') },
    ]);
  });

  it('can follow a thought', () => {
    const answer = '<think>I must look.</think>\n{"name": "list_dir", "parameters": {"path": "."}}';
    expect(filterText(answer)).toMatchObject({ text: '', thinking: 'I must look.', calls: [LIST] });
  });

  it('in a fence is an example when text follows', () => {
    const answer = '```json\n{"name": "list_dir", "arguments": {"path": "."}}\n```\nis how a call looks.';
    expect(filterText(answer)).toMatchObject({ text: answer, calls: [] });
  });

  it('is text when it exceeds the hold limit', () => {
    const answer = (size: number) =>
      `<tool_call>{"name": "write_file", "arguments": {"content": "${'x'.repeat(size)}"}}</tool_call>`;
    const room = MAX_HELD_CALL - answer(0).length + '</tool_call>'.length;
    expect(filterPieces([answer(room)]).calls).toHaveLength(1);
    expect(filterPieces([answer(room + 1)])).toMatchObject({ text: answer(room + 1), calls: [] });
  });

  it('does not hold back JSON that is an answer', () => {
    const answer = '{"answer": 42, "list": [1, {"name": "list_dir", "parameters": {}}]}';
    expect(filterText(answer)).toMatchObject({ text: answer, calls: [] });
  });
});

describe('the filter', () => {
  const PIECES = [
    '<think>',
    '</think>',
    '<tool_call>',
    '</tool_call>',
    '<function=',
    '</function>',
    '<|im_end|>',
    '</s>',
    '[TOOL_CALLS]',
    '[THINK]',
    '[/THINK]',
    '<|channel|>',
    '<|message|>',
    '<|start|>',
    '<|end|>',
    'final',
    '```',
    '```json\n',
    '`',
    '\n',
    ' ',
    '<',
    '[',
    '{',
    '"',
    '}',
    'a',
    'list_dir',
    'to=functions.list_dir',
    '{"name": "list_dir", "arguments": {"path": "."}}',
    '<|python_tag|>',
    '<|im_start|>',
    '"',
    '.',
    '<parameter=path>',
    '<｜tool▁calls▁begin｜>',
    '<arg_key>',
    'analysis',
    '◁think▷',
    '👩‍🚀',
    '\ud800',
  ];

  it('gives the same result for every cut of every answer', () => {
    const answers = fc.array(fc.constantFrom(...PIECES), { maxLength: 14 }).map((pieces) => pieces.join(''));
    const cuts = fc.array(fc.nat({ max: 200 }), { maxLength: 10 });
    fc.assert(
      fc.property(answers, cuts, fc.boolean(), fc.boolean(), (answer, at, startsInThought, cutOff) => {
        const marks = [0, ...at.map((mark) => mark % (answer.length + 1)), answer.length].toSorted(
          (a, b) => a - b,
        );
        const pieces = marks.slice(1).map((mark, index) => answer.slice(marks[index], mark));
        const setup = () => ({
          habits: { startsInThought },
          finishReason: cutOff ? ('length' as const) : ('stop' as const),
        });
        expect(filterPieces(pieces, setup())).toEqual(filterPieces([answer], setup()));
      }),
      { numRuns: 3_000 },
    );
  });

  it('loses no character of an answer without marks', () => {
    const texts = fc.array(fc.string({ unit: 'binary', maxLength: 20 }), { maxLength: 10 });
    fc.assert(
      fc.property(texts, (pieces) => {
        expect(filterPieces(pieces).text).toBe(pieces.join(''));
      }),
      { numRuns: 1_000 },
    );
  });

  it('takes time proportional to the length of the answer', () => {
    const hostile = [
      '<',
      '`',
      '[',
      '{',
      '<think',
      '```json\n{"name": ',
      '<tool_call>{"name": "list_dir"',
      ' ',
      '<|im_end|>',
    ];
    for (const word of hostile) {
      const answer = word.repeat(Math.ceil((256 * 1024) / word.length));
      const before = process.cpuUsage();
      filterPieces([answer]);
      const { user, system } = process.cpuUsage(before);
      expect((user + system) / 1_000).toBeLessThan(2_000);
    }
  });
});
