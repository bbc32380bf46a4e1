/** The API's description: the APIs of OpenAI and Ollama. */
import { z } from 'zod';
import { embedSchema, oldEmbedSchema } from '../ollama/embed.ts';
import { showSchema } from '../ollama/models.ts';
import { chatSchema, generateSchema } from '../ollama/requests.ts';
import { speechSchema } from '../openai/audio.ts';
import { textCompletionSchema } from '../openai/text-completions.ts';
import { completionSchema } from '../openai/completion-request.ts';
import { embeddingSchema } from '../openai/embeddings.ts';
import { responseSchema } from '../openai/response-request.ts';
import type { Operations } from './operation.ts';

/** A stream of server-sent events. */
const EVENTS = { type: 'text/event-stream', body: 'text' } as const;
/** A line of JSON for each piece. */
const LINES = { type: 'application/x-ndjson', body: 'text' } as const;

/** A recording in a form, with OpenAI's fields. */
const RECORDING = {
  'multipart/form-data': {
    schema: {
      type: 'object',
      required: ['file'],
      properties: {
        file: { type: 'string', format: 'binary' },
        model: { type: 'string' },
        language: { type: 'string' },
        prompt: { type: 'string' },
        temperature: { type: 'number' },
        response_format: { enum: ['json', 'text', 'verbose_json'] },
      },
    },
  },
};

const storedResponse = z.looseObject({
  id: z.string(),
  object: z.literal('response'),
  created_at: z.number(),
  status: z.enum(['completed', 'incomplete']),
  model: z.string(),
  output: z.array(z.looseObject({ id: z.string(), type: z.string() })),
  store: z.literal(true),
});

export const MODEL_API_OPERATIONS: Operations = {
  'POST /v1/chat/completions': {
    tag: 'openai',
    summary: 'Chat completions; with X-Session-Id in a session',
    description:
      'Without a session, the messages are the whole context and nothing but usage is stored. With one, the last message is posted to it and the turn is the answer. An Idempotency-Key makes a repeat safe. A field that changes the answer is honoured or refused by name.',
    body: completionSchema,
    others: [EVENTS],
  },
  'POST /v1/responses': {
    tag: 'openai',
    summary: 'Responses; with X-Session-Id in a session',
    description:
      "The newer of OpenAI's two routes, over the same sessions, tools and limits as chat completions. A field that changes the answer is honoured or refused by name.",
    body: responseSchema,
    others: [EVENTS],
  },
  'POST /v1/completions': {
    tag: 'openai',
    summary: 'The older text completions; with X-Session-Id in a session',
    description:
      'The prompt is asked as the only message of a chat. `suffix`, `echo`, `best_of`, `logprobs` and token ids are refused by name.',
    body: textCompletionSchema,
    others: [EVENTS],
  },
  'POST /v1/audio/transcriptions': {
    tag: 'openai',
    summary: 'What is said in a recording',
    description:
      'By the server of `transcription` in config.json, else 501. The recording is kept nowhere. `verbose_json` has what the server knows; `srt` and `vtt` are refused.',
    upload: RECORDING,
    answer: z.looseObject({ text: z.string() }),
    others: [{ type: 'text/plain', body: 'text' }],
  },
  'POST /v1/audio/speech': {
    tag: 'openai',
    summary: 'The sound of a text',
    description:
      'By the server of `speech` in config.json, else 501. The sound comes whole, by default as MP3.',
    body: speechSchema,
    answer: 'nothing',
    others: [{ type: 'audio/*', body: 'bytes' }],
  },
  'GET /api/version': {
    tag: 'ollama',
    summary: 'The version of Ollama whose API this is',
    description: 'A constant, for clients that ask whether an API is recent enough.',
  },
  'GET /api/tags': {
    tag: 'ollama',
    summary: '`default`, the profiles and the models',
    description: 'Each name has a tag, `latest` without another one; the name without it works, too.',
  },
  'GET /api/ps': {
    tag: 'ollama',
    summary: 'Models in memory: none that the gateway knows',
    description: 'Which models a server holds in memory is its own affair.',
  },
  'POST /api/show': {
    tag: 'ollama',
    summary: 'What a model can do',
    description: 'Its capabilities, and in `model_info` how many tokens it reads.',
    body: showSchema,
  },
  'POST /api/chat': {
    tag: 'ollama',
    summary: 'A chat; with X-Session-Id in a session',
    description:
      "Ollama's API over the same sessions, tokens and rights as chat completions: a line of JSON for each piece unless `stream` is false. Without messages it only checks the model.",
    body: chatSchema,
    others: [LINES],
  },
  'POST /api/generate': {
    tag: 'ollama',
    summary: 'An answer to a prompt',
    description:
      'The prompt is asked as the only message of a chat, after `system`. `suffix`, `template`, `context` and `raw` are refused by name.',
    body: generateSchema,
    others: [LINES],
  },
  'POST /api/embed': {
    tag: 'ollama',
    summary: 'Vectors of texts',
    description: 'Of one text or many; a text that is too long for the model is an error, never cut.',
    body: embedSchema,
  },
  'POST /api/embeddings': {
    tag: 'ollama',
    summary: 'The vector of a text',
    description: "The older of Ollama's two routes for vectors.",
    body: oldEmbedSchema,
  },
  'POST /v1/embeddings': {
    tag: 'openai',
    summary: 'Vectors of texts',
    description: 'Of one text or many; a text that is too long for the model is an error, never cut.',
    body: embeddingSchema,
  },
  'GET /v1/models': {
    tag: 'openai',
    summary: '`default`, the profiles and the models',
    description:
      'Tokens without `admin` see `default`, the profiles they may use and the model they would get.',
  },
  'GET /v1/models/*': {
    tag: 'openai',
    summary: 'One of them',
    description: 'A name may contain slashes; a missing one gets the whole list.',
  },
  'GET /v1/responses/:id': {
    tag: 'openai',
    summary: 'A stored response',
    description:
      'Of this token, for as long as it is kept; one of another token looks as if it did not exist.',
    answer: storedResponse,
  },
  'DELETE /v1/responses/:id': {
    tag: 'openai',
    summary: 'Delete a stored response',
    description: 'What continued it can no longer be continued by id.',
    answer: z.object({ id: z.string(), object: z.literal('response'), deleted: z.literal(true) }),
  },
  'GET /v1/responses/:id/input_items': {
    tag: 'openai',
    summary: 'The items of its request',
    description: 'The newest first, in pages.',
    query: {
      limit: '1 to 100; 20 by default',
      order: '`asc`: the oldest first',
      after: 'the id of the last item of the page before',
    },
    answer: z.object({
      object: z.literal('list'),
      data: z.array(z.looseObject({ id: z.string(), type: z.string() })),
      first_id: z.string().nullable(),
      last_id: z.string().nullable(),
      has_more: z.boolean(),
    }),
  },
};
