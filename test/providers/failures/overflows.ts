/** Prompts that are too long, as the servers report them. */

/** By server: status, body. */
export const OVERFLOWS: readonly (readonly [string, number, unknown])[] = [
  [
    'llama-server',
    400,
    {
      error: {
        code: 400,
        message: 'request (9) exceeds the available context size (4), try increasing it',
        type: 'exceed_context_size_error',
      },
    },
  ],
  [
    'OpenAI',
    400,
    {
      error: {
        message: "This model's maximum context length is 8192 tokens.",
        code: 'context_length_exceeded',
      },
    },
  ],
  [
    'OpenAI’s newer models',
    400,
    { error: { message: 'Your input exceeds the context window of this model.' } },
  ],
  [
    'vLLM',
    400,
    {
      object: 'error',
      message: "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens",
      type: 'BadRequestError',
      code: 400,
    },
  ],
  [
    'LM Studio',
    400,
    {
      error:
        'Trying to keep the first 9000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens',
    },
  ],
  [
    'LM Studio’s engine',
    400,
    { error: 'The number of tokens to keep from the initial prompt is greater than the context length.' },
  ],
  [
    'Gemini',
    400,
    [
      {
        error: {
          code: 400,
          message: 'The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).',
          status: 'INVALID_ARGUMENT',
        },
      },
    ],
  ],
  [
    'Anthropic',
    400,
    {
      type: 'error',
      error: { type: 'invalid_request_error', message: 'prompt is too long: 205000 tokens > 200000 maximum' },
    },
  ],
  ['FastAPI', 422, { detail: "This model's maximum context length is 4096 tokens" }],
  [
    'FastAPI with a list',
    422,
    { detail: [{ loc: ['body'], msg: 'the prompt exceeds the context window', type: 'value_error' }] },
  ],
  [
    'Groq',
    413,
    {
      error: {
        message: 'Please reduce the length of the messages or completion.',
        code: 'context_length_exceeded',
      },
    },
  ],
  [
    'text-generation-inference',
    422,
    {
      error: 'Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096',
      error_type: 'validation',
    },
  ],
  [
    'xAI',
    400,
    { error: "This model's maximum prompt length is 131072 but the request contains 537812 tokens." },
  ],
  [
    // continuedev/continue issue 10218.
    'Groq, for a request that is larger than a minute allows',
    413,
    {
      error: {
        message:
          'Request too large for model `llama-3.3-70b-versatile` in organization `org_x` service tier `on_demand` on tokens per minute (TPM): Limit 12000, Requested 14137, please reduce your message size and try again. Need more tokens? Upgrade to Dev Tier today at https://console.groq.com/settings/billing',
        type: 'tokens',
        code: 'rate_limit_exceeded',
      },
    },
  ],
  [
    // vanna-ai/vanna-flask issue 11.
    'OpenAI, for a request that is larger than a minute allows',
    429,
    {
      error: {
        message:
          'Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 342389. The input or output tokens must be reduced in order to run successfully.',
        type: 'tokens',
        code: 'rate_limit_exceeded',
      },
    },
  ],
  [
    // ggml-org/llama.cpp, tools/server: a slot that runs full.
    'llama-server, and LM Studio with it,',
    500,
    { error: { code: 500, message: 'Context size has been exceeded.', type: 'server_error' } },
  ],
  [
    // abetlen/llama-cpp-python issue 462.
    'llama-cpp-python',
    400,
    {
      error: {
        message: 'Requested tokens (5000) exceed context window of 4096',
        type: 'invalid_request_error',
      },
    },
  ],
];
