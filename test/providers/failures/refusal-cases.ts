/** Calls that a server refuses: too long, too frequent, not with this model, not at all. */
import { OVERFLOWS } from './overflows.ts';
import { HELLO, refusal } from './wire.ts';
import type { Case } from './wire.ts';

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
    away,
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
    { code: 'unauthorized', message: 'refuses this gateway' },
  ),
  refusal('openai', '403', { status: 403, body: 'no' }, { code: 'unauthorized' }),
  refusal('openai', '402', { status: 402, body: { error: { message: 'Insufficient credits' } } }, spent),
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
  ...[500, 502, 503, 504, 529, 408].map((status) =>
    refusal('openai', String(status), { status, body: { error: { message: 'trouble' } } }, away),
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

const OLLAMA: readonly Case[] = [
  refusal(
    'ollama',
    'an overflow',
    {
      status: 400,
      body: { error: 'the prompt is longer than the context length currently available to the model; 9 > 4' },
    },
    tooLong,
  ),
  refusal(
    'ollama',
    'a model without tools',
    { status: 400, once: true, body: { error: 'registry.ollama.ai/library/fake does not support tools' } },
    again,
  ),
  refusal(
    'ollama',
    'a model without thinking',
    { status: 400, once: true, body: { error: '"fake" does not support thinking' } },
    again,
  ),
  refusal(
    'ollama',
    'an unknown model',
    { status: 404, body: { error: "model 'fake' not found" } },
    { code: 'unknown_model' },
  ),
  refusal('ollama', 'a page with 404', { status: 404, body: '<html>nginx</html>' }, { code: 'bad_response' }),
  refusal('ollama', '401', { status: 401, body: { error: 'unauthorized' } }, { code: 'unauthorized' }),
  refusal(
    'ollama',
    '429 with Retry-After 60',
    { status: 429, body: { error: 'slow' }, headers: { 'retry-after': '60' } },
    { ...limited, retryAfterMs: 60_000 },
  ),
  refusal(
    'ollama',
    '400 of any other kind',
    { status: 400, body: { error: 'invalid option' } },
    { code: 'bad_request' },
  ),
  ...[500, 502, 503].map((status) =>
    refusal('ollama', String(status), { status, body: { error: 'runner has terminated' } }, away),
  ),
  refusal('ollama', 'a page with 502', { status: 502, body: '<html>bad gateway</html>' }, away),
  {
    name: 'a connection cut before the head',
    kind: 'ollama',
    answers: [{ body: [], noHead: true }],
    outcome: { code: 'unavailable' },
  },
];

export const REFUSAL_CASES: readonly Case[] = [...OPENAI, ...OLLAMA];
