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
];
