/** Responses that clients refer to by id: the conversation before a request, single items of it, and the routes that read them. */
import type { Caller } from '../../../../src/protocol/access.ts';
import { toGatewayError } from '../../../../src/protocol/errors.ts';
import {
  type ItemPlace,
  RESPONSE_MS,
  type ResponseItem,
  type StoredResponse,
} from '../../../../src/protocol/store/ledger.ts';
import { MAX_MESSAGES } from '../../config.ts';
import { HttpError } from '../../errors.ts';
import { type HandlerDeps, type HttpContext, requestId } from '../../route.ts';
import { unsupported } from './fields.ts';
import { type Input, isReference } from './response-input.ts';
import { invalid } from './tool-fields.ts';

const STORED_HOURS = RESPONSE_MS / 3_600_000;

/**
 * The conversation of a request without a session: what it continues by id, and its own items with those that it refers
 * to. Throws `HttpError` 400 or 404 that names an id which is not stored, `StoreError`.
 */
export async function wholeInput(
  { gateway }: Pick<HandlerDeps, 'gateway'>,
  { tokenId }: Caller,
  input: Input,
  previousId: string | null | undefined,
): Promise<{ before: ResponseItem[]; own: ResponseItem[] }> {
  const items = itemsOf(input);
  const before = previousId == null ? [] : await chainOf(gateway.responses, tokenId, previousId);
  const references = items.flatMap((item, index) =>
    isReference(item) ? [{ id: String(item['id']), index }] : [],
  );
  const places = references.map(({ id, index }) => placeOf(id, index));
  const found = places.length === 0 ? [] : await gateway.responses.responseItems(tokenId, places);
  const stored = new Map(references.map(({ index }, nth) => [index, found[nth]]));
  const known = new Set(before.map(({ id }) => id));
  const own = items.flatMap((item, index) => {
    if (!isReference(item)) return [item];
    const { id } = item;
    const original = stored.get(index);
    if (original === undefined) throw noItem(String(id), index);
    // The conversation that is continued may contain it already.
    return known.has(id) ? [] : [original];
  });
  const count = before.length + own.length;
  if (count <= MAX_MESSAGES) return { before, own };
  throw invalid(
    'input',
    `with what it continues, it has ${count} items: at most ${MAX_MESSAGES} are accepted`,
  );
}

/** The items of an input: a text is a message of the user. */
export function itemsOf(input: Input): readonly ResponseItem[] {
  return typeof input === 'string' ? [{ role: 'user', content: input }] : input;
}

async function chainOf(
  responses: HandlerDeps['gateway']['responses'],
  tokenId: string,
  previousId: string,
): Promise<ResponseItem[]> {
  const param = 'previous_response_id';
  const chain = await responses.responseChain(tokenId, previousId);
  if ('items' in chain) return chain.items;
  if ('session' in chain) {
    const id = chain.session.replace(/^http:/, '');
    throw unsupported(param, `it belongs to a session: send the header "X-Session-Id: ${id}"`);
  }
  if ('bytes' in chain) {
    const text = 'The conversation is too large to be continued by its id: send its newest part as input.';
    throw new HttpError(413, 'too_large', text, { param });
  }
  const of = chain.missing === previousId ? '' : `, which "${previousId.slice(0, 80)}" continues,`;
  const text =
    `The response "${chain.missing.slice(0, 80)}"${of} is not stored: it is unknown to this token, was sent with ` +
    `"store": false, or is older than ${STORED_HOURS} hours. Send the whole conversation as input.`;
  throw new HttpError(400, 'previous_response_not_found', text, { param });
}

/** Ids of items contain that of their response: `fc_<response>_0`, and `msg_<response>_i0` for one of its input. */
const ITEM_ID = /^[a-z]{2,4}_(.{1,120})_(i?)(\d{1,6})$/;

function placeOf(id: string, index: number): ItemPlace {
  const [, response, inInput, at] = ITEM_ID.exec(id) ?? [];
  if (response === undefined) throw noItem(id, index);
  return { responseId: `resp_${response}`, part: inInput === 'i' ? 'input' : 'output', index: Number(at) };
}

