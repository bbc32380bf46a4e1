/** Tools as MCP servers bring them: described by others, each with a schema of a usual size. */
import { z } from 'zod';
import { defineTool, type Tool } from '../../../src/protocol/agent/tool.ts';

/** `count` tools of one server, each of about 740 bytes; what runs is noted. */
export function serverTools(server: string, count: number, ran: string[] = []): Tool[] {
  return Array.from({ length: count }, (_, at) => {
    const name = `${server}__handle_record_${at}`;
    return defineTool<{ id: string; limit?: number | undefined }>({
      name,
      description: `Handles the records of kind ${at} in the register. ${'It also explains how. '.repeat(12)}`,
      parameters: z.object({
        id: z.string().describe('The id of the record, as the list of records shows it.'),
        limit: z.int().min(1).max(500).optional().describe('How many rows are returned at most.'),
      }),
      describedBy: `mcp:${server}`,
      effect: 'unsafe',
      risk: () => (at === 7 ? 'dangerous' : 'safe'),
      warning: () => 'handles records',
      results: `mcp:${server}`,
      reach: () => 'session',
      execute: async ({ id }) => {
        ran.push(`${name} ${id}`);
        return { content: `record ${id}` };
      },
    });
  });
}
