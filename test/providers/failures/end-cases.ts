/**
 * How answers end: the words that servers use, errors within an answer, and connections that break after it was complete.
 */
import { type Case, delta, DONE, event, HELLO, line, message, ollama, openai, STOP } from './wire.ts';

const half = delta({ content: 'Half' });
const hello = delta({ content: 'Hello.' });
const finished = delta({}, 'stop');
const usage = event({
  choices: [],
  usage: { prompt_tokens: 7, completion_tokens: 3 },
});
const broken = (words: string) => ({ code: 'bad_response', words });

/** An event whose choice holds an error, as OpenRouter sends them (openrouter.ai/docs/api/reference/errors-and-debugging). */
const choiceError = (finish: string | null, error: unknown): string =>
  event({
    choices: [{ index: 0, delta: { content: '' }, finish_reason: finish, error }],
  });

/** The word, and where it comes from. */
const BROKEN_WORDS: readonly (readonly [string, string])[] = [
  ['abort', 'vllm-project/vllm vllm/v1/engine/__init__.py and sgl-project/sglang managers/schedule_batch.py'],
  ['aborted', 'proxies'],
  ['cancelled', 'proxies'],
  ['function_call_filter: MALFORMED_FUNCTION_CALL', 'Gemini’s OpenAI endpoint'],
  ['malformed_function_call', 'Gemini’s OpenAI endpoint'],
  ['engine_error', 'Moonshot'],
  ['insufficient_system_resource', 'api-docs.deepseek.com/api/create-chat-completion'],
  ['network_error', 'docs.z.ai/api-reference/llm/chat-completion'],
];

const FILTER_WORDS = ['content_filter: SAFETY', 'PROHIBITED_CONTENT', 'sensitive', 'content_filter'];

