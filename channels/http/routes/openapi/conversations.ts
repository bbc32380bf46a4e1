/** The API's description: sessions, their messages and files, and search. */
import { z } from 'zod';
import { forkSchema, retrySchema } from '../conversations.ts';
import { messageSchema } from '../posted-message.ts';
import { waitingSchema } from '../queue.ts';
import { changeSchema, deleteSchema } from '../sessions.ts';
import { answerLinkSchema, enterCodeSchema } from '../surfaces.ts';
import { listedSession, message, queue, receipt, reset, session } from './answers.ts';
import type { Operations } from './operation.ts';

const surface = z.object({
  address: z.string(),
  place: z.enum(['private', 'group']),
  name: z.string().nullable(),
  linkedAt: z.string(),
});

const asked = surface.omit({ linkedAt: true }).extend({ id: z.string() });

const listedFile = z.object({
  file: z.string().describe('its path, as in `GET /v1/sessions/{key}/files/…`'),
  name: z.string(),
  bytes: z.int(),
  changedAt: z.string(),
});

const PAGE = { limit: 'most rows, 1 to 200 (50)' };

export const SESSION_OPERATIONS: Operations = {
  'GET /v1/sessions': {
    tag: 'sessions',
    summary: 'The sessions of the token, newest first, pinned ones before them',
    query: {
      ...PAGE,
      before: 'the `updatedAt` of the last one read',
      archived: '`true`: those that are left out otherwise',
    },
    answer: z.object({ sessions: z.array(listedSession) }),
  },
  'POST /v1/sessions/delete': {
    tag: 'sessions',
    summary: 'Delete several sessions with their messages',
    body: deleteSchema,
    answer: z.object({ deleted: z.array(z.string()) }),
  },
  'GET /v1/search': {
    tag: 'sessions',
    summary: 'Sessions by words of their titles and messages',
    query: { ...PAGE, q: 'the words; "a phrase", `or` and `-without` as in a web search' },
  },
  'GET /v1/sessions/:key': { tag: 'sessions', summary: 'One session', answer: session },
  'PATCH /v1/sessions/:key': {
    tag: 'sessions',
    summary: 'Change model, profile, modes, title, marks',
    body: changeSchema,
    answer: session,
  },
  'DELETE /v1/sessions/:key': { tag: 'sessions', summary: 'Stop and delete a session with its files' },
  'GET /v1/sessions/:key/messages': {
    tag: 'sessions',
    summary: 'Messages, ascending',
    query: { ...PAGE, before: 'a message number', include: '`steps`: also the work of their turns' },
    answer: z.looseObject({ messages: z.array(message), resets: z.array(reset) }),
  },
  'POST /v1/sessions/:key/messages': {
    tag: 'sessions',
    summary: 'Send a message; a repeated Idempotency-Key gets the same answer',
    body: messageSchema,
    status: 202,
    answer: receipt,
  },
  'GET /v1/sessions/:key/export': {
    tag: 'sessions',
    summary: 'The whole session as a file',
    query: { format: '`md` (default) or `json`' },
    answer: 'file',
  },
  'GET /v1/sessions/:key/model': { tag: 'sessions', summary: 'Who answers the next message, and why' },
  'GET /v1/choices': {
    tag: 'sessions',
    summary:
      'Profiles, models and mode that may be chosen for a new session, and who answers without a choice',
    query: { profile: 'the profile of the session; `default` without one' },
  },
  'POST /v1/sessions/:key/fork': {
    tag: 'sessions',
    summary: 'A new session that begins as this one was at a message',
    body: forkSchema,
    status: 201,
    answer: session,
  },
  'POST /v1/sessions/:key/links': {
    tag: 'sessions',
    summary: 'A code by which another chat can ask to share the session: once, ten minutes',
    status: 201,
    answer: z.object({
      code: z.string(),
      commands: z.array(z.object({ command: z.string(), networks: z.array(z.string()) })),
      expiresAt: z.string(),
    }),
  },
  'POST /v1/sessions/:key/link': {
    tag: 'sessions',
    summary: 'Enter the code of another chat: both sides are asked then',
    body: enterCodeSchema,
    status: 202,
    answer: z.object({ asks: asked }),
  },
  'POST /v1/links/:code': {
    tag: 'sessions',
    summary: 'Agree to, or decline, what a code was entered for: by the code, or by the id of what is asked',
    body: answerLinkSchema,
    answer: z.object({ state: z.enum(['joined', 'waiting', 'declined']) }),
  },
  'GET /v1/sessions/:key/surfaces': {
    tag: 'sessions',
    summary: 'The chats that share the session, and the one that waits for an agreement',
    answer: z.object({ surfaces: z.array(surface), asks: asked.nullable() }),
  },
  'DELETE /v1/sessions/:key/surfaces/:address': {
    tag: 'sessions',
    summary: 'Separate one of the chats that share the session',
    answer: z.object({ left: z.string() }),
  },
  'GET /v1/sessions/:key/queue': {
    tag: 'sessions',
    summary: 'The messages that wait behind the running turn, and how they wait',
    answer: queue,
  },
  'PATCH /v1/sessions/:key/queue/:turn': {
    tag: 'sessions',
    summary: 'Change the text of one’s own waiting message',
    body: waitingSchema,
    answer: queue,
  },
  'DELETE /v1/sessions/:key/queue/:turn': {
    tag: 'sessions',
    summary: 'Drop a waiting message',
    answer: queue,
  },
  'POST /v1/sessions/:key/queue/:turn/send-now': {
    tag: 'sessions',
    summary: 'End the running answer, and answer this waiting message next',
    answer: queue,
  },
  'POST /v1/sessions/:key/retry': {
    tag: 'sessions',
    summary: 'Answer the last question again',
    body: retrySchema,
    status: 202,
    answer: receipt,
  },
  'POST /v1/sessions/:key/undo': {
    tag: 'sessions',
    summary: 'Take the last question and its answers out of what the model reads',
  },
  'POST /v1/sessions/:key/turns/:turn/choose': {
    tag: 'sessions',
    summary: 'Let the model read this answer instead of the others to its question',
  },
  'POST /v1/sessions/:key/stop': { tag: 'sessions', summary: 'Stop the running turn and drop what waits' },
  'GET /v1/sessions/:key/events': {
    tag: 'sessions',
    summary: 'The events of a session, after `Last-Event-ID` where that is sent',
    answer: 'session-events',
  },
  'GET /v1/events': {
    tag: 'sessions',
    summary: 'What happens in all sessions of the token, without texts',
    answer: 'events',
  },
  'GET /v1/ws': {
    tag: 'sessions',
    summary: 'A WebSocket: messages, stops and decisions in, events out',
    status: 101,
    answer: 'nothing',
  },
  'GET /v1/sessions/:key/files': {
    tag: 'files',
    summary: 'The files of the session, the newest first',
    answer: z.object({ files: z.array(listedFile), more: z.boolean() }),
  },
  'POST /v1/sessions/:key/files': {
    tag: 'files',
    summary: 'Store a file for a message',
    query: { name: 'its name; not for a form' },
    upload: true,
    status: 201,
  },
  'GET /v1/sessions/:key/files/*': { tag: 'files', summary: 'A file of the session', answer: 'file' },
  'DELETE /v1/sessions/:key/files/*': { tag: 'files', summary: 'Remove a file that was sent' },
  'GET /v1/file-limits': { tag: 'files', summary: 'How large files may be, and how many a message brings' },
};
