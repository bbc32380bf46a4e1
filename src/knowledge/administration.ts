/** What operators do with sources: see, add, read again and remove them. */
import type { Caller } from '../protocol/access.ts';
import { GatewayError } from '../protocol/errors.ts';
import {
  type CitationApi,
  citedNumbers,
  type CitationStore,
  type KnowledgeApi,
  type KnowledgeOffer,
  type KnowledgeSearch,
  type KnowledgeStore,
  MAX_DOCUMENT_BYTES,
  type NewSource,
} from '../protocol/knowledge.ts';
import type { SessionKey } from '../protocol/message.ts';
import { cleanText, inMegabytes, oneLine } from '../lib/text.ts';

/** Longest name of an upload, in UTF-16 units. */
const MAX_NAME_CHARS = 200;

/** Makes the functions; `onChange` is called after each change. */
export function createAdministration(
  store: KnowledgeStore,
  search: () => KnowledgeSearch,
  onChange: () => Promise<void>,
): Omit<KnowledgeApi, keyof CitationApi> {
  const find = async (id: string) => (await store.sources()).find((source) => source.id === id);
  return {
    list: async () => ({ sources: await store.sources(), search: search() }),
    async add(offer) {
      const id = await store.addSource(sourceOf(offer));
      await onChange();
      const source = await find(id);
      if (source === undefined) throw new GatewayError('not_found', 'The source was removed at this moment.');
      return source;
    },
    async documents(id) {
      const source = await find(id);
      return source && { source, documents: await store.documents(id) };
    },
    passages: (documentId) => store.passages(documentId),
    async refresh(id) {
      const isThere = (await store.refreshSources(id)) > 0;
      if (isThere) await onChange();
      return isThere;
    },
    async remove(id) {
      const isThere = await store.removeSource(id);
      if (isThere) await onChange();
      return isThere;
    },
  };
}

/** The API of clients; `mayRead` says whether the caller may see a session. */
export function createKnowledgeApi(
  {
    administration,
    citations,
  }: { administration: Omit<KnowledgeApi, keyof CitationApi>; citations: CitationStore },
  mayRead: (caller: Caller, key: SessionKey) => Promise<boolean>,
): KnowledgeApi {
  return {
    ...administration,
    citations: async (caller, key) =>
      (await mayRead(caller, key)) ? await citations.citations(key) : undefined,
    citation: async (caller, key, number) =>
      (await mayRead(caller, key)) ? ((await citations.openCitation(key, number)) ?? null) : undefined,
    async citedIn(key, text) {
      const numbers = citedNumbers(text);
      return numbers.length === 0 ? [] : await citations.citations(key, numbers);
    },
  };
}

/** Throws `GatewayError`: `bad_url`, `bad_name`, `too_large`. */
function sourceOf({ scope, url, upload }: KnowledgeOffer): NewSource {
  if (upload !== undefined) {
    const location = oneLine(cleanText(upload.name)).slice(0, MAX_NAME_CHARS).toWellFormed().trim();
    if (location === '') throw new GatewayError('bad_name', 'The file needs a name.');
    if (upload.bytes.length > MAX_DOCUMENT_BYTES) {
      const most = inMegabytes(MAX_DOCUMENT_BYTES);
      throw new GatewayError('too_large', `A document may have at most ${most}.`);
    }
    return { scope, kind: 'upload', location, upload: upload.bytes };
  }
  return { scope, kind: 'url', location: addressFrom(url ?? '') };
}

/** The address of a page or a document, without its fragment. Throws `GatewayError('bad_url')`. */
export function addressFrom(text: string): string {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol) || url.username !== '' || url.password !== '')
    throw new GatewayError('bad_url', 'That is no address: write http://… or https://…, without a password.');
  url.hash = '';
  return url.href;
}
