/** The words in which servers refuse a prompt as too long, and the window that is read from them. */
import { describe, expect, it } from 'vitest';
import { MIN_NAMED_WINDOW, overflowIn } from '../../src/providers/refusals.ts';

const where = {
  server: 'any',
  host: 'http://127.0.0.1',
  setting: 'none',
  keySetting: 'KEY',
  start: 'nothing',
  model: 'm',
};

/** Where the words were published; the words; the window that they name. */
const WORDS: readonly (readonly [string, string, number | undefined])[] = [
  [
    'ggml-org/llama.cpp tools/server, exceed_context_size_error',
    'request (1952 tokens) exceeds the available context size (512 tokens), try increasing it (exceed_context_size_error)',
    512,
  ],
  [
    'ggml-org/llama.cpp tools/server, a slot without room',
    'Context size has been exceeded. (server_error)',
    undefined,
  ],
  [
    'abetlen/llama-cpp-python llama_cpp/llama.py, issue 462',
    'Requested tokens (5000) exceed context window of 4096',
    4_096,
  ],
  [
    'lmstudio-ai/lmstudio-bug-tracker issue 2256',
    'The number of tokens to keep from the initial prompt is greater than the context length (n_keep: 23458>= n_ctx: 8192).',
    8_192,
  ],
  [
    'lmstudio-ai/lmstudio-bug-tracker issue 546',
    'Trying to keep the first 111490 tokens when context the overflows. However, the model is loaded with context length of only 32768 tokens, which is not enough.',
    32_768,
  ],
  ['ollama/ollama runner', 'prompt too long; exceeded max context length by 1204 tokens', undefined],
  [
    'vllm-project/vllm issue 20409',
    "This model's maximum context length is 16384 tokens. However, you requested 122946 tokens (112946 in the messages, 10000 in the completion).",
    16_384,
  ],
  [
    'vllm-project/vllm issue 12165',
    'The prompt (total length 25938) is too long to fit into the model (context length 4096). Make sure that `max_model_len` is no smaller than the number of text tokens.',
    4_096,
  ],
  [
    'vllm-project/vllm vllm/v1/engine, _validate_prompt_len',
    'The decoder prompt (length 5951) is longer than the maximum model length of 4096.',
    4_096,
  ],
  [
    'sgl-project/sglang issue 8096',
    "The input (85050 tokens) is longer than the model's context length (32768 tokens).",
    32_768,
  ],
  [
    'sgl-project/sglang issue 4048',
    'Input length (160062 tokens) exceeds the maximum allowed length (59862 tokens).',
    59_862,
  ],
  ['theroyallab/tabbyAPI issue 401', 'Prompt length 5000 is greater than max_seq_len 4096', 4_096],
  [
    'huggingface/llm-vscode issue 94 (text-generation-inference)',
    'Input validation error: `inputs` tokens + `max_new_tokens` must be <= 2048. Given: 3474 `inputs` tokens and 60 `max_new_tokens`',
    2_048,
  ],
  [
    'Anthropic API, errors',
    'prompt is too long: 213462 tokens > 200000 maximum (invalid_request_error)',
    200_000,
  ],
  [
    'Anthropic API, errors (max_tokens)',
    'input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, decrease input length or `max_tokens`',
    200_000,
  ],
  [
    'Gemini API, INVALID_ARGUMENT',
    'The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).',
    1_048_576,
  ],
  [
    'Moonshot (Kimi) API',
    'Invalid request: Your request exceeded model token limit: 262144 (requested: 291351)',
    262_144,
  ],
  [
    'xAI API',
    "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
    131_072,
  ],
  [
    'Mistral API',
    'Prompt contains 40011 tokens, too large for model with 32768 maximum context length',
    32_768,
  ],
  ['DashScope (Qwen) API', 'Range of input length should be [1, 30000]', 30_000],
  ['GitHub Copilot API', 'prompt token count of 5000 exceeds the limit of 4096', 4_096],
  [
    'GitHub Models API',
    'Request body too large for gpt-4o model. Max size: 8000 tokens. (tokens_limit_reached)',
    8_000,
  ],
  [
    'Cohere API',
    'too many tokens: total number of tokens in the prompt cannot exceed 4081 - received 4292.',
    4_081,
  ],
  // The number is an error code.
  ['MiniMax API', 'invalid params, context window exceeds limit (2013)', undefined],
  [
    'continuedev/continue issue 10218 (Groq, 413)',
    'Request too large for model `llama-3.3-70b-versatile` in organization `org_x` service tier `on_demand` on tokens per minute (TPM): Limit 12000, Requested 14137, please reduce your message size and try again. (tokens, rate_limit_exceeded)',
    12_000,
  ],
  [
    'vanna-ai/vanna-flask issue 11 (OpenAI, 429)',
    'Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 342389. The input or output tokens must be reduced in order to run successfully.',
    30_000,
  ],
];

describe('a prompt that is too long', () => {
  it.each(WORDS)('is recognized in the words of %s, with the window they name', (_source, words, window) => {
    expect(overflowIn(where, words)).toMatchObject({ code: 'context_overflow', window });
  });

  it('names its window in a field next to the words, too', () => {
    const body =
      '{"error":{"code":400,"message":"the request exceeds the available context size","n_ctx":4096}}';
    const error = overflowIn(where, 'the request exceeds the available context size', body);
    expect(error).toMatchObject({ window: 4_096 });
  });

  it(`has no window below ${MIN_NAMED_WINDOW} tokens: that is a slip of the server`, () => {
    const words = (window: number): string => `Requested tokens (99) exceed context window of ${window}`;
    expect(overflowIn(where, words(MIN_NAMED_WINDOW))).toMatchObject({ window: MIN_NAMED_WINDOW });
    expect(overflowIn(where, words(MIN_NAMED_WINDOW - 1))).toMatchObject({ window: undefined });
    expect(overflowIn(where, words(0))).toMatchObject({ window: undefined });
  });

  it.each([
    // elizaOS/eliza issue 4040: waiting helps here.
    'Rate limit reached for model `llama-3.1-8b-instant` on tokens per minute (TPM): Limit 6000, Used 5034, Requested 1443. Please try again in 4.77s.',
    'max_tokens must be at most 4096',
    'You exceeded your current quota',
  ])('is not seen in: %s', (words) => {
    expect(overflowIn(where, words)).toBeUndefined();
  });
});
