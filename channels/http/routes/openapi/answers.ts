/** Schemas of the records that answers consist of, as the routes write them (a test compares the types). */
import { z } from 'zod';

const sessionKey = z.templateLiteral([z.string(), ':', z.string()]);
const moment = z.string().describe('ISO 8601');

const sessionFields = {
  key: sessionKey,
  profileId: z.string(),
  model: z.string().nullable(),
  mode: z.string(),
  queueMode: z.string(),
  title: z.string().nullable(),
  createdAt: moment,
  updatedAt: moment,
  messageCount: z.int(),
  pinned: z.boolean(),
  archived: z.boolean(),
  readSeq: z.int(),
};

/** A session. */
export const session = z.looseObject(sessionFields).meta({ id: 'Session' });

/** A session of a list. */
export const listedSession = z
  .looseObject({
    ...sessionFields,
    preview: z.string(),
    state: z.enum(['idle', 'running', 'waiting']),
    queued: z.int(),
    unread: z.int(),
    ownerName: z.string().nullable(),
    own: z.boolean(),
  })
  .meta({ id: 'ListedSession' });

/** A stored message. */
export const message = z
  .looseObject({
    seq: z.int(),
    role: z.enum(['user', 'assistant', 'system']),
    content: z.string(),
    turnId: z.string(),
    createdAt: moment,
    senderName: z.string().nullable(),
    isPlan: z.boolean(),
    isError: z.boolean(),
    leftOut: z.boolean(),
    model: z.string().nullable(),
  })
  .meta({ id: 'Message' });

/** Where `/new` began a new conversation. */
export const reset = z
  .object({
    after: z.int().describe('the number of the last message that the model no longer reads'),
    at: moment,
  })
  .meta({ id: 'ContextReset' });

/** What waits in a session. */
export const queue = z
  .looseObject({
    mode: z.string(),
    busy: z.boolean(),
    messages: z.array(
      z.looseObject({
        turnId: z.string(),
        seq: z.int().nullable(),
        content: z.string(),
        isEditable: z.boolean(),
        createdAt: moment,
      }),
    ),
  })
  .meta({ id: 'Queue' });

/** An accepted message. */
export const receipt = z
  .looseObject({ turnId: z.string(), seq: z.int(), lastEventId: z.string() })
  .meta({ id: 'Receipt' });

/** A command, which was run at once. */
export const handled = z
  .looseObject({ handled: z.literal(true), reply: z.string().nullable() })
  .meta({ id: 'Handled' });

/** A call that waits for a decision. */
export const approval = z
  .looseObject({
    id: z.string(),
    session: sessionKey,
    turnId: z.string(),
    tool: z.string(),
    warning: z.string().nullish(),
    createdAt: moment,
    expiresAt: moment,
  })
  .meta({ id: 'Approval' });

/** A schedule. */
export const schedule = z
  .looseObject({
    id: z.string(),
    session: sessionKey,
    task: z.string(),
    nextAt: moment.nullable(),
    lastAt: moment.nullable(),
    createdAt: moment,
  })
  .meta({ id: 'Schedule' });

/** Every error. */
export const error = z
  .object({
    error: z.object({
      message: z.string(),
      type: z.string(),
      code: z.string(),
      param: z.string().nullable(),
      problems: z
        .array(z.object({ key: z.string(), values: z.record(z.string(), z.unknown()).optional() }))
        .optional()
        .describe('what the message says of single fields, as texts for a reader of another language'),
    }),
  })
  .meta({ id: 'Error' });

/** Every error below `/api/`. */
export const ollamaError = z.object({ error: z.string() }).meta({ id: 'OllamaError' });
