/** Tool calls as text, in the syntax of every published chat template. */
import { describe, expect, it } from 'vitest';
import { SAMPLES } from './published-syntaxes.ts';
import { filterPieces, filterText, TOOLS } from './setup.ts';

const CALL = { name: 'list_dir', args: { path: 'docs' } };
const NAMED = SAMPLES.map((sample) => [sample.models, sample] as const);
const MARKED = NAMED.filter(([, { bare }]) => bare !== true);

describe('a call in the syntax of', () => {
  it.each(NAMED)('%s is read, and nothing of it is shown', (_models, { answer }) => {
    expect(filterText(answer)).toMatchObject({ text: '', calls: [CALL], finishReason: 'tool_calls' });
  });

  it.each(NAMED)('%s is read wherever it is cut in two', (_models, { answer }) => {
    for (let at = 1; at < answer.length; at += 1) {
      const { text, calls } = filterPieces([answer.slice(0, at), answer.slice(at)]);
      expect([at, text, calls]).toEqual([at, '', [CALL]]);
    }
  });

  it.each(MARKED)('%s is read behind words, which stay', (_models, { answer }) => {
    const { text, calls } = filterText(`I look first.\n${answer}`);
    expect([text.trimEnd(), calls]).toEqual(['I look first.', [CALL]]);
  });

  it.each(MARKED)('%s is read twice in a row', (_models, { answer }) => {
    const { text, calls } = filterText(`${answer}\n${answer}`);
    expect([text, calls]).toEqual(['', [CALL, CALL]]);
  });

  it.each(NAMED)('%s stays text when no such tool is offered', (_models, { answer }) => {
    const { calls, finishReason } = filterText(answer.replaceAll('list_dir', 'drop_table'));
    expect([calls, finishReason]).toEqual([[], 'stop']);
    expect(filterText(answer, { tools: [] }).calls).toEqual([]);
  });

  it.each(MARKED)(
    '%s at the end of an unclosed thought is read, if the answer is nothing else',
    (_models, { answer }) => {
      expect(filterText(`<think>I must look.\n${answer}`).calls).toEqual([CALL]);
    },
  );

  it.each(MARKED)('%s in a thought is none when the answer was cut off', (_models, { answer }) => {
    expect(filterText(`<think>I must look.\n${answer}`, { finishReason: 'length' }).calls).toEqual([]);
  });

  it.each(MARKED)('%s in a thought is none when an answer follows', (_models, { answer }) => {
    expect(filterText(`<think>Perhaps ${answer}</think>Done.`)).toMatchObject({ text: 'Done.', calls: [] });
  });
});

describe('several calls of one answer', () => {
  const both = [CALL, { name: 'write_file', args: { path: 'a', content: 'b' } }];

  it.each([
    ['code', '[list_dir(path="docs"), write_file(path=\'a\', content="b")]'],
    [
      'Olmo 3',
      '<function_calls>\nlist_dir(path="docs")\nwrite_file(path="a", content="b")\n</function_calls>',
    ],
    [
      'Command A',
      '<|START_ACTION|>[{"tool_name": "list_dir", "parameters": {"path": "docs"}}, {"tool_name": "write_file", "parameters": {"path": "a", "content": "b"}}]<|END_ACTION|>',
    ],
    [
      'Apertus',
      '<|tools_prefix|>[{"list_dir": {"path": "docs"}}, {"write_file": {"path": "a", "content": "b"}}]<|tools_suffix|>',
    ],
    [
      'Functionary',
      '>>>all\nI look.\n>>>list_dir\n{"path": "docs"}\n>>>write_file\n{"path": "a", "content": "b"}',
    ],
    [
      'MiniMax',
      '<minimax:tool_call>\n<invoke name="list_dir">\n<parameter name="path">docs</parameter>\n</invoke>\n<invoke name="write_file">\n<parameter name="path">a</parameter>\n<parameter name="content">b</parameter>\n</invoke>\n</minimax:tool_call>',
    ],
    [
      'Kimi K3',
      '<|open|>tools<|sep|><|open|>call tool="list_dir" index="1"<|sep|><|open|>argument key="path" type="string"<|sep|>docs<|close|>argument<|sep|><|close|>call<|sep|><|open|>call tool="write_file" index="2"<|sep|><|open|>argument key="path" type="string"<|sep|>a<|close|>argument<|sep|><|open|>argument key="content" type="string"<|sep|>b<|close|>argument<|sep|><|close|>call<|sep|><|close|>tools<|sep|>',
    ],
    [
      'Hunyuan 3',
      '<tool_calls>\n<tool_call>list_dir<tool_sep>\n<arg_key>path</arg_key>\n<arg_value>docs</arg_value>\n</tool_call>\n<tool_call>write_file<tool_sep>\n<arg_key>path</arg_key>\n<arg_value>a</arg_value>\n<arg_key>content</arg_key>\n<arg_value>b</arg_value>\n</tool_call>\n</tool_calls>',
    ],
  ])('are read as %s writes them', (_models, answer) => {
    expect(filterText(answer).calls).toEqual(both);
    expect(filterText(answer).text.trim()).toBe(answer.includes('I look.') ? 'I look.' : '');
  });
});

