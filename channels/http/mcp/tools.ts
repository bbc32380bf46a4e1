/** The tools that call a route of the API, one record each. */
import { z } from 'zod';
import type { Scope } from '../../../src/protocol/access.ts';
import { MAX_ANSWER_CHARS } from '../../../src/protocol/agent/approvals.ts';
import { MODES } from '../../../src/protocol/agent/plan.ts';
import type { OfferedTool } from '../../../src/protocol/mcp-offer.ts';
import { MAX_PAGE_SIZE } from '../config.ts';
import { IDEMPOTENCY_KEY } from '../inbound.ts';
import { decisionFields } from '../routes/approvals.ts';
import { type RouteCall, segment } from './call-route.ts';

/** What clients learn of a tool, and who may call it. */
export interface ToolRecord {
  name: string;
  title: string;
  description: string;
  scope: Scope;
  args: z.ZodObject;
  /** Undefined for one that only reads. */
  writes?: { destructive?: true; repeatable?: true; outside?: true };
}

/** A tool that is a route by another name. */
export interface RouteTool extends ToolRecord {
  callOf(args: unknown): RouteCall;
}

/** Its checks are no part of the JSON Schema: model servers read only simple ones. No path has a part of dots alone. */
const name = z
  .string()
  .min(1)
  .max(200)
  .refine((text) => !/^\.+$/.test(text), 'must be an id');
/** The argument that names a session. */
export const sessionKey = name.refine(
  (text) => text.includes(':'),
  'must be the key of a session, such as http:desk',
);
const session = sessionKey.describe('The key of a session, such as http:desk; list_sessions has them.');
const page = {
  limit: z.int().min(1).max(MAX_PAGE_SIZE).optional().describe(`How many at most, 1 to ${MAX_PAGE_SIZE}.`),
};
/** The argument that makes a repeated call harmless. */
export const callKey = z
  .string()
  .refine((text) => IDEMPOTENCY_KEY.test(text), 'must be 1 to 255 visible ASCII characters')
  .describe('A name you choose for this call. A repeated call under it does nothing twice.');

function tool<Shape extends z.ZodRawShape>(
  record: Omit<ToolRecord, 'args'>,
  shape: Shape,
  callOf: (args: z.output<z.ZodObject<Shape>>) => RouteCall,
): RouteTool {
  const args = z.strictObject(shape);
  return { ...record, args, callOf: (value) => callOf(args.parse(value)) };
}

