/** The routes of documents that the bot searches, for admins, and of what the answers of a session cite, for its readers. */
import { z } from 'zod';
import {
  type KnowledgeDocument,
  type KnowledgeOffer,
  type KnowledgeScope,
  type KnowledgeSource,
  MAX_DOCUMENT_BYTES,
  placeShape,
  wordProblem,
} from '../../../src/protocol/knowledge.ts';
import { isAddress } from '../../../src/protocol/message.ts';
import type { Say } from '../../../src/protocol/texts/say.ts';
import { inMegabytes } from '../../../src/lib/text.ts';
import { refuseEncodings } from '../body.ts';
import { HttpError } from '../errors.ts';
import { inSession } from '../inbound.ts';
import { type HandlerDeps, type HttpContext, type Route, routeOf } from '../route.ts';
import { isForm, readUpload, refuseLength } from '../upload.ts';
import { sayToCaller } from './person.ts';

const MAX_NAME = 200;
/** A profile or a chat; without either, the default profile. */
const forWhom = {
  profile: z.string().min(1).max(MAX_NAME).optional().describe('for all chats of this profile'),
  chat: z.string().min(1).max(MAX_NAME).optional().describe('for this chat alone, such as `http:work`'),
};
const addressOffer = z.strictObject({ url: z.string().min(1).max(2_048), ...forWhom });

const sourceJson = z.object({
  id: z.string(),
  scope: z.string().describe('`profile/<name>` or `chat/<address>`'),
  kind: z.enum(['folder', 'file', 'url', 'upload']),
  location: z.string(),
  state: z.enum(['waiting', 'reading', 'ready', 'failed']),
  problem: z.string().optional(),
  notice: z.string().optional().describe('limits that left something out'),
  total: z.int().optional(),
  documents: z.int(),
  failed: z.int(),
  passages: z.int(),
  vectors: z.int().describe('passages that are found by meaning, too'),
  createdAt: z.string(),
  checkedAt: z.string().optional(),
});
const documentJson = z.object({
  id: z.string(),
  name: z.string(),
  title: z.string(),
  version: z.string().describe('SHA-256 of its bytes'),
  bytes: z.int(),
  passages: z.int(),
  problem: z.string().optional(),
  notice: z.string().optional(),
  updatedAt: z.string(),
});

/** A source and one of its documents, as clients read them. */
export type WireSource = z.output<typeof sourceJson>;
export type WireDocument = z.output<typeof documentJson>;

const passageJson = z.object({
  position: z.int(),
  hash: z.string(),
  place: placeShape,
  context: z.string(),
  content: z.string(),
});
const citationJson = z.object({
  number: z.int().describe('3 for `[k3]`'),
  documentId: z.string(),
  title: z.string(),
  place: placeShape,
});

const FORM = {
  'multipart/form-data': {
    schema: {
      type: 'object',
      required: ['file'],
      properties: {
        file: { type: 'string', format: 'binary' },
        profile: { type: 'string' },
        chat: { type: 'string' },
      },
    },
  },
};

const route = routeOf('knowledge');