function noItem(id: string, index: number): HttpError {
  const text =
    `The item "${id.slice(0, 80)}" is not stored: it is unknown to this token, belongs to a response with ` +
    `"store": false, or is older than ${STORED_HOURS} hours. Send the item itself.`;
  return new HttpError(404, 'item_not_found', text, { param: `input.${index}.id` });
}

/** Stores a finished response; false if that failed, which costs its client the ids but not the answer. Never throws. */
export async function keepResponse(
  c: HttpContext,
  { gateway, log }: HandlerDeps,
  endUser: string | undefined,
  response: StoredResponse,
): Promise<boolean> {
  try {
    await gateway.responses.storeResponse({ tokenId: c.get('caller').tokenId, endUser }, response);
    return true;
  } catch (error) {
    log.warn({ err: toGatewayError(error), requestId: requestId(c.env.outgoing) }, 'response_not_stored');
    return false;
  }
}

/** `GET /v1/responses/:id`. */
export async function readResponse(c: HttpContext, deps: HandlerDeps): Promise<Response> {
  if (c.req.query('stream') === 'true') throw unsupported('stream', 'a stored response is read as a whole');
  return c.json((await storedResponse(c, deps)).body);
}

/** `DELETE /v1/responses/:id`. Responses that continue it can no longer be continued. */
export async function deleteResponse(c: HttpContext, deps: HandlerDeps): Promise<Response> {
  const id = c.req.param('id') ?? '';
  if (!(await deps.gateway.responses.deleteResponse(c.get('caller').tokenId, id))) throw noResponse(id);
  return c.json({ id, object: 'response', deleted: true });
}

/** Most items on one page, and how many there are by default, as in OpenAI's API. */
const MAX_ITEMS_PAGE = 100;
const ITEMS_PAGE = 20;

/** `GET /v1/responses/:id/input_items`: the items of its request, the newest first unless `order=asc`. */
export async function listInputItems(c: HttpContext, deps: HandlerDeps): Promise<Response> {
  const { id, input = [] } = await storedResponse(c, deps);
  const items = input.map((item, index) => withId(item, id, index));
  if (c.req.query('order') !== 'asc') items.reverse();
  const limit = Number(c.req.query('limit') ?? ITEMS_PAGE);
  if (!Number.isInteger(limit) || limit < 1 || limit > MAX_ITEMS_PAGE) {
    const text = `"limit" must be 1 to ${MAX_ITEMS_PAGE}.`;
    throw new HttpError(400, 'invalid_query', text, { param: 'limit' });
  }
  const after = c.req.query('after');
  const from = after === undefined ? 0 : items.findIndex((item) => item['id'] === after) + 1;
  if (after !== undefined && from === 0) {
    throw new HttpError(400, 'invalid_query', '"after" must be the id of an item.', { param: 'after' });
  }
  const data = items.slice(from, from + limit);
  return c.json({
    object: 'list',
    data,
    first_id: data[0]?.['id'] ?? null,
    last_id: data.at(-1)?.['id'] ?? null,
    has_more: items.length > from + limit,
  });
}

async function storedResponse(c: HttpContext, { gateway }: HandlerDeps): Promise<StoredResponse> {
  const id = c.req.param('id') ?? '';
  const stored = await gateway.responses.response(c.get('caller').tokenId, id);
  if (stored === undefined) throw noResponse(id);
  return stored;
}

function noResponse(id: string): HttpError {
  const text = `There is no response "${id.slice(0, 80)}" that this token has stored.`;
  return new HttpError(404, 'response_not_found', text, { param: 'id' });
}

const PREFIXES: Readonly<Record<string, string>> = {
  function_call: 'fc',
  function_call_output: 'fco',
  reasoning: 'rs',
};

/** An item of an input with what every item of a list has. */
function withId(item: ResponseItem, responseId: string, index: number): ResponseItem {
  const type = typeof item['type'] === 'string' ? item['type'] : 'message';
  const id = `${PREFIXES[type] ?? 'msg'}_${responseId.replace(/^resp_/, '')}_i${index}`;
  const { content } = item;
  const part = { type: item['role'] === 'assistant' ? 'output_text' : 'input_text', text: content };
  return {
    status: 'completed',
    ...item,
    type,
    id,
    ...(typeof content === 'string' && { content: [part] }),
  };
}
