/** Calls that Ollama refuses. */
import { type Case, HELLO, refusal } from './wire.ts';

const tooLong = { code: 'context_overflow', message: 'too long', requests: 1 };
const again = { ...HELLO, requests: 2 };
const limited = { code: 'rate_limited', message: 'is not accepting more requests', requests: 1 };
const away = { code: 'unavailable', message: 'not available', requests: 1 };

export const OLLAMA_REFUSALS: readonly Case[] = [
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
  ...[502, 503].map((status) =>
    refusal('ollama', String(status), { status, body: { error: 'runner has terminated' } }, away),
  ),
  refusal(
    'ollama',
    '500',
    { status: 500, body: { error: 'runner has terminated' } },
    { ...away, requests: 3 },
  ),
  // ollama/ollama server/cloud_proxy.go and server/routes.go; ollama/ollama#15990.
  refusal(
    'ollama',
    'a cloud model without a sign-in',
    { status: 401, body: { error: 'unauthorized', signin_url: 'https://ollama.com/connect?name=a&key=b' } },
    { code: 'unauthorized', message: 'ollama signin', requests: 1 },
  ),
  refusal(
    'ollama',
    'a cloud model without a subscription',
    { status: 403, body: { error: 'this model requires a subscription, upgrade for access' } },
    { code: 'unauthorized', message: 'requires a subscription', requests: 1 },
  ),
  refusal('ollama', 'a page with 502', { status: 502, body: '<html>bad gateway</html>' }, away),
  {
    name: 'a connection cut before the head',
    kind: 'ollama',
    answers: [{ body: [], noHead: true }],
    outcome: { code: 'unavailable' },
  },
];