export const knowledgeRoutes: readonly Route[] = [
  route('GET', '/v1/knowledge', 'admin', {
    summary: 'Where documents come from, and how they are searched',
    description:
      'Folders, files, addresses and uploads, each with its state. `search.model` is the embedding model; without one, documents are found by words alone.',
    answer: z.object({
      sources: z.array(sourceJson),
      search: z.object({ model: z.string().optional(), isSet: z.boolean() }),
    }),
    async handle(c, deps) {
      const say = await sayToCaller(c, deps);
      const { sources, search } = await deps.gateway.knowledge.list();
      return c.json({ sources: sources.map((source) => wireSource(source, say)), search });
    },
  }),
  route('POST', '/v1/knowledge', 'admin', {
    summary: 'Give the bot a document',
    description: `A file in a form, at most ${inMegabytes(MAX_DOCUMENT_BYTES)}, or the address of a page or a document as JSON; for a profile (default: \`default\`) or a chat. Paths of the server are added on its command line alone. It is read in the background: its state is in \`GET /v1/knowledge\`. A file of the same name, or the same address, replaces what was there.`,
    body: addressOffer,
    upload: FORM,
    status: 202,
    answer: sourceJson,
    async handle(c, deps, read) {
      const { incoming } = c.env;
      const offer = isForm(incoming.headers['content-type'])
        ? await uploaded(c, deps)
        : addressed(await read());
      const source = await deps.gateway.knowledge.add(offer);
      return c.json(wireSource(source, await sayToCaller(c, deps)), 202);
    },
  }),
  route('GET', '/v1/knowledge/:id', 'admin', {
    summary: 'One source with its documents',
    description: 'Those that could not be read come first, each with its problem.',
    answer: z.object({ source: sourceJson, documents: z.array(documentJson) }),
    async handle(c, deps) {
      const listed = await deps.gateway.knowledge.documents(idIn(c));
      if (listed === undefined) throw noSource();
      const say = await sayToCaller(c, deps);
      const documents = listed.documents.map((document) => wireDocument(document, say));
      return c.json({ source: wireSource(listed.source, say), documents });
    },
  }),
  route('GET', '/v1/knowledge/:id/passages', 'admin', {
    summary: 'The passages of a document, in their order',
    description: 'By the id of the document. `context` is searched with a passage, and not part of it.',
    answer: z.object({ passages: z.array(passageJson) }),
    async handle(c, { gateway }) {
      const passages = await gateway.knowledge.passages(idIn(c));
      if (passages === undefined)
        throw new HttpError(404, 'document_not_found', 'There is no such document.');
      return c.json({ passages });
    },
  }),
  route('POST', '/v1/knowledge/:id/refresh', 'admin', {
    summary: 'Read what has changed',
    description: 'Now, instead of when it is due. What is unchanged is neither stored nor embedded again.',
    async handle(c, { gateway }) {
      const id = idIn(c);
      if (!(await gateway.knowledge.refresh(id))) throw noSource();
      return c.json({ id, refreshing: true });
    },
  }),
  route('DELETE', '/v1/knowledge/:id', 'admin', {
    summary: 'Remove a source with its documents',
    description: 'No later search finds them. Passages that answers cite stay with their chats.',
    async handle(c, { gateway }) {
      const id = idIn(c);
      if (!(await gateway.knowledge.remove(id))) throw noSource();
      return c.json({ id, deleted: true });
    },
  }),
  route('GET', '/v1/sessions/:key/citations', 'chat', {
    summary: 'The passages that answers of the session may cite',
    description: 'The model cites a passage by its number, as `[k3]`. A number that is not here was made up.',
    answer: z.object({ citations: z.array(citationJson) }),
    async handle(c, { gateway }) {
      const citations = await inSession(c, (caller, key) => gateway.knowledge.citations(caller, key));
      return c.json({ citations });
    },
  }),
  route('GET', '/v1/sessions/:key/citations/:number', 'chat', {
    summary: 'A cited passage in its document',
    description:
      'As it was when the model read it; `state` says whether the document is still the `same`, has `changed` since, or was `removed`. The passages around it are those of an unchanged document.',
    answer: citationJson.extend({
      content: z.string(),
      state: z.enum(['same', 'changed', 'removed']),
      before: z.array(z.string()),
      after: z.array(z.string()),
      url: z.string().optional(),
    }),
    async handle(c, { gateway }) {
      const text = c.req.param('number') ?? '';
      const number = /^\d{1,6}$/.test(text) ? Number(text) : undefined;
      const citation = await inSession(c, async (caller, key) =>
        number === undefined ? null : await gateway.knowledge.citation(caller, key, number),
      );
      if (citation === null)
        throw new HttpError(404, 'citation_not_found', 'The session has no such citation.');
      return c.json(citation);
    },
  }),
];

function idIn(c: HttpContext): string {
  return c.req.param('id') ?? '';
}

function noSource(): HttpError {
  return new HttpError(404, 'source_not_found', 'There is no such source of documents.');
}

function addressed({ url, ...whom }: z.output<typeof addressOffer>): KnowledgeOffer {
  return { scope: scopeFrom(whom), url };
}

/** Throws `HttpError` 400. */
function scopeFrom({
  profile,
  chat,
}: {
  profile?: string | undefined;
  chat?: string | undefined;
}): KnowledgeScope {
  if (profile !== undefined && chat !== undefined)
    throw new HttpError(400, 'invalid_body', 'Name a profile or a chat, not both.', { param: 'chat' });
  if (chat === undefined) return `profile/${profile ?? 'default'}`;
  if (isAddress(chat)) return `chat/${chat}`;
  throw new HttpError(400, 'invalid_body', '"chat" must be an address such as http:work.', {
    param: 'chat',
  });
}

/** The file of a form. Throws `HttpError`. */
async function uploaded(c: HttpContext, deps: HandlerDeps): Promise<KnowledgeOffer> {
  const { incoming, outgoing } = c.env;
  refuseEncodings(incoming);
  refuseLength(incoming, MAX_DOCUMENT_BYTES);
  const end = await deps.limits.beginUpload(c.get('caller'), 'http:knowledge');
  try {
    if (incoming.headers.expect !== undefined) outgoing.writeContinue();
    const upload = await readUpload(incoming, undefined);
    const chunks: Uint8Array[] = [];
    let bytes = 0;
    for await (const chunk of upload.chunks) {
      bytes += chunk.length;
      if (bytes > MAX_DOCUMENT_BYTES)
        throw new HttpError(413, 'file_too_large', `A file may have at most ${MAX_DOCUMENT_BYTES} bytes.`);
      chunks.push(chunk);
    }
    const { profile, chat } = Object.fromEntries(upload.fields);
    const scope = scopeFrom({ profile: profile || undefined, chat: chat || undefined });
    return { scope, upload: { name: upload.name, bytes: Buffer.concat(chunks) } };
  } finally {
    end();
  }
}

function wireSource(source: KnowledgeSource, say: Say) {
  const { instance: _, problem, notice, ...fields } = source;
  return { ...fields, ...worded({ problem, notice }, say) };
}

function wireDocument({ problem, notice, ...fields }: KnowledgeDocument, say: Say) {
  return { ...fields, ...worded({ problem, notice }, say) };
}

function worded(
  { problem, notice }: { problem?: string | undefined; notice?: string | undefined },
  say: Say,
) {
  return {
    ...(problem !== undefined && { problem: wordProblem(problem, say) }),
    ...(notice !== undefined && { notice: wordProblem(notice, say) }),
  };
}
