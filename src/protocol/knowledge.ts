/** Documents that people give the bot: where they come from, their passages, and the citations of answers. */
import { z } from 'zod';
import type { Caller } from './access.ts';
import type { Source } from './agent/risk.ts';
import type { Address, SessionKey } from './message.ts';
import type { Vector } from './store/notes.ts';
import { inEnglish, readStoredText, type Say } from './texts/say.ts';

/** Files of one folder that are read: the first by their paths. */
export const MAX_FOLDER_FILES = 5_000;
/** Largest document, in bytes. */
export const MAX_DOCUMENT_BYTES = 25_000_000;
/** Passages of one document that are searched: the first. */
export const MAX_DOCUMENT_PASSAGES = 2_000;
/** Documents of one profile or chat, whatever they come from. */
export const MAX_SCOPE_DOCUMENTS = 10_000;
/** Longest time to fetch and read one document, in milliseconds. */
export const DOCUMENT_MS = 60_000;
/** Calls to the embedding model in a minute, so that chats on the same server do not wait for documents. */
export const EMBEDDING_CALLS_PER_MINUTE = 60;

/** The tool that searches them. */
export const SEARCH_KNOWLEDGE = 'search_knowledge';

/** Who may read a document: every chat of a profile, or one chat. */
export type KnowledgeScope = `profile/${string}` | `chat/${Address}`;

export type SourceKind = 'folder' | 'file' | 'url' | 'upload';

/** Where documents come from. */
export interface NewSource {
  scope: KnowledgeScope;
  kind: SourceKind;
  /** Absolute path, address, or the name of the uploaded file. */
  location: string;
  /** The home whose machine has the path; absent for an address or an upload. */
  instance?: string | undefined;
  /** The content of an upload, until it has been read. */
  upload?: Uint8Array | undefined;
}

/** A source as lists show it. */
export interface KnowledgeSource extends Omit<NewSource, 'upload'> {
  id: string;
  /** `waiting`: it will be read soon; `failed`: the source itself could not be read. */
  state: 'waiting' | 'reading' | 'ready' | 'failed';
  /** Why it failed, for `wordProblem`. */
  problem?: string | undefined;
  /** Limits that left something out, for `wordProblem`. */
  notice?: string | undefined;
  /** Documents that it has, as far as they are counted. */
  total?: number | undefined;
  documents: number;
  /** Documents that could not be read. */
  failed: number;
  passages: number;
  /** Those that are found by meaning, too. */
  vectors: number;
  createdAt: Date;
  /** When it was last read completely. */
  checkedAt?: Date | undefined;
}

/** A source whose turn it is, held by whoever reads it. */
export interface ClaimedSource {
  id: string;
  scope: KnowledgeScope;
  kind: SourceKind;
  location: string;
}

/** Where a passage is in its document. */
export const placeShape = z.object({
  page: z.int().optional(),
  /** From the outermost heading to the nearest; for tables, the name of the sheet. */
  headings: z.array(z.string()).optional(),
  /** First and last line, counted from 1; of plain text alone. */
  lines: z.tuple([z.int(), z.int()]).optional(),
});

export type PassagePlace = z.infer<typeof placeShape>;

/** A part of a document that is found as one. */
export interface NewPassage {
  /** Of everything that is searched, hexadecimal: a passage with the same hash is neither stored nor embedded again. */
  hash: string;
  place: PassagePlace;
  /** Searched with the content, and not part of it: title, headings, the end of the passage before. */
  context: string;
  content: string;
}

/** What one reading of a document found. */
export interface ReadDocument {
  /** Within its source: the path below the folder, the address, the file name. */
  name: string;
  title: string;
  /** SHA-256 of its bytes, hexadecimal. */
  version: string;
  bytes: number;
  /** What tells without reading that it is unchanged: size and time of a file, ETag of an address. */
  mark?: string | undefined;
  /** Why nothing could be read, for `wordProblem`. */
  problem?: string | undefined;
  /** Limits that left something out, for `wordProblem`. */
  notice?: string | undefined;
  passages: readonly NewPassage[];
}

/** A document as lists show it. */
export interface KnowledgeDocument extends Omit<ReadDocument, 'passages' | 'mark'> {
  id: string;
  passages: number;
  updatedAt: Date;
}

