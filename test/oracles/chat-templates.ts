/**
 * Chat templates as model makers published them, and what they make of a request. One collection comes with the packages
 * of every install; that of llama.cpp is large and has its own (`test/oracles/package.json`).
 */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { Template } from '@huggingface/jinja';
import { z } from 'zod';

export interface ChatTemplate {
  name: string;
  source: string;
}

/** What a template makes of a request. `refused` are its own words; `engine` is what the engine here cannot do. */
export type Rendering = { text: string } | { refused: string } | { engine: string };

const here = import.meta.dirname;
const bundle = path.join(here, 'node_modules/node-llama-cpp/llama/gitRelease.bundle');

/** True when the large collection is installed: `npm install --no-save --prefix test/oracles --ignore-scripts --omit=optional --omit=peer`. */
export const hasLlamaCpp = existsSync(bundle);

/** The templates of models on Hugging Face that Ollama has too, from the published file of `@huggingface/ollama-utils`. */
export function huggingFaceTemplates(): ChatTemplate[] {
  const file = fileURLToPath(import.meta.resolve('@huggingface/ollama-utils'));
  const entry = /\n {4}model: ("(?:[^"\\]|\\.)*"),\n {4}gguf: ("(?:[^"\\]|\\.)*")/g;
  const found = [...readFileSync(file, 'utf8').matchAll(entry)];
  const sources = new Map<string, string>();
  for (const [, model = '', gguf = ''] of found) {
    const source = z.string().parse(JSON.parse(gguf));
    const name = z.string().parse(JSON.parse(model));
    if (/messages/.test(source) && !sources.has(source)) sources.set(source, name.replace('library/', ''));
  }
  return [...sources].map(([source, name]) => ({ name, source }));
}

/** The templates in llama.cpp's `models/templates`, of the release that the package was built from. */
export function llamaCppTemplates(): ChatTemplate[] {
  const clone = path.join(here, 'node_modules/.llama.cpp');
  const git = (...args: string[]): string =>
    execFileSync('git', args, {
      encoding: 'utf8',
      maxBuffer: 64 * 1024 * 1024,
      stdio: ['ignore', 'pipe', 'ignore'],
    });
  if (!existsSync(path.join(clone, 'HEAD'))) {
    mkdirSync(clone, { recursive: true });
    git('clone', '--quiet', '--bare', bundle, clone);
  }
  const files = git('-C', clone, 'ls-tree', '--name-only', 'HEAD', 'models/templates/').split('\n');
  return files
    .filter((file) => file.endsWith('.jinja'))
    .map((file) => ({
      name: path.basename(file, '.jinja'),
      source: git('-C', clone, 'show', `HEAD:${file}`),
    }));
}

/** A message as OpenAI's wire or Ollama's carries it. */
const wireMessage = z.looseObject({
  role: z.string(),
  content: z.union([z.string(), z.array(z.looseObject({ type: z.string() })), z.null()]).optional(),
  tool_calls: z
    .array(
      z.looseObject({
        function: z.looseObject({
          name: z.string(),
          arguments: z.union([z.string(), z.record(z.string(), z.unknown())]),
        }),
      }),
    )
    .optional(),
});
const wireBody = z.looseObject({
  messages: z.array(wireMessage),
  tools: z.array(z.looseObject({})).optional(),
  chat_template_kwargs: z.record(z.string(), z.unknown()).optional(),
});

const REFUSE = 'refuse_request';

/** The template's own refusal. */
class Refusal extends Error {}

/**
 * Makes the function that renders requests as servers do: content that is null is empty, arguments are objects, a picture
 * is a part of type `image`, and a template that does not go through the parts of a content gets its texts (vLLM
 * vllm/entrypoints/chat_utils.py; llama.cpp common/chat.cpp).
 */
export function rendererOf({ source }: ChatTemplate): (request: unknown) => Rendering {
  // The engine's own function throws what its own errors are, and cannot be replaced. Its objects have no `items` if
  // they have a member of that name, as every schema of a list does.
  const adapted = source.replaceAll('raise_exception', REFUSE).replaceAll('.items()', '|items');
  const template = new Template(adapted);
  // No picture is sent to a model that sees none.
  const readsParts =
    source.includes('image') &&
    /for\s+\w+\s+in\s+(?:\w+\[['"]content['"]\]|\w+\.content|content)\b/.test(source);
  return (request) => {
    const { messages, tools, chat_template_kwargs: more } = wireBody.parse(request);
    const context = {
      messages: messages.map((message) => ({
        ...message,
        content: contentOf(message, readsParts),
        ...(message.tool_calls !== undefined && { tool_calls: message.tool_calls.map(withArguments) }),
      })),
      ...(tools !== undefined && { tools }),
      ...more,
      add_generation_prompt: true,
      bos_token: '<s>',
      eos_token: '</s>',
      [REFUSE]: (message: unknown) => {
        throw new Refusal(String(message));
      },
    };
    try {
      return { text: template.render(context) };
    } catch (error) {
      return error instanceof Refusal ? { refused: error.message } : { engine: String(error) };
    }
  };
}

function contentOf({ content }: z.infer<typeof wireMessage>, readsParts: boolean): unknown {
  if (!Array.isArray(content)) return content ?? '';
  if (readsParts) return content.map((part) => (part.type === 'text' ? part : { type: 'image' }));
  return content.flatMap(({ text }) => (typeof text === 'string' ? [text] : [])).join('\n');
}

function withArguments(call: NonNullable<z.infer<typeof wireMessage>['tool_calls']>[number]): unknown {
  const { arguments: args } = call.function;
  const parsed: unknown = typeof args === 'string' ? JSON.parse(args) : args;
  return { type: 'function', ...call, function: { ...call.function, arguments: parsed } };
}
