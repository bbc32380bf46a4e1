/** What servers refuse about the parts of a request, each rule with the words and the source of the one that has it. */
import type { ServerRule, StrictRefusal } from './strict-server.ts';
import type { UpstreamBody } from './scripted-upstream.ts';

const inText = (value: unknown, part: string): boolean => JSON.stringify(value ?? '').includes(part);

const toolNames = ({ tools }: UpstreamBody): string[] =>
  Array.isArray(tools)
    ? tools.map((tool: { function?: { name?: string } }) => tool.function?.name ?? '')
    : [];

/** Azure's serverless models validate with FastAPI (NousResearch/hermes-agent#109143, microsoft/semantic-kernel#10510). */
export const noStreamOptions: ServerRule = ({ stream_options: options }) =>
  options === undefined || options === null
    ? undefined
    : {
        status: 422,
        body: {
          detail: [
            {
              type: 'extra_forbidden',
              loc: ['body', 'stream_options'],
              msg: 'Extra inputs are not permitted',
              input: options,
            },
          ],
        },
      };

/** llama-server, when a grammar for the tools grows too large or cannot be made; it names no tool (ggml-org/llama.cpp#25895, #26596). */
export const noDefaults: ServerRule = ({ tools }) =>
  inText(tools, '"default"')
    ? {
        status: 400,
        body: {
          error: {
            code: 400,
            message: 'Failed to initialize samplers: failed to parse grammar',
            type: 'invalid_request_error',
          },
        },
      }
    : undefined;

/** Ollama, for a model whose template has no tools (ollama/ollama server/routes.go). */
export const noToolsAtAll: ServerRule = (body) =>
  toolNames(body).length === 0
    ? undefined
    : { status: 400, body: { error: 'registry.ollama.ai/library/fake:latest does not support tools' } };

/** llama-server, for a picture that its decoder cannot read (cline/cline#8203). */
export const noPicture: ServerRule = ({ messages }) =>
  inText(messages, ';base64,')
    ? { status: 400, body: { error: { code: 400, message: 'Failed to load image or audio file' } } }
    : undefined;

/** A server that refuses whatever it is asked, in words that name no part. */
export const refuseAll =
  (isOn: () => boolean, refusal: StrictRefusal): ServerRule =>
  () =>
    isOn() ? refusal : undefined;
