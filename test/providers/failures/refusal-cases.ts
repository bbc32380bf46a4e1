/** Calls that a server refuses: too long, too frequent, not with this model, not at all. */
import { OLLAMA_REFUSALS } from './ollama-refusals.ts';
import { OVERFLOWS } from './overflows.ts';
import { type Case, HELLO, refusal } from './wire.ts';

const tooLong = { code: 'context_overflow', message: 'too long', requests: 1 };

const again = { ...HELLO, requests: 2 };
const limited = { code: 'rate_limited', message: 'is not accepting more requests', requests: 1 };
const spent = { code: 'quota_exceeded', message: 'quota', requests: 1 };
const away = { code: 'unavailable', message: 'not available', requests: 1 };
const soon = new Date(Date.now() + 3_600_000).toUTCString();

const OPENAI: readonly Case[] = [
  ...OVERFLOWS.map(([server, status, body]) =>
    refusal('openai', `an overflow in the words of ${server}`, { status, body }, tooLong),
  ),
  refusal(
    'openai',
    'a model without tools',
    { status: 400, once: true, body: { error: { message: 'fake does not support tools' } } },
    again,
  ),
  refusal(
    'openai',
    'no endpoint with tools (OpenRouter)',
    { status: 404, once: true, body: { error: { message: 'No endpoints found that support tool use.' } } },
    again,
  ),
  refusal(
    'openai',
    'vLLM without a tool parser',
    {
      status: 400,
      once: true,
      body: {
        object: 'error',
        message: '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set',
      },
    },
    again,
  ),
  refusal(
    'openai',
    'llama-server without --jinja',
    { status: 500, once: true, body: { error: { code: 501, message: 'tools param requires --jinja flag' } } },
    again,
  ),
  refusal(
    'openai',
    'a model without thinking',
    { status: 400, once: true, body: { error: { message: 'chat_template_kwargs is not supported' } } },
    again,
  ),
  refusal(
    'openai',
    'a model that takes only its own temperature',
    {
      status: 400,
      once: true,
      body: { error: { message: "Unsupported value: 'temperature' does not support 0.7 with this model." } },
    },
    again,
  ),
  refusal(
    'openai',
    'a model that wants max_completion_tokens',
    {
      status: 400,
      once: true,
      body: {
        error: {
          message:
            "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
        },
      },
    },
    again,
  ),
  refusal(
    'openai',
    '401',
    { status: 401, body: { error: { message: 'Incorrect API key provided: sk-12345' } } },
    { code: 'unauthorized', message: 'The server says: Incorrect API key provided: …' },
  ),
  refusal('openai', '403', { status: 403, body: 'no' }, { code: 'unauthorized' }),
  refusal(
    'openai',
    '402',
    { status: 402, body: { error: { message: 'Insufficient credits at 10.0.0.7:8000' } } },
    { ...spent, message: 'The server says: Insufficient credits at …' },
  ),
  // The status of an error in the body of an answer with 200 (openrouter.ai/docs/api-reference/errors).
  refusal(
    'openai',
    '429 in the body',
    { status: 200, body: { error: { code: 429, message: 'slow down' } } },
    limited,
  ),
  refusal(
    'openai',
    '402 in the body',
    { status: 200, body: { error: { code: 402, message: 'Insufficient credits' } } },
    spent,
  ),
  refusal(
    'openai',
    '400 in the body',
    { status: 200, body: { error: { code: 400, message: 'Provider returned error' } } },
    { code: 'bad_request', message: 'cannot serve' },
  ),
  refusal(
    'openai',
    '502 in the body',
    { status: 200, body: { error: { code: 502, message: 'Provider returned error' } } },
    away,
  ),
  refusal(
    'openai',
    'an unknown model',
    { status: 404, body: { error: { message: 'The model `fake` does not exist' } } },
    { code: 'unknown_model', message: 'no such model' },
  ),
  refusal('openai', 'a page with 404', { status: 404, body: '<html>nginx</html>' }, { code: 'bad_response' }),
  refusal('openai', '204', { status: 204, body: '' }, { code: 'bad_response' }),
  refusal(
    'openai',
    '301',
    { status: 301, body: '', headers: { location: 'http://127.0.0.1:1/' } },
    { code: 'bad_response' },
  ),
  refusal(
    'openai',
    '400 of any other kind',
    { status: 400, body: { error: { message: 'top_k must be positive' } } },
    { code: 'bad_request', message: 'cannot serve' },
  ),
  refusal(
    'openai',
    '422 of any other kind',
    { status: 422, body: { detail: [{ msg: 'Field required', loc: ['body', 'x'] }] } },
    { code: 'bad_request' },
  ),
  refusal(
    'openai',
    '501',
    { status: 501, body: { error: { message: 'not built' } } },
    { code: 'bad_request' },
  ),
  refusal('openai', '429', { status: 429, body: { error: { message: 'slow down' } } }, limited),
  refusal(
    'openai',
    '429 with Retry-After 2',
    { status: 429, body: {}, headers: { 'retry-after': '2' } },
    { ...limited, message: 'Try again in 2 s.', retryAfterMs: 2_000 },
  ),
  refusal(
    'openai',
    '429 with Retry-After 60',
    { status: 429, body: '', headers: { 'retry-after': '60' } },
    { ...limited, message: 'Try again in 60 s.', retryAfterMs: 60_000 },
  ),
  refusal(
    'openai',
    '429 with a date',
    { status: 429, body: '', headers: { 'retry-after': soon } },
    { ...limited, message: 'minutes.' },
  ),
  refusal(
    'openai',
    '429 with retry-after-ms',
    { status: 429, body: '', headers: { 'retry-after-ms': '150' } },
    { ...limited, retryAfterMs: 150 },
  ),
  refusal(
    'openai',
    '429 with a Retry-After nobody can read',
    { status: 429, body: '', headers: { 'retry-after': 'soon' } },
    limited,
  ),
  refusal(
    'openai',
    'insufficient_quota',
    {
      status: 429,
      body: {
        error: {
          message: 'You exceeded your current quota',
          type: 'insufficient_quota',
          code: 'insufficient_quota',
        },
      },
    },
    spent,
  ),
  ...[502, 503, 504, 529, 498, 408].map((status) =>
    refusal('openai', String(status), { status, body: { error: { message: 'trouble' } } }, away),
  ),
  refusal(
    'openai',
    '500',
    { status: 500, body: { error: { message: 'trouble' } } },
    { ...away, requests: 5 },
  ),
  refusal('openai', '500 without a reason', { status: 500, body: { error: { message: 'Error' } } }, away),
  refusal(
    'openai',
    '400 of a server that is full',
    {
      status: 400,
      body: { error: { message: 'The engine is currently overloaded, please try again later' } },
    },
    away,
  ),
  refusal(
    'openai',
    'a prompt that is larger than the plan (Groq)',
    // continuedev/continue#10218.
    {
      status: 413,
      body: {
        error: {
          message:
            'Request too large for model `fake` in organization `org` service tier `on_demand` on tokens per minute (TPM): Limit 12000, Requested 14137, please reduce your message size and try again.',
          type: 'tokens',
          code: 'rate_limit_exceeded',
        },
      },
    },
    tooLong,
  ),
  refusal(
    'openai',
    '503 with Retry-After',
    { status: 503, body: 'busy', headers: { 'retry-after': '7' } },
    { ...away, message: 'Try again in 7 s.', retryAfterMs: 7_000 },
  ),
  {
    name: 'a connection cut before the head',
    kind: 'openai',
    answers: [{ body: [], noHead: true }],
    outcome: { code: 'unavailable' },
  },
];

export const REFUSAL_CASES: readonly Case[] = [...OPENAI, ...OLLAMA_REFUSALS];
