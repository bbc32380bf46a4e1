/**
 * Chat templates as model makers published them, and what they make of a request. One collection comes with the packages
 * of every install; that of llama.cpp is large and has its own (`test/oracles/package.json`).
 */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
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

/** True when the large collection is installed: `npm ci --prefix test/oracles --ignore-scripts --omit=optional --omit=peer`. */
export const hasLlamaCpp = existsSync(bundle);

/** The templates of models on Hugging Face that Ollama has too, from the published file of `@huggingface/ollama-utils`. */
export function huggingFaceTemplates(): ChatTemplate[] {
  const file = createRequire(import.meta.url).resolve('@huggingface/ollama-utils');
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
 * Renders a request as servers do: content that is null is empty, arguments are objects (vLLM
 * entrypoints/chat_utils.py; llama.cpp common/chat.cpp), and a template that knows only texts gets the texts of parts.
 */
export function renderRequest({ source }: ChatTemplate, request: unknown): Rendering {
  const body = wireBody.parse(request);
  const knowsParts = /type['"]?\]? *== *['"](image|text)|is (iterable|sequence|string)/.test(source);
  const messages = body.messages.map(({ content, tool_calls: calls, ...message }) => ({
    ...message,
    content: Array.isArray(content) && !knowsParts ? textOfParts(content) : (content ?? ''),
    ...(calls !== undefined && {
      tool_calls: calls.map((call) => ({
        ...call,
        function: { ...call.function, arguments: argumentsOf(call) },
      })),
    }),
  }));
  // The engine's own function throws what its faults throw, too, and cannot be replaced.
  const { text, error } = render(source.replaceAll('raise_exception', REFUSE), {
    messages,
    ...(body.tools !== undefined && { tools: body.tools }),
    ...body.chat_template_kwargs,
    add_generation_prompt: true,
    bos_token: '<s>',
    eos_token: '</s>',
    [REFUSE]: (message: unknown) => {
      throw new Refusal(String(message));
    },
  });
  if (error === undefined) return { text };
  return error instanceof Refusal ? { refused: error.message } : { engine: String(error) };
}

function render(source: string, context: Record<string, unknown>): { text: string; error?: unknown } {
  try {
    return { text: new Template(source).render(context) };
  } catch (error) {
    return { text: '', error };
  }
}

function textOfParts(parts: readonly { type: string; text?: unknown }[]): string {
  return parts.flatMap(({ text }) => (typeof text === 'string' ? [text] : [])).join('\n');
}

function argumentsOf({ function: { arguments: args } }: { function: { arguments: unknown } }): unknown {
  return typeof args === 'string' ? JSON.parse(args) : args;
}