const OPENAI: readonly Case[] = [
  openai(
    'an error in its choice behind text',
    [half, choiceError(null, { code: 502, message: 'upstream fell over' }), DONE],
    { code: 'unavailable', words: 'upstream fell over' },
  ),
  openai(
    'an error in its choice with the finish_reason error',
    [half, choiceError('error', { message: 'upstream fell over' }), DONE],
    broken('upstream fell over'),
  ),
  openai('an error in its choice that is a text', [choiceError('error', 'no provider is left'), DONE], {
    ...broken('no provider is left'),
  }),
  openai(
    'an event that is an error itself',
    [
      half,
      event({
        object: 'error',
        message: 'the engine died',
        type: 'InternalServerError',
      }),
      DONE,
    ],
    broken('the engine died'),
  ),
  openai(
    'an error event before anything else',
    [event({ object: 'error', message: 'the engine died' }), DONE],
    broken('the engine died'),
  ),
  openai('a status and a message without a choice', [event({ status: 503, message: 'no slot is free' })], {
    code: 'unavailable',
    words: 'no slot is free',
  }),
  openai(
    'an error with status 200 and the code 429',
    [event({ error: { code: 429, message: 'slow down' } })],
    {
      code: 'rate_limited',
    },
  ),
  openai(
    'an error with status 200 and the code 402',
    [event({ error: { code: 402, message: 'no credit' } })],
    {
      code: 'quota_exceeded',
    },
  ),
  openai(
    'an error with status 200 and the code 400',
    [event({ error: { code: 400, message: 'top_p is odd' } })],
    { code: 'bad_request', words: 'top_p is odd' },
  ),
  openai(
    'an error with status 200 and a word for its code',
    [event({ error: { type: 'overloaded_error', message: 'busy' } })],
    { code: 'unavailable' },
  ),
  ...BROKEN_WORDS.map(([word]) =>
    openai(`the finish_reason ${word} behind text`, [half, delta({}, word), DONE], broken(word)),
  ),
  openai(
    'a malformed call and nothing else',
    [delta({}, 'function_call_filter: MALFORMED_FUNCTION_CALL'), DONE],
    broken('MALFORMED_FUNCTION_CALL'),
  ),
  ...FILTER_WORDS.map((word) =>
    openai(`the finish_reason ${word} and no text`, [delta({}, word), DONE], {
      text: '',
      finish: 'content_filter',
    }),
  ),
  openai('the finish_reason MAX_TOKENS', [hello, delta({}, 'MAX_TOKENS'), DONE], {
    text: 'Hello.',
    finish: 'length',
  }),
  openai(
    'a second choice',
    [
      hello,
      event({
        choices: [{ index: 1, delta: { content: 'OTHER' }, finish_reason: null }],
      }),
      event({ choices: [{ index: 1, delta: {}, finish_reason: 'length' }] }),
      ...STOP,
    ],
    HELLO,
  ),
  openai(
    'two choices in one event',
    [
      event({
        choices: [
          { index: 1, delta: { content: 'OTHER' } },
          { index: 0, delta: { content: 'Hello.' } },
        ],
      }),
      ...STOP,
    ],
    HELLO,
  ),
  {
    ...openai('a connection held open behind a complete answer', [], {
      ...HELLO,
      usage: { promptTokens: 7, completionTokens: 3 },
    }),
    answers: [{ body: [hello, finished, usage], end: 'hang' }],
  },
  {
    ...openai('a connection held open in the middle of the usage', [], HELLO),
    answers: [{ body: [hello, finished, usage.slice(0, 20)], end: 'hang' }],
  },
  {
    ...openai('a connection that breaks behind a complete answer', [], HELLO),
    answers: [{ body: [hello, finished], end: 'cut' }],
  },
  {
    ...openai('a connection that breaks before the end', [], broken('was lost')),
    answers: [{ body: [half], end: 'cut' }],
  },
  openai('a body that ends without a word or [DONE]', [hello], HELLO),
  openai(
    'a body that ends in the middle of a call',
    [
      delta({
        tool_calls: [
          {
            index: 0,
            id: 'a',
            function: { name: 'list_dir', arguments: '{"pa' },
          },
        ],
      }),
    ],
    broken('before it was complete'),
  ),
  openai(
    'a body that ends behind a thought',
    [delta({ reasoning: 'Hm.' })],
    broken('before it was complete'),
  ),
  {
    ...openai('a connection that closes without a word or [DONE]', [], broken('before it was complete')),
    answers: [{ body: [half], unframed: true }],
  },
  openai(
    'an emoji in two events',
    [
      'data: {"choices":[{"index":0,"delta":{"content":"Hi \\ud83d"}}]}\n\n',
      delta({ content: '\ude00 ok' }),
      ...STOP,
    ],
    { text: 'Hi 😀 ok' },
  ),
  openai(
    'an emoji of a thought in two events',
    [delta({ reasoning: 'Hm \ud83d' }), delta({ reasoning: '\ude00' }), hello, ...STOP],
    { ...HELLO, thinking: 'Hm 😀' },
  ),
  openai('half an emoji at the end', [delta({ content: 'Hi \ud83d' }), ...STOP], { text: 'Hi \ufffd' }),
  openai(
    'half an emoji before other text',
    [delta({ content: 'Hi \ud83d' }), delta({ content: '.' }), ...STOP],
    {
      text: 'Hi \ufffd.',
    },
  ),
  openai('the second half of an emoji alone', [delta({ content: '\ude00!' }), ...STOP], { text: '\ufffd!' }),
];

const OLLAMA: readonly Case[] = [
  ollama('done_reason unload and no text', [line({ done: true, done_reason: 'unload' })], broken('unload')),
  ollama(
    'done_reason unload behind text',
    [message({ content: 'Half' }), line({ done: true, done_reason: 'unload' })],
    broken('unload'),
  ),
  ollama('done_reason load', [line({ done: true, done_reason: 'load' })], broken('load')),
  ollama(
    'a done_reason nobody knows',
    [message({ content: 'Hello.' }), line({ done: true, done_reason: 'whatever' })],
    HELLO,
  ),
  ollama(
    'an emoji in two lines',
    [
      message({ content: 'Hi \ud83d' }),
      message({ content: '\ude00 ok' }),
      line({ done: true, done_reason: 'stop' }),
    ],
    { text: 'Hi 😀 ok' },
  ),
  ollama(
    'half an emoji at the end',
    [message({ content: 'Hi \ud83d' }), line({ done: true, done_reason: 'stop' })],
    { text: 'Hi \ufffd' },
  ),
  {
    ...ollama('a connection that breaks behind the last line', [], HELLO),
    answers: [
      {
        body: [message({ content: 'Hello.' }), line({ done: true, done_reason: 'stop' })],
        end: 'cut',
      },
    ],
  },
];

export const END_CASES: readonly Case[] = [...OPENAI, ...OLLAMA];