/** A passage that a search found. */
export interface FoundPassage {
  id: number;
  documentId: string;
  sourceId: string;
  kind: SourceKind;
  /** Of its source. */
  location: string;
  instance?: string | undefined;
  /** Of its document. */
  name: string;
  title: string;
  version: string;
  hash: string;
  place: PassagePlace;
  content: string;
}

/** A passage that a session's model was given: it stays as it was, whatever becomes of its document. */
export interface Citation {
  /** As the model cites it: 3 for `[k3]`. */
  number: number;
  documentId: string;
  title: string;
  place: PassagePlace;
}

/** A citation that is opened. */
export interface OpenedCitation extends Citation {
  content: string;
  /** The document now: as it was, changed since, or no longer there. */
  state: 'same' | 'changed' | 'removed';
  /** Passages around it, of a document that is as it was; in their order. */
  before: readonly string[];
  after: readonly string[];
  /** An address that shows the whole document. */
  url?: string | undefined;
}

/** What stores documents. Throws only `StoreError`. */
export interface KnowledgeStore {
  /** Adds a source, or has the one with this scope and location read again; returns its id. */
  addSource(source: NewSource): Promise<string>;
  sources(scope?: KnowledgeScope): Promise<KnowledgeSource[]>;
  /** False when there is none. Its documents leave the search at once. */
  removeSource(id: string): Promise<boolean>;
  /** Has sources read again as soon as possible; all without an id. Returns their number. */
  refreshSources(id?: string): Promise<number>;
  /** The scopes that have a source. */
  scopes(): Promise<KnowledgeScope[]>;
  /** A source that is due, or whose reader has died, and that no living process holds, one of `ids` if given; `instance` is this home. */
  claimSource(
    by: string,
    instance: string,
    leaseMs: number,
    ids?: readonly string[],
  ): Promise<ClaimedSource | undefined>;
  /** Extends the lease; false when it was lost, or the source is gone. `total` is the number of its documents. */
  holdSource(id: string, by: string, leaseMs: number, total?: number): Promise<boolean>;
  /** Gives the source back; it is due again after `nextMs`, never without, or at once when that was asked meanwhile. */
  finishSource(
    id: string,
    by: string,
    result: { problem?: string | undefined; notice?: string | undefined; nextMs?: number | undefined },
  ): Promise<void>;
  documents(sourceId: string): Promise<KnowledgeDocument[]>;
  /** By name: what tells that a document is unchanged, and whether it could be read. */
  documentMarks(sourceId: string): Promise<Map<string, { mark?: string; version: string; failed: boolean }>>;
  /** The bytes of an upload that were not read yet. */
  uploadOf(sourceId: string): Promise<Uint8Array | undefined>;
  /**
   * Stores what was read. Passages that the document had stay with their vectors; only their place is changed, and only
   * where it differs. False when the source is gone, or the scope has `MAX_SCOPE_DOCUMENTS` others.
   */
  saveDocument(sourceId: string, document: ReadDocument): Promise<boolean>;
  /** Notes that an unchanged document has this mark now. */
  markDocument(sourceId: string, name: string, mark: string | undefined): Promise<void>;
  /** Deletes the documents of a source except these. */
  keepDocuments(sourceId: string, names: readonly string[]): Promise<number>;
  /** The passages of a document in their order. */
  passages(documentId: string): Promise<(NewPassage & { position: number })[] | undefined>;
}

/** What searches them. Throws only `StoreError`. */
export interface PassageStore {
  /** By words, best first: rare words count more than frequent ones. */
  byWords(scopes: readonly KnowledgeScope[], query: string, limit: number): Promise<FoundPassage[]>;
  /** Vectors of this model with their passages' ids, ascending, those after the id `after`. */
  vectorsOf(
    scopes: readonly KnowledgeScope[],
    model: string,
    page: { after: number; limit: number },
  ): Promise<{ id: number; vector: Vector }[]>;
  /** In the order of the ids; those that are gone are left out. */
  byIds(scopes: readonly KnowledgeScope[], ids: readonly number[]): Promise<FoundPassage[]>;
  /** The largest id; undefined without passages. */
  newestPassage(): Promise<number | undefined>;
  /** The model of the newest vectors. */
  vectorModel(): Promise<string | undefined>;
  withoutVector(model: string, limit: number): Promise<{ id: number; text: string }[]>;
  setVectors(model: string, vectors: readonly { id: number; vector: Vector }[]): Promise<void>;
  dropOtherLengths(model: string, length: number): Promise<number>;
}

