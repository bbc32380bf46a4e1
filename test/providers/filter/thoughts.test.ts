/** Thoughts and turn markers that a model wrote into its text. */
import { describe, expect, it } from 'vitest';
import { MAX_HELD_MARKS } from '../../../src/providers/filter/filter-state.ts';
import { filterPieces, filterText } from './setup.ts';

describe('a thought in the text', () => {
  it.each([
    ['<think>\nLet me see.\n</think>\n\nHello.', 'Let me see.\n'],
    ['<thinking>Let me see.</thinking>Hello.', 'Let me see.'],
    ['<thought>Let me see.</thought>\nHello.', 'Let me see.'],
    ['\n<think>a < b</think> <think>and c</think>Hello.', 'a < band c'],
    ['[THINK]Let me see.[/THINK]Hello.', 'Let me see.'],
    ['<seed:think>Let me see.</seed:think>Hello.', 'Let me see.'],
    ['◁think▷Let me see.◁/think▷Hello.', 'Let me see.'],
    ['<unused94>thought\nLet me see.<unused95>Hello.', 'Let me see.'],
    ['<|channel>thought\nLet me see.<channel|>Hello.', 'Let me see.'],
    [
      '<|channel|>analysis<|message|>Let me see.<|end|><|start|>assistant<|channel|>final<|message|>Hello.<|return|>',
      'Let me see.',
    ],
    ['<|start|>assistant<|channel|>final<|message|>Hello.', ''],
    ['<think>\n\n</think>\n\nHello.', ''],
    ['</think>\n\nHello.', ''],
  ])('is removed from %j', (answer, thinking) => {
    expect(filterText(answer)).toMatchObject({ text: 'Hello.', thinking, calls: [], finishReason: 'stop' });
  });

  it('is the whole answer when it is not closed', () => {
    expect(filterText('<think>Let me see', { finishReason: 'length' })).toMatchObject({
      text: '',
      thinking: 'Let me see',
    });
  });

  it('can contain quotes, code and tags before its end', () => {
    const thought = 'They said "think", `<b>` and <i>.</i> "Done"';
    expect(filterText(`<think>${thought}</think>Hello.`)).toMatchObject({
      text: 'Hello.',
      thinking: thought,
    });
  });

  it.each(['Let me see.\n</think>\n\nHello.', 'Let me see.</think>Hello.'])(
    'without its opening tag is everything before the end of %j, and the model is remembered from then on',
    (answer) => {
      const habits = { startsInThought: false };
      expect(filterPieces([answer], { habits })).toMatchObject({ text: 'Hello.' });
      expect(filterText(answer)).toMatchObject({
        text: 'Hello.',
        thinking: expect.stringMatching(/^Let me see/),
      });
      expect(habits.startsInThought).toBe(true);
    },
  );

  it('starts at the first character for a model known to start with one', () => {
    const habits = { startsInThought: true };
    expect(filterText('Hm.</think>Hello.', { habits })).toMatchObject({ text: 'Hello.', thinking: 'Hm.' });
  });

  it('was none when such a model does not end it: its text is the answer, and the model is forgotten', () => {
    const habits = { startsInThought: true };
    expect(filterPieces(['Hello', ' you.'], { habits })).toMatchObject({ text: 'Hello you.' });
    expect(habits.startsInThought).toBe(false);
    const cut = { habits: { startsInThought: true }, finishReason: 'length' as const };
    expect(filterPieces(['Let me'], cut)).toMatchObject({ text: '', thinking: 'Let me' });
  });
});

describe('an answer that talks about markup', () => {
  it.each([
    'Models write <think> before and </think> after a thought.',
    'The tags are `<think>` and `</think>`.',
    'Close it with "</think>", please.',
    'It ends with </think>, always.',
    '```xml\n<think>hm</think>\n<tool_call>{"name": "list_dir", "arguments": {}}</tool_call>\n```\nSo.',
    'A turn ends with <|im_end|> in ChatML.',
    'Use <s>old</s>',
    'Use "<|im_end|>".',
    'Inline `code and <think>` is `fine`.',
    'a < b, c[0] and {d} are {"name": 1}',
    'Arrays [1, 2] and [links](https://example.com) stay.',
    '``` not a fence <think>',
    '   indented\n\n  text  ',
    '\n\n',
    '<',
    '<thin',
    '`',
    '[TOOL',
    'He said: "<tool_call>{"name":"list_dir","arguments":{}}</tool_call>" is how it looks.',
  ])('keeps every character of %j', (answer) => {
    expect(filterText(answer)).toEqual({
      text: answer,
      thinking: '',
      calls: [],
      finishReason: 'stop',
      over: false,
    });
  });
});

describe('the end of a turn', () => {
  it.each([
    'Hello.<|im_end|>',
    'Hello.<|eot_id|>\n',
    'Hello.</s>',
    'Hello.<end_of_turn>\n',
    'Hello.<|end_of_text|><|eot_id|>',
    'Hello.<｜end▁of▁sentence｜>',
    'Hello.<|endoftext|>',
    'Hello.<|return|>',
  ])('is removed from %j', (answer) => {
    expect(filterText(answer)).toMatchObject({ text: 'Hello.', over: false });
  });

  it('is removed after code and quotes', () => {
    expect(filterText('```js\nx\n```<|im_end|>').text).toBe('```js\nx\n```');
    expect(filterText('Say "yes"<|im_end|>').text).toBe('Say "yes"');
  });

  it.each([
    'Hello.<|im_end|>\n<|im_start|>user\nAnd you?',
    'Hello.<|eot_id|><|start_header_id|>user<|end_header_id|>And you?',
    'Hello.<end_of_turn>\n<start_of_turn>user\nAnd you?',
  ])('ends the answer when the model continues with someone else’s turn: %j', (answer) => {
    expect(filterText(answer)).toMatchObject({ text: 'Hello.', over: true });
  });

  it('is text again when more markers and blanks follow than can be held', () => {
    const blanks = ' '.repeat(MAX_HELD_MARKS);
    expect(filterText(`Hello.</s>${blanks}`).text).toBe(`Hello.</s>${blanks}`);
    expect(filterText(`Hello.</s>${blanks.slice(4)}`).text).toBe('Hello.');
  });
});
