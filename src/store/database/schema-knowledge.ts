/** The tables of knowledge: where documents come from, the documents, their passages, and what answers were made from. */
import {
  bigint,
  bytea,
  createdAt,
  index,
  integer,
  jsonb,
  moment,
  pgTable,
  primaryKey,
  text,
  tsvector,
  unique,
} from './drizzle.ts';
import type { PassagePlace } from '../../protocol/knowledge.ts';

/** A folder, file, address or upload; `instance` is the home whose machine has the path. Due at `next_at`, null = never. */
export const knowledgeSource = pgTable(
  'knowledge_source',
  {
    id: text('id').primaryKey(),
    scope: text('scope').notNull(),
    kind: text('kind', { enum: ['folder', 'file', 'url', 'upload'] }).notNull(),
    location: text('location').notNull(),
    instance: text('instance'),
    problem: text('problem'),
    notice: text('notice'),
    total: integer('total'),
    upload: bytea('upload'),
    leaseBy: text('lease_by'),
    leaseUntil: moment('lease_until'),
    nextAt: moment('next_at'),
    checkedAt: moment('checked_at'),
    createdAt: createdAt(),
  },
  (t) => [
    unique('knowledge_source_location').on(t.scope, t.location),
    index('knowledge_source_due').on(t.nextAt),
  ],
);

/** `version` is the SHA-256 of its bytes, `mark` what tells without reading that it is unchanged. */
export const knowledgeDocument = pgTable(
  'knowledge_document',
  {
    id: text('id').primaryKey(),
    sourceId: text('source_id').notNull(),
    scope: text('scope').notNull(),
    name: text('name').notNull(),
    title: text('title').notNull(),
    version: text('version').notNull(),
    mark: text('mark'),
    bytes: bigint('bytes', { mode: 'number' }).notNull(),
    problem: text('problem'),
    notice: text('notice'),
    updatedAt: moment('updated_at').notNull().defaultNow(),
  },
  (t) => [
    unique('knowledge_document_name').on(t.sourceId, t.name),
    index('knowledge_document_scope').on(t.scope),
  ],
);

/** What is searched. `words` are of context and content; the vector has one byte per dimension, as in `memory`. */
export const knowledgePassage = pgTable(
  'knowledge_passage',
  {
    id: bigint('id', { mode: 'number' }).primaryKey().generatedAlwaysAsIdentity(),
    documentId: text('document_id').notNull(),
    scope: text('scope').notNull(),
    position: integer('position').notNull(),
    hash: text('hash').notNull(),
    place: jsonb('place').$type<PassagePlace>().notNull(),
    context: text('context').notNull(),
    content: text('content').notNull(),
    words: tsvector('words').notNull(),
    vector: bytea('vector'),
    vectorModel: text('vector_model'),
  },
  (t) => [
    index('knowledge_passage_document').on(t.documentId, t.position),
    index('knowledge_passage_scope').on(t.scope, t.id),
    index('knowledge_passage_words').using('gin', t.words),
  ],
);

/** A passage that a session's model was given, as it was then. */
export const knowledgeCitation = pgTable(
  'knowledge_citation',
  {
    session: text('session').notNull(),
    number: integer('number').notNull(),
    turnId: text('turn_id').notNull(),
    documentId: text('document_id').notNull(),
    version: text('version').notNull(),
    hash: text('hash').notNull(),
    title: text('title').notNull(),
    place: jsonb('place').$type<PassagePlace>().notNull(),
    content: text('content').notNull(),
    createdAt: createdAt(),
  },
  (t) => [
    primaryKey({ columns: [t.session, t.number] }),
    unique('knowledge_citation_passage').on(t.session, t.documentId, t.version, t.hash),
    index('knowledge_citation_turn').on(t.turnId),
  ],
);