/** In the order in which clients list them. */
export const ROUTE_TOOLS: readonly RouteTool[] = [
  tool(
    {
      name: 'list_sessions',
      title: 'List sessions',
      description: 'The conversations of this token, newest first: key, title, state, unread messages.',
      scope: 'chat',
    },
    {
      ...page,
      before: z.string().optional().describe('The `updatedAt` of the last one read: what is older follows.'),
      archived: z.boolean().optional().describe('Those that are left out otherwise.'),
    },
    (query) => ({ method: 'GET', path: '/v1/sessions', query }),
  ),
  tool(
    {
      name: 'search_sessions',
      title: 'Search sessions',
      description: 'Conversations by words of their titles and messages.',
      scope: 'chat',
    },
    { words: z.string().min(1).describe('As in a web search: "a phrase", or, -without.'), ...page },
    ({ words: q, limit }) => ({ method: 'GET', path: '/v1/search', query: { q, limit } }),
  ),
  tool(
    {
      name: 'read_messages',
      title: 'Read messages',
      description:
        'Messages of a session, oldest first: the newest page, or the one before a message number.',
      scope: 'chat',
    },
    { session, ...page, before: z.int().min(1).optional().describe('The `seq` of the oldest one read.') },
    ({ session: key, ...query }) => ({
      method: 'GET',
      path: `/v1/sessions/${segment(key)}/messages`,
      query,
    }),
  ),
  tool(
    {
      name: 'stop_session',
      title: 'Stop a session',
      description: 'Stops what runs in a session, and drops what waits there.',
      scope: 'chat',
      writes: { destructive: true, repeatable: true },
    },
    { session },
    ({ session: key }) => ({ method: 'POST', path: `/v1/sessions/${segment(key)}/stop` }),
  ),
  tool(
    {
      name: 'list_plans',
      title: 'List plans',
      description: 'The plans of a session, newest first.',
      scope: 'chat',
    },
    { session },
    (query) => ({ method: 'GET', path: '/v1/plans', query }),
  ),
  tool(
    {
      name: 'read_plan',
      title: 'Read a plan',
      description: 'A plan with its steps and their states.',
      scope: 'chat',
    },
    { plan: name.describe('Its id.') },
    ({ plan }) => ({ method: 'GET', path: `/v1/plans/${segment(plan)}` }),
  ),
  tool(
    {
      name: 'act_on_plan',
      title: 'Run or stop a plan',
      description:
        'Runs a stored plan, or acts on a running one: run, skip, pause, resume, stop; restore takes back that a stored one was dropped.',
      scope: 'chat',
      writes: { destructive: true },
    },
    {
      plan: name.describe('Its id.'),
      action: z.enum(['run', 'skip', 'pause', 'resume', 'stop', 'restore']),
      step: name.optional().describe('The id of the step to skip.'),
      mode: z.enum(MODES).optional().describe('How a stored plan is run; otherwise as its session does.'),
      key: callKey.optional(),
    },
    ({ plan, action, step, mode, key }) => ({
      method: 'POST',
      path: `/v1/plans/${segment(plan)}/${action}`,
      query: { step },
      ...(mode !== undefined && { body: { mode } }),
      key,
    }),
  ),
  tool(
    {
      name: 'list_schedules',
      title: 'List schedules',
      description: 'Tasks that start on their own, with the time of their next run.',
      scope: 'chat',
    },
    { session: session.optional() },
    (query) => ({ method: 'GET', path: '/v1/schedules', query }),
  ),
  tool(
    {
      name: 'add_schedule',
      title: 'Add a schedule',
      description:
        'Has the bot carry out a task in a session, with exactly one of cron, everyMinutes, inMinutes and at.',
      scope: 'chat',
      writes: {},
    },
    {
      session,
      task: z.string().min(1),
      cron: z.string().min(1).optional().describe('Five fields, such as 0 9 * * 1-5.'),
      everyMinutes: z.number().min(1).optional(),
      inMinutes: z.number().min(1).optional(),
      at: z.string().min(1).optional().describe('An ISO date and time.'),
      timeZone: z.string().min(1).optional().describe('Such as Europe/Berlin.'),
      key: callKey.optional(),
    },
    ({ key, ...body }) => ({ method: 'POST', path: '/v1/schedules', body, key }),
  ),
  tool(
    {
      name: 'remove_schedule',
      title: 'Remove a schedule',
      description: 'A run that has started is not affected.',
      scope: 'chat',
      writes: { destructive: true, repeatable: true },
    },
    { schedule: name.describe('Its id.') },
    ({ schedule }) => ({ method: 'DELETE', path: `/v1/schedules/${segment(schedule)}` }),
  ),
  tool(
    {
      name: 'search_memories',
      title: 'Search memories',
      description: 'What the bot remembers about the person of this token, by words and by meaning.',
      scope: 'chat',
    },
    { words: z.string().min(1).max(1_000).optional().describe('Without them, everything.') },
    ({ words: q }) => ({ method: 'GET', path: '/v1/me/memories', query: { q } }),
  ),
  tool(
    {
      name: 'list_approvals',
      title: 'List approvals',
      description:
        'Tool calls that wait for a decision, with their arguments, and questions of others to this token.',
      scope: 'chat',
    },
    {},
    () => ({ method: 'GET', path: '/v1/approvals' }),
  ),
  tool(
    {
      name: 'decide_approval',
      title: 'Decide an approval',
      description: 'Approves or denies a tool call that waits. The first decision counts.',
      scope: 'approve',
      writes: { destructive: true },
    },
    { approval: name.describe('Its id.'), ...decisionFields },
    ({ approval, ...body }) => ({ method: 'POST', path: `/v1/approvals/${segment(approval)}`, body }),
  ),
  tool(
    {
      name: 'answer_question',
      title: 'Answer a question',
      description: 'Answers a question of another person, which list_approvals shows with a `question`.',
      scope: 'chat',
      writes: { outside: true },
    },
    { question: name.describe('Its id.'), answer: z.string().trim().min(1).max(MAX_ANSWER_CHARS) },
    ({ question, answer }) => ({
      method: 'POST',
      path: `/v1/questions/${segment(question)}`,
      body: { answer },
    }),
  ),
];

const descriptions = new WeakMap<ToolRecord, OfferedTool>();

/** The tool as clients list it. */
export function offeredTool(record: ToolRecord): OfferedTool {
  const description = descriptions.get(record) ?? describeTool(record);
  descriptions.set(record, description);
  return description;
}

function describeTool({ name, title, description, args, writes }: ToolRecord): OfferedTool {
  const {
    $schema: _,
    type: _type,
    ...schema
  } = z.toJSONSchema(args, {
    io: 'input',
    override({ jsonSchema }) {
      // Of any names and values: an empty schema is not understood everywhere.
      if (jsonSchema.propertyNames === undefined) return;
      delete jsonSchema.propertyNames;
      jsonSchema.additionalProperties = true;
    },
  });
  return {
    name,
    title,
    description,
    inputSchema: { type: 'object', ...schema },
    annotations:
      writes === undefined
        ? { readOnlyHint: true, openWorldHint: false }
        : {
            readOnlyHint: false,
            destructiveHint: writes.destructive === true,
            idempotentHint: writes.repeatable === true,
            openWorldHint: writes.outside === true,
          },
  };
}
