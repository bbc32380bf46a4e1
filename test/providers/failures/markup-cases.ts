/** Markup that models write into their text. */
import { asText, type Case, delta, HELLO, LAST, LIST_CALL, message, ollama, openai, STOP } from './wire.ts';
import { SAMPLES } from '../filter/published-syntaxes.ts';

const THOUGHTS: readonly (readonly [string, string])[] = [
  ['<think>', '<think>\nLet me see.</think>\n\nHello.'],
  ['<thinking>', '<thinking>Let me see.</thinking>Hello.'],
  ['<thought>', '<thought>Let me see.</thought>Hello.'],
  ['<reasoning>', '<reasoning>Let me see.</reasoning>\nHello.'],
  ['a thought without its opening tag', 'Let me see.</think>Hello.'],
  ['[THINK]', '[THINK]Let me see.[/THINK]Hello.'],
  ['Seed’s thought', '<seed:think>Let me see.</seed:think>Hello.'],
  ['Kimi’s thought', '◁think▷Let me see.◁/think▷Hello.'],
  ['MedGemma’s thought', '<unused94>thought\nLet me see.<unused95>Hello.'],
  ['Gemma’s thought', '<|channel>thought\nLet me see.<channel|>Hello.'],
  ['Cohere’s thought', '<|START_THINKING|>Let me see.<|END_THINKING|>Hello.'],
  [
    'harmony',
    '<|channel|>analysis<|message|>Let me see.<|end|><|start|>assistant<|channel|>final<|message|>Hello.<|return|>',
  ],
];

const ENDS = [
  '<|im_end|>',
  '<|eot_id|>',
  '</s>',
  '<end_of_turn>',
  '<|endoftext|>',
  '<|end_of_text|>',
  '<|eom_id|>',
  '<｜end▁of▁sentence｜>',
  '<|im_end|>\n<|im_start|>user\nAnd you?',
];

const JSON_CALL = '{"name": "list_dir", "arguments": {"path": "."}}';
const CALLS: readonly (readonly [string, string])[] = [
  ['Hermes', `<tool_call>\n${JSON_CALL}\n</tool_call>`],
  ['Llama 3.1', '{"name": "list_dir", "parameters": {"path": "."}}'],
  ['python_tag', '<|python_tag|>{"name": "list_dir", "parameters": {"path": "."}}'],
  ['Mistral', `[TOOL_CALLS][${JSON_CALL}]`],
  ['Mistral since 2025', '[TOOL_CALLS]list_dir[ARGS]{"path": "."}'],
  [
    'Qwen-coder',
    '<tool_call>\n<function=list_dir>\n<parameter=path>\n.\n</parameter>\n</function>\n</tool_call>',
  ],
  ['a fence', `\`\`\`json\n${JSON_CALL}\n\`\`\``],
  [
    'DeepSeek',
    '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>list_dir\n```json\n{"path": "."}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>',
  ],
  ['<function=>', '<function=list_dir>{"path": "."}</function>'],
  ['GLM', '<tool_call>list_dir\n<arg_key>path</arg_key>\n<arg_value>.</arg_value>\n</tool_call>'],
];

const called = { text: '', calls: [LIST_CALL], finish: 'tool_calls' };
const thought = { ...HELLO, thinking: 'Let me see.' };
const unclosed = '<think>Let me see.';

export const MARKUP_CASES: readonly Case[] = [
  ...THOUGHTS.flatMap(([name, text]) => asText(`${name} in one piece`, text, text.length, thought)),
  ...THOUGHTS.flatMap(([name, text]) => asText(`${name} in pieces of three characters`, text, 3, thought)),
  ...asText('a thought that is not closed', unclosed, 4, { text: '', thinking: 'Let me see.' }),
  ...ENDS.flatMap((end) => asText(`${JSON.stringify(end)} behind the answer`, `Hello.${end}`, 4, HELLO)),
  ...CALLS.flatMap(([name, text]) => asText(`a call in the form of ${name}`, text, 5, called)),
  ...SAMPLES.flatMap(({ models, answer }) =>
    asText(`a published call of ${models}`, answer, 5, {
      text: '',
      calls: [{ name: 'list_dir', args: { path: 'docs' } }],
      finish: 'tool_calls',
    }),
  ),
  ...asText(
    'a call in a thought that is not closed',
    `<think>I look.\n<tool_call>${JSON_CALL}</tool_call>`,
    5,
    {
      ...called,
      text: '',
    },
  ),
  openai(
    'a call in reasoning_content with finish_reason stop',
    [
      delta({ reasoning_content: 'I look.\n<tool_call>\n' }),
      delta({ reasoning_content: JSON_CALL }),
      ...STOP,
    ],
    called,
  ),
  openai(
    'a call in reasoning_content before an answer',
    [
      delta({ reasoning_content: `<tool_call>${JSON_CALL}</tool_call>` }),
      delta({ content: 'Hello.' }),
      ...STOP,
    ],
    HELLO,
  ),
  ollama(
    'a call in its thoughts',
    [message({ thinking: `I look. <tool_call>${JSON_CALL}` }), message({ thinking: '</tool_call>' }), LAST],
    called,
  ),
  ...asText('a Hermes call behind words', `I look.\n<tool_call>${JSON_CALL}</tool_call>`, 4, {
    ...called,
    text: 'I look.\n',
  }),
  ...asText('a call of a tool that is not there', 'I "use" <tool_call>{"name": "x"}</tool_call>', 4, {
    text: 'I "use" <tool_call>{"name": "x"}</tool_call>',
  }),
  ...asText('an answer about <think> in code', 'Write `<think>` and `</think>`.', 3, {
    text: 'Write `<think>` and `</think>`.',
    thinking: '',
  }),
  openai(
    'reasoning_content',
    [delta({ reasoning_content: 'Let me see.' }), delta({ content: 'Hello.' }), ...STOP],
    thought,
  ),
  openai('reasoning', [delta({ reasoning: 'Let me see.' }), delta({ content: 'Hello.' }), ...STOP], thought),
  openai(
    'reasoning as an object',
    [delta({ reasoning: { content: 'Let me see.' } }), delta({ content: 'Hello.' }), ...STOP],
    thought,
  ),
  openai(
    'reasoning_details',
    [
      delta({ reasoning_details: [{ type: 'reasoning.text', text: 'Let me see.' }] }),
      delta({ content: 'Hello.' }),
      ...STOP,
    ],
    thought,
  ),
  openai(
    'thoughts among the parts of the content',
    [
      delta({ content: [{ type: 'thinking', thinking: [{ type: 'text', text: 'Let me see.' }] }] }),
      delta({ content: [{ type: 'text', text: 'Hello.' }] }),
      ...STOP,
    ],
    thought,
  ),
  ollama('thinking', [message({ thinking: 'Let me see.' }), message({ content: 'Hello.' }), LAST], thought),
];
