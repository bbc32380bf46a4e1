/** Responses of `/v1/responses` that a client may refer to for a while, by their ids and by those of their items. */
import type { SessionKey } from '../message.ts';

/** Responses stored for a token; past it, those used longest ago are deleted. */
export const MAX_RESPONSES = 1_000;
/** Bytes of JSON of a token's responses, and the same again for their inputs; past it, the oldest ones are deleted. */
export const MAX_RESPONSE_BYTES = 32 * 1024 * 1024;
/** Bytes of JSON of a conversation that is continued by the id of its last response. */
export const MAX_CHAIN_BYTES = 16 * 1024 * 1024;
/** How long a response is stored after it was last continued. */
export const RESPONSE_MS = 24 * 3_600_000;

/** An item of an input or an output, as it is on the wire. */
export type ResponseItem = Record<string, unknown>;

export interface StoredResponse {
  id: string;
  /** The response that it continues. */
  previousId: string | undefined;
  /** The session that it was made in: what came before is there. */
  session: SessionKey | undefined;
  /** The items of its request; undefined for one that was deleted because of its size. */
  input: readonly ResponseItem[] | undefined;
  /** As it was sent; `output` lists its items. */
  body: Record<string, unknown>;
}

/** The place of an item in a stored response. */
export interface ItemPlace {
  responseId: string;
  part: 'input' | 'output';
  index: number;
}

/**
 * A conversation that is continued by an id. `missing`: a response of it is no longer stored, or its input; `session`: it
 * is the conversation of that session; `bytes`: it is larger than `MAX_CHAIN_BYTES`.
 */
export type ResponseChain =
  | { items: ResponseItem[] }
  | { missing: string }
  | { session: SessionKey }
  | { bytes: number };

/** No method finds what another token stored. Throws only `StoreError`. */
export interface ResponseStore {
  /** `endUser`: whom the token's client answered, as its digest. A response of the same id is replaced. */
  storeResponse(
    owner: { tokenId: string; endUser: string | undefined },
    response: StoredResponse,
  ): Promise<void>;
  response(tokenId: string, id: string): Promise<StoredResponse | undefined>;
  /** The items at these places, in their order; undefined for each that is not there. */
  responseItems(tokenId: string, places: readonly ItemPlace[]): Promise<(ResponseItem | undefined)[]>;
  /** The items of that response and of those that it continues, the oldest first. */
  responseChain(tokenId: string, id: string): Promise<ResponseChain>;
  /** False when there is none. */
  deleteResponse(tokenId: string, id: string): Promise<boolean>;
  /** Deletes up to `limit` responses that are older than `RESPONSE_MS`; returns their number. */
  purgeResponses(limit: number): Promise<number>;
}