describe('arguments written as code', () => {
  it.each([
    ['list_dir("docs", 2)', { path: 'docs', depth: 2 }],
    ['list_dir(path="a \\"b\\" (c)", depth=3)', { path: 'a "b" (c)', depth: 3 }],
    ["list_dir(path='it\\'s', depth=None)", { path: "it's", depth: null }],
    ['list_dir(path="a",\n  depth=1,\n)', { path: 'a', depth: 1 }],
    ['list_dir()', {}],
  ])('%s', (answer, args) => {
    expect(filterText(`[${answer}]`)).toMatchObject({ text: '', calls: [{ name: 'list_dir', args }] });
  });

  it('are reported to the model when they are broken', () => {
    const { text, calls } = filterText('<|python_start|>[list_dir(path="a" depth=1)]<|python_end|>');
    expect([text, calls]).toMatchObject([
      '',
      [{ name: 'list_dir', malformed: expect.stringContaining('depth=1') }],
    ]);
  });
});

describe('what templates put around the text of an answer', () => {
  it.each([
    '<|START_RESPONSE|>Hello.<|END_RESPONSE|>',
    'Hello.<|END_RESPONSE|><|END_OF_TURN_TOKEN|>',
    '<|START_THINKING|>Hm.<|END_THINKING|><|START_TEXT|>Hello.<|END_TEXT|>',
    '<think>Hm.</think>\n\n<response>\nHello.\n</response>\n',
    '<|open|>response<|sep|>Hello.<|close|>response<|sep|><|close|>message<|sep|><|end_of_msg|>',
    '<|inner_prefix|>Hm.<|inner_suffix|>Hello.<|assistant_end|>',
    '>>>all\nHello.',
    'Hello.[e~[\n',
    'Hello.<seed:eos>',
    'Hello.<|eot|>',
  ])('is not shown: %j', (answer) => {
    expect(filterText(answer).text.trim()).toBe('Hello.');
  });

  it('is shown when the answer is about it', () => {
    const answer = 'An XML answer:\n<response>\n<ok/>\n</response>';
    expect(filterText(answer).text).toBe(answer);
  });
});

describe('an answer about markup', () => {
  it.each([
    'Use `<tool_call>{"name": "list_dir"}</tool_call>` to call it.',
    'The <tool_call> tag wraps a call, and </tool_call> ends it.',
    'Qwen writes "<tool_call>{"name": "list_dir", "arguments": {}}</tool_call>" there.',
    '```json\n{"name": "list_dir", "arguments": {"path": "."}}\n```\nThat is all.',
    '```python\nlist_dir(path=".")\n```',
    '```python\nfor name in list_dir(path="."):\n    print(name)\n```\n',
    '[1, 2, 3]',
    '["list_dir", "write_file"] are the tools.',
    '[list_dir(path=".")] would be the call.',
    'list_dir(path=".") lists a folder.',
    'list_dir\nlists a folder.',
    'list_directory is another one.',
    'list comprehensions are [x for x in y].',
    '[see below] for more.',
    '[drop_table(name="x")]',
    'all\nof them',
    '{"name": "Ada", "arguments": {"for": 1}}',
    'Import functools and use functools.reduce or functools[0].',
    'functions, and more functions: f(x), [f], {f}.',
    '> a quote\n>> a deeper one\n>>> the deepest one\n',
    '>>> list_dir(".")\n[]',
    'Action: wait.\nAction plan: none.',
    'Action: `list_dir`',
    'a -> b\n-> c\n- d\n',
    'a[0]<b && c>d; x <y> z; <div class="tool">',
    '<function> is a tag, <invoke> too, <tool> as well.',
    'In Gemma 4 `<|tool_call>call:list_dir{}<tool_call|>` is a call.',
    'Tokens like <|tool_call|> and <|python_tag|> exist.',
    '[TOOL_REQUEST] and [TOOL_CALLS] are marks.',
    'call: me at call:noon {really}',
    '✿ flowers ✿',
    'Action:\n```\nls\n```\n',
    'π > 3, ]<] is odd, and <|x|> too',
  ])('stays as it is: %j', (answer) => {
    expect(filterText(answer)).toMatchObject({ text: answer, calls: [] });
  });

  it('is held back no longer than a mark and a word', () => {
    const held = (answer: string): number => {
      const pieces = answer.split('');
      for (let count = 0; count < pieces.length; count += 1) {
        const shown = filterPieces(pieces.slice(0, count), { finishReason: 'length', ends: false }).text;
        if (count - shown.length > 20) return count - shown.length;
      }
      return 0;
    };
    for (const answer of [
      'The <tool_call> tag wraps a call of a tool in Hermes, and so on.',
      'list comprehensions are [x for x in y], and [list of more] things.',
      'functools is a module; for functional programming.',
      '>>> is the prompt of Python, > begins a quotation.',
      'Action follows action: Action stations!',
    ])
      expect(held(answer)).toBe(0);
  });
});

it('offers no call to a request without tools', () => {
  for (const { answer } of SAMPLES) expect(filterText(answer, { tools: [] }).calls).toEqual([]);
  expect(TOOLS.length).toBeGreaterThan(0);
});
