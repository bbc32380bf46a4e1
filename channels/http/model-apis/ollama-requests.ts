/** Ollama's bodies (ollama/ollama, `api/types.go`) as those of chat completions. Unknown fields have no effect, as there. */
import { z } from 'zod';
import { MAX_MESSAGES } from '../config.ts';
import { contentSchema } from './completion-messages.ts';
import { type CompletionBody, completionSchema } from './completions.ts';
import { checkFields, type FieldTable, invalid, refusedField } from './fields.ts';
import { localFields } from './local-fields.ts';

const images = z.array(z.string()).nullish();

/** JSON of any form, or of the form of a schema; empty = text. */
const format = z
  .union([z.literal(['json', '']), z.record(z.string(), z.unknown())], 'must be "json" or a JSON schema')
  .nullish();

const answerFields = {
  model: z.string().nullish(),
  /** True by default. */
  stream: z.boolean().nullish(),
  format,
  think: localFields.shape.think,
  options: localFields.shape.options,
  /** Seconds, or a duration such as "5m". Only 0 with nothing to answer means anything here. */
  keep_alive: z.union([z.number(), z.string()]).nullish(),
  logprobs: z.boolean().nullish(),
  top_logprobs: z.int().min(0).max(20).nullish(),
};

const toolCall = z.object({
  id: z.string().nullish(),
  function: z.object({ name: z.string(), arguments: z.unknown() }),
});

const message = z.object({
  role: z
    .string()
    .transform((role) => role.toLowerCase())
    .pipe(z.enum(['system', 'user', 'assistant', 'tool'])),
  content: contentSchema.nullish(),
  thinking: z.string().nullish(),
  images,
  tool_calls: z.array(toolCall).nullish(),
  tool_name: z.string().nullish(),
  tool_call_id: z.string().nullish(),
});
type Message = z.infer<typeof message>;

/** `POST /api/chat`. */
export const chatSchema = z.object({
  ...answerFields,
  // Counted before each is checked: a long list would stall the process.
  messages: z
    .array(z.unknown())
    .max(MAX_MESSAGES, `at most ${MAX_MESSAGES} messages are accepted`)
    .pipe(z.array(message))
    .nullish(),
  tools: completionSchema.shape.tools,
});

/** `POST /api/generate`. */
export const generateSchema = z.object({
  ...answerFields,
  prompt: z.string().nullish(),
  system: z.string().nullish(),
  images,
  suffix: z.unknown().optional(),
  template: z.unknown().optional(),
  context: z.unknown().optional(),
  raw: z.unknown().optional(),
});

/** What would change the meaning of an answer and has no place in a chat. */
const REFUSED: FieldTable = {
  suffix: refusedField('models are asked as in a chat', ''),
  template: refusedField('the model server has the template', ''),
  context: refusedField('send the messages to /api/chat, or name a session with the header X-Session-Id', []),
  raw: refusedField('models are asked as in a chat', false),
};

/** A request with nothing to answer, with which clients load and unload a model. */
export function isOfLoading({ messages }: z.infer<typeof chatSchema>): boolean {
  return (messages ?? []).length === 0;
}

/** The body of the chat completion. Throws `HttpError` 400. */
export function chatCompletion(body: z.infer<typeof chatSchema>): CompletionBody {
  return completion(body, toMessages(body.messages ?? []));
}

/** The prompt as a chat. Throws `HttpError` 400. */
export function generatedChat(body: z.infer<typeof generateSchema>): z.infer<typeof chatSchema> {
  const { suffix, template, context, raw, prompt, system, images: pictures, ...rest } = body;
  checkFields({ suffix, template, context, raw }, REFUSED);
  const question: Message[] = prompt ? [{ role: 'user', content: prompt, images: pictures }] : [];
  const instructed: Message[] = prompt && system ? [{ role: 'system', content: system }] : [];
  return { ...rest, messages: [...instructed, ...question] };
}

/** The name without Ollama's usual tag, which names the same model. */
export function modelOf(name: string | null | undefined): string {
  const modelName = (name ?? '').replace(/:latest$/i, '');
  return modelName === '' ? 'default' : modelName;
}

function completion(body: z.infer<typeof chatSchema>, messages: object[]): CompletionBody {
  const { format: form, stream, model, keep_alive: _, ...fields } = body;
  const read = completionSchema.safeParse({
    ...fields,
    model: modelOf(model),
    messages,
    stream: stream !== false,
    response_format: formatOf(form),
  });
  if (read.success) return read.data;
  const [issue] = read.error.issues;
  throw invalid(issue?.path.join('.') ?? 'body', issue?.message ?? 'invalid');
}

function formatOf(form: z.infer<typeof format>): object | undefined {
  if (form == null || form === '') return undefined;
  if (form === 'json') return { type: 'json_object' };
  return { type: 'json_schema', json_schema: { name: 'answer', schema: form } };
}

interface OpenCall {
  id: string;
  name: string;
}

/** Calls get the ids that results name; a result with neither id nor name belongs to the first call that has none. */
function toMessages(messages: readonly Message[]): object[] {
  let open: OpenCall[] = [];
  return messages.map(({ role, content, thinking, images: pictures, ...fields }, index) => {
    if (role === 'tool') {
      const call = answeredBy(open, fields.tool_call_id, fields.tool_name);
      open = open.filter((one) => one !== call);
      return { role, content, tool_call_id: fields.tool_call_id ?? call?.id };
    }
    if (role === 'user') return { role, content: withImages(content, pictures) };
    const calls = (fields.tool_calls ?? []).map((call, nth) => ({
      id: call.id || `call_${index}_${nth}`,
      type: 'function',
      function: call.function,
    }));
    open = [...open, ...calls.map(({ id, function: { name } }) => ({ id, name }))];
    return { role, content, reasoning_content: thinking, ...(calls.length > 0 && { tool_calls: calls }) };
  });
}

function answeredBy(
  open: readonly OpenCall[],
  id: Message['tool_call_id'],
  name: Message['tool_name'],
): OpenCall | undefined {
  if (id) return open.find((call) => call.id === id);
  return open.find((call) => call.name === name) ?? (name ? undefined : open[0]);
}

/** Pictures are base64, with or without the head of a data URL. */
function withImages(content: Message['content'], pictures: Message['images']): unknown {
  if (pictures == null || pictures.length === 0) return content;
  const parts = typeof content === 'string' ? [{ type: 'text', text: content }] : (content ?? []);
  const imageParts = pictures.map((picture) => ({
    type: 'image_url',
    image_url: `data:image/any;base64,${picture.replace(/^data:[^,]*,/, '').replaceAll(/\s+/g, '')}`,
  }));
  return [...parts, ...imageParts];
}