/** What keeps citations. Throws only `StoreError`. */
export interface CitationStore {
  /** Numbers passages for a session, in their order; one that it was given before keeps its number. */
  cite(session: SessionKey, turnId: string, passages: readonly FoundPassage[]): Promise<number[]>;
  /** Those of these numbers that exist, ascending; all without numbers. */
  citations(session: SessionKey, numbers?: readonly number[]): Promise<Citation[]>;
  openCitation(session: SessionKey, number: number): Promise<OpenedCitation | undefined>;
}

/** Which ways of searching are on. */
export interface KnowledgeSearch {
  /** The embedding model; absent = by words alone. */
  model?: string | undefined;
  /** The setting names it; otherwise it was found on the server. */
  isSet: boolean;
}

/** What a search tells the model. */
export interface SearchResult {
  number: number;
  passage: FoundPassage;
  source: Source;
}

/** The knowledge as turns use it. */
export interface TurnKnowledge {
  /** Whether a chat under this profile has documents, by what was last read; never waits. */
  has(profileId: string, address: Address): boolean;
  /** Passages for a query, best first, numbered for the session. Throws `StoreError`. */
  search(
    asked: { profileId: string; address: Address; sessionKey: SessionKey; turnId: string; userId: string },
    query: string,
    limit: number,
  ): Promise<SearchResult[]>;
  /** The citations in a text; numbers that the session was never given are counted. Never throws. */
  cited(session: SessionKey, text: string): Promise<Citation[]>;
}

/** An upload or an address of an administrator; never a path of the server. */
export interface KnowledgeOffer {
  scope: KnowledgeScope;
  url?: string | undefined;
  upload?: { name: string; bytes: Uint8Array } | undefined;
}

/** What answers of a session cite, for whoever may read it. Methods throw only `StoreError`. */
export interface CitationApi {
  /** Undefined for a session that the caller may not see. */
  citations(caller: Caller, key: SessionKey): Promise<Citation[] | undefined>;
  /** Null when the session has no such citation. */
  citation(caller: Caller, key: SessionKey, number: number): Promise<OpenedCitation | null | undefined>;
  /** Those of the session in a text. */
  citedIn(key: SessionKey, text: string): Promise<Citation[]>;
}

/** The rest is for admin tokens, which the channel has checked. Methods throw only `GatewayError`. */
export interface KnowledgeApi extends CitationApi {
  list(): Promise<{ sources: KnowledgeSource[]; search: KnowledgeSearch }>;
  /** Throws `bad_name`, `bad_url`, `too_large`. */
  add(offer: KnowledgeOffer): Promise<KnowledgeSource>;
  documents(id: string): Promise<{ source: KnowledgeSource; documents: KnowledgeDocument[] } | undefined>;
  passages(documentId: string): Promise<(NewPassage & { position: number })[] | undefined>;
  refresh(id: string): Promise<boolean>;
  remove(id: string): Promise<boolean>;
}

/** How the model cites: `[k3]`. */
export const CITATION = /\[k(\d{1,6})\]/g;

/** The numbers that a text cites, each once, in their order. */
export function citedNumbers(text: string): number[] {
  return [...new Set(Array.from(text.matchAll(CITATION), ([, number]) => Number(number)))];
}

/** The scopes that a turn reads: its profile's, its chat's, and for a thread that of the whole chat. */
export function scopesOf(profileId: string, address: Address, chat: Address): KnowledgeScope[] {
  const scopes: KnowledgeScope[] = [`profile/${profileId}`, `chat/${address}`];
  return chat === address ? scopes : [...scopes, `chat/${chat}`];
}

/** Stored problems or notices, one a line, in words: those of the gateway itself, and others as they are. Never throws. */
export function wordProblem(stored: string, say: Say = inEnglish): string {
  return stored
    .split('\n')
    .map((line) => {
      const ref = readStoredText(line);
      return ref === undefined ? line : say.text(ref);
    })
    .join(' ');
}

/** A place in words: `page 3, Travel › Costs, lines 10-24`. */
export function describePlace({ page, headings = [], lines }: PassagePlace, say: Say = inEnglish): string {
  return [
    ...(page === undefined ? [] : [say('knowledge.page', { page })]),
    ...(headings.length === 0 ? [] : [headings.join(' › ')]),
    ...(lines === undefined ? [] : [say('knowledge.lines', { from: lines[0], to: lines[1] })]),
  ].join(', ');
}
