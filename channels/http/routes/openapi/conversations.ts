/** The API's description: sessions, their messages and files, and search. */
import { z } from 'zod';
import { forkSchema, retrySchema } from '../conversations.ts';
import { messageSchema } from '../posted-message.ts';
import { waitingSchema } from '../queue.ts';
import { changeSchema, deleteSchema } from '../sessions.ts';
import { answerLinkSchema, enterCodeSchema } from '../surfaces.ts';
import { handled, listedSession, message, queue, receipt, reset, session } from './answers.ts';
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

const file = { type: 'string', format: 'binary' };

/** A file as the body, or in a form. */
const FILE_OR_FORM = {
  'application/octet-stream': { schema: file },
  'multipart/form-data': { schema: { type: 'object', properties: { file } } },
};

const PAGE = { limit: 'most rows, 1 to 200 (50)' };

export const SESSION_OPERATIONS: Operations = {
  'GET /v1/sessions': {
    tag: 'sessions',
    summary: 'The sessions of the token, newest first, pinned ones before them',
    description:
      'With a title, the beginning of the newest message, the state of its turn, and how many messages are unread.',
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
    description: "At most 100 at once; `deleted` names those that were the token's own.",
    body: deleteSchema,
    answer: z.object({ deleted: z.array(z.string()) }),
  },
  'GET /v1/search': {
    tag: 'sessions',
    summary: 'Sessions by words of their titles and messages',
    description: 'Among the sessions that the token may see; `more` when there are others.',
    query: { ...PAGE, q: 'the words; "a phrase", `or` and `-without` as in a web search' },
  },
  'GET /v1/sessions/:key': {
    tag: 'sessions',
    summary: 'One session',
    description: '404 for one that does not exist and for one of another token alike.',
    answer: session,
  },
  'PATCH /v1/sessions/:key': {
    tag: 'sessions',
    summary: 'Change model, profile, modes, title, marks',
    description:
      'What is left out stays; `model: null` is that of the profile, `title: null` lets the next answer make one.',
    body: changeSchema,
    answer: session,
  },
  'DELETE /v1/sessions/:key': {
    tag: 'sessions',
    summary: 'Stop and delete a session with its files',
    description: 'Its streams end with `session_deleted`.',
  },
  'GET /v1/sessions/:key/messages': {
    tag: 'sessions',
    summary: 'Messages, ascending',
    description:
      'The newest page, or the one before a message number; `resets` says where `/new` began anew.',
    query: { ...PAGE, before: 'a message number', include: '`steps`: also the work of their turns' },
    answer: z.looseObject({ messages: z.array(message), resets: z.array(reset) }),
  },
  'POST /v1/sessions/:key/messages': {
    tag: 'sessions',
    summary: 'Send a message; a repeated Idempotency-Key gets the same answer',
    description:
      '202 once the message is durable; 200 for a command, which runs at once. With another body, a repeated Idempotency-Key is 422.',
    body: messageSchema,
    status: 202,
    answer: receipt,
    others: [{ status: 200, body: handled }],
  },
  'GET /v1/sessions/:key/export': {
    tag: 'sessions',
    summary: 'The whole session as a file',
    description: 'Files are listed, not included.',
    query: { format: '`md` (default) or `json`' },
    answer: 'nothing',
    others: [
      { type: 'text/markdown', body: 'text' },
      { body: z.looseObject({ messages: z.array(z.looseObject({})) }) },
    ],
  },
  'GET /v1/sessions/:key/model': {
    tag: 'sessions',
    summary: 'Who answers the next message, and why',
    description:
      '`configured` is what was meant, `answering` what answers now, with the reason if that is another.',
  },
  'GET /v1/choices': {
    tag: 'sessions',
    summary:
      'Profiles, models and mode that may be chosen for a new session, and who answers without a choice',
    description:
      'For the start of a conversation: what this token may choose, and whether a mode has an effect with a profile.',
    query: { profile: 'the profile of the session; `default` without one' },
  },
  'POST /v1/sessions/:key/fork': {
    tag: 'sessions',
    summary: 'A new session that begins as this one was at a message',
    description:
      'Whole turns up to `seq`, with what the model knows about them; files are copied. A repeated Idempotency-Key gets the same session.',
    body: forkSchema,
    status: 201,
    answer: session,
  },
  'POST /v1/sessions/:key/links': {
    tag: 'sessions',
    summary: 'A code by which another chat can ask to share the session: once, ten minutes',
    description: '`commands` are what to write in the other chat.',
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
    description: '404 for an unknown code, 410 for one that is too old, 409 for one that was used.',
    body: enterCodeSchema,
    status: 202,
    answer: z.object({ asks: asked }),
  },
  'POST /v1/links/:code': {
    tag: 'sessions',
    summary: 'Agree to, or decline, what a code was entered for: by the code, or by the id of what is asked',
    description: 'Both sides must agree; until then the state is `waiting`.',
    body: answerLinkSchema,
    answer: z.object({ state: z.enum(['joined', 'waiting', 'declined']) }),
  },
  'GET /v1/sessions/:key/surfaces': {
    tag: 'sessions',
    summary: 'The chats that share the session, and the one that waits for an agreement',
    description: 'Each with its network, its kind of place, and since when it has been one of them.',
    answer: z.object({ surfaces: z.array(surface), asks: asked.nullable() }),
  },
  'DELETE /v1/sessions/:key/surfaces/:address': {
    tag: 'sessions',
    summary: 'Separate one of the chats that share the session',
    description: "The session's own address separates all of them.",
    answer: z.object({ left: z.string() }),
  },
  'GET /v1/sessions/:key/queue': {
    tag: 'sessions',
    summary: 'The messages that wait behind the running turn, and how they wait',
    description: 'The next one first; `mode` says whether they wait, join the turn, or replace it.',
    answer: queue,
  },
  'PATCH /v1/sessions/:key/queue/:turn': {
    tag: 'sessions',
    summary: 'Change the text of one’s own waiting message',
    description: '409 `not_waiting` once its answer has begun.',
    body: waitingSchema,
    answer: queue,
  },
  'DELETE /v1/sessions/:key/queue/:turn': {
    tag: 'sessions',
    summary: 'Drop a waiting message',
    description: '409 `not_waiting` once its answer has begun.',
    answer: queue,
  },
  'POST /v1/sessions/:key/queue/:turn/send-now': {
    tag: 'sessions',
    summary: 'End the running answer, and answer this waiting message next',
    description: 'While the turn waits for a person, the message only moves to the front.',
    answer: queue,
  },
  'POST /v1/sessions/:key/retry': {
    tag: 'sessions',
    summary: 'Answer the last question again',
    description: 'By another `model` if one is named; the earlier answer stays to choose from.',
    body: retrySchema,
    status: 202,
    answer: receipt,
  },
  'POST /v1/sessions/:key/undo': {
    tag: 'sessions',
    summary: 'Take the last question and its answers out of what the model reads',
    description: 'It stays among the messages, marked as left out; 409 says why it cannot be.',
  },
  'POST /v1/sessions/:key/turns/:turn/choose': {
    tag: 'sessions',
    summary: 'Let the model read this answer instead of the others to its question',
    description: 'Also brings an answer back after an undo; 409 says why it cannot be chosen.',
  },
  'POST /v1/sessions/:key/stop': {
    tag: 'sessions',
    summary: 'Stop the running turn and drop what waits',
    description: 'Acts within a second, whatever the model is doing; needs no body.',
  },
  'GET /v1/sessions/:key/events': {
    tag: 'sessions',
    summary: 'The events of a session, after `Last-Event-ID` where that is sent',
    description:
      'Each event of a turn has an id. A reader that comes too late for single events gets a `snapshot` with the text so far.',
    answer: 'session-events',
  },
  'GET /v1/events': {
    tag: 'sessions',
    summary: 'What happens in all sessions of the token, without texts',
    description:
      'For lists and dashboards: every kind of event with `type`, `sessionKey`, `turnId` and `at`; tokens and progress count once until something else happens.',
    answer: 'events',
  },
  'GET /v1/ws': {
    tag: 'sessions',
    summary: 'A WebSocket: messages, stops and decisions in, events out',
    description:
      'The first frame brings the token unless a header does. The frames are described in the documentation.',
    status: 101,
    answer: 'nothing',
  },
  'GET /v1/sessions/:key/files': {
    tag: 'files',
    summary: 'The files of the session, the newest first',
    description: 'At most 500, `more` if there are others.',
    answer: z.object({ files: z.array(listedFile), more: z.boolean() }),
  },
  'POST /v1/sessions/:key/files': {
    tag: 'files',
    summary: 'Store a file for a message',
    description:
      'The bytes as they are, or a form with one file. The same content under the same name is one file. A message names it in `files`.',
    query: { name: 'its name; not for a form' },
    upload: FILE_OR_FORM,
    status: 201,
  },
  'GET /v1/sessions/:key/files/*': {
    tag: 'files',
    summary: 'A file of the session',
    description:
      'With an ETag, and in parts with `Range`. Only pictures are shown in place; nothing in a file runs.',
    answer: 'bytes',
    others: [
      { status: 206, type: '*/*', body: 'bytes' },
      { status: 304, body: 'nothing' },
    ],
  },
  'DELETE /v1/sessions/:key/files/*': {
    tag: 'files',
    summary: 'Remove a file that was sent',
    description: 'Only files that were sent over the API; the messages that brought it stay.',
  },
  'GET /v1/file-limits': {
    tag: 'files',
    summary: 'How large files may be, and how many a message brings',
    description: 'For clients that check before they send.',
  },
};
