/** The tools for resources on servers: `list_resources` and `read_resource`. */
import { z } from 'zod';
import { ToolError } from '../protocol/errors.ts';
import { defineTool, type Tool, type ToolResult } from '../protocol/agent/tool.ts';
import { oneLine } from '../lib/text.ts';
import { textOfContents } from './content.ts';
import type { McpServer } from './server.ts';
import { textRef } from '../protocol/texts/say.ts';

/** Maximum number of resources in one list that the model reads, and longest line in it, in UTF-16 units. */
export const MAX_RESOURCES_SHOWN = 100;
const MAX_LINE_CHARS = 300;

const listParameters = z.strictObject({ server: z.string().min(1).describe('Name of the server.') });
const readParameters = z.strictObject({
  server: z.string().min(1).describe('Name of the server.'),
  uri: z
    .string()
    .min(1)
    .max(2_000)
    .describe('Address of the resource, from list_resources or a template of it.'),
});

const resource = z.object({
  uri: z.string().optional(),
  uriTemplate: z.string().optional(),
  name: z.string().default(''),
  description: z.string().default(''),
});
const answer = z.looseObject({ contents: z.array(z.unknown()).default([]) });

/** Creates both for these servers, some of which have resources. */
export function createResourceTools(servers: readonly McpServer[]): readonly Tool[] {
  const names = servers.map(({ name }) => name).join(', ');
  const find = (name: string): McpServer => {
    const match = servers.find((server) => server.name === name);
    if (match !== undefined) return match;
    throw new ToolError(
      'unknown_server',
      `There is no server "${name.slice(0, 80)}". The servers are: ${names}.`,
    );
  };
  const isTrusted = (name: string): boolean =>
    servers.some((server) => server.name === name && server.status.trusted);
  return [
    defineTool({
      name: 'list_resources',
      description: `List the documents that an MCP server keeps (${names}), and templates of their addresses.`,
      parameters: listParameters,
      effect: 'pure',
      risk: () => 'safe',
      results: 'mcp:*',
      // It sends only a request for the list, to a server that the operator named.
      reach: () => 'session',
      async execute({ server }: z.infer<typeof listParameters>, ctx) {
        const { resources, templates } = await find(server).listResources(ctx.signal);
        const lines = [...resources, ...templates].flatMap(lineOf);
        const more = lines.length - MAX_RESOURCES_SHOWN;
        const visibleLines =
          more > 0 ? [...lines.slice(0, MAX_RESOURCES_SHOWN), `(and ${more} more)`] : lines;
        return fromServer(server, visibleLines.length === 0 ? '(no resources)' : visibleLines.join('\n'));
      },
    }),
    defineTool({
      name: 'read_resource',
      description: `Read a document of an MCP server (${names}).`,
      parameters: readParameters,
      effect: 'pure',
      risk: ({ server }) => (isTrusted(server) ? 'caution' : 'dangerous'),
      warning: ({ server }) => textRef('risk.mcp_read', { server: server.slice(0, 80) }),
      results: 'mcp:*',
      reach: () => 'outside',
      async execute({ server, uri }: z.infer<typeof readParameters>, ctx) {
        const { contents } = await find(server).ask('resources/read', { uri }, answer, ctx.signal);
        const text = contents.map(textOfContents).join('\n');
        return fromServer(server, text === '' ? '(no content)' : text);
      },
    }),
  ];
}

function fromServer(server: string, content: string): ToolResult {
  return { content, sources: [`mcp:${server}`], from: `the MCP server ${server}` };
}

function lineOf(item: unknown): string[] {
  const { success, data } = resource.safeParse(item);
  const address = data?.uri ?? data?.uriTemplate;
  if (!success || address === undefined) return [];
  const about = [data.name, data.description].filter((part) => part !== '').join(': ');
  return [oneLine(`${address}  ${about}`).slice(0, MAX_LINE_CHARS).toWellFormed()];
}
