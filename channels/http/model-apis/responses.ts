/** `POST /v1/responses`: the newer of OpenAI's two routes for answers. */
import { z } from 'zod';
import type { Caller } from '../../../src/protocol/access.ts';
import { toGatewayError } from '../../../src/protocol/errors.ts';
import type { SessionKey } from '../../../src/protocol/message.ts';
import {
  type ItemPlace,
  RESPONSE_MS,
  type ResponseItem,
  type StoredResponse,
} from '../../../src/protocol/store/ledger.ts';
import { timeOf } from '../../../src/lib/ids.ts';
import { MAX_MESSAGES } from '../config.ts';
import { badQuery, type FieldNames, HttpError } from '../errors.ts';
import { sessionIdOf } from '../inbound.ts';
import {
  EVENT_STREAM,
  type HandlerDeps,
  type HttpContext,
  requestId,
  type Route,
  routeOf,
} from '../route.ts';
import { answerCall, wantsGatewayTools } from './calls.ts';
import { invalid, RESPONSE_FIELDS, unsupported } from './fields.ts';
import { type ResponseHead, streamedResponse, wholeResponse } from './response-answer.ts';
import {
  type Input,
  inputContext,
  inputForSession,
  inputInstructions,
  isReference,
} from './response-input.ts';
import { offeredTools, type ResponseBody, responseOptions, responseSchema } from './response-request.ts';

const FIELD_NAMES: FieldNames = {
  tools: 'tools',
  toolChoice: 'tool_choice',
  reasoningEffort: 'reasoning.effort',
  format: 'text.format',
};

const ID_PREFIX = 'resp_';

/** Names the tools of a request that are not offered to the model. */
const OMITTED_TOOLS = 'x-omitted-tools';

const STORED_HOURS = RESPONSE_MS / 3_600_000;

/** Ids of items contain that of their response: `fc_<response>_0`, and `msg_<response>_i0` for one of its input. */
const ITEM_ID = /^[a-z]{2,4}_(.{1,120})_(i?)(\d{1,6})$/;

/** Most items on one page, and how many there are by default, as in OpenAI's API. */
const MAX_ITEMS_PAGE = 100;

const ITEMS_PAGE = 20;

const PREFIXES: Readonly<Record<string, string>> = {
  function_call: 'fc',
  function_call_output: 'fco',
  reasoning: 'rs',
};

const responseJson = z.looseObject({
  id: z.string(),
  object: z.literal('response'),
  created_at: z.number(),
  status: z.enum(['completed', 'incomplete']),
  model: z.string(),
  output: z.array(z.looseObject({ id: z.string(), type: z.string() })),
  store: z.literal(true),
});

const route = routeOf('openai');

export const responseRoutes: readonly Route[] = [
  route('POST', '/v1/responses', 'chat', {
    summary: 'Responses; with X-Session-Id in a session',
    description:
      "The newer of OpenAI's two routes, over the same sessions, tools and limits as chat completions. A field that changes the answer is supported or refused by name.",
    body: responseSchema,
    fields: RESPONSE_FIELDS,
    carriesFiles: true,
    others: [EVENT_STREAM],
    async handle(c, deps, read) {
      const { incoming, outgoing } = c.env;
      const body = await read();
      const tools = offeredTools(body.tools ?? []);
      const options = responseOptions(body, tools, wantsGatewayTools(incoming));
      const sessionId = sessionIdOf(incoming);
      const { instructions, previous_response_id: previousId } = body;
      if (sessionId !== undefined) await checkPrevious(c, deps, sessionId, previousId);
      const { before, own } =
        sessionId === undefined
          ? await wholeInput(deps, c.get('caller'), body.input, previousId)
          : { before: [], own: itemsOf(body.input) };
      const input = [...before, ...own];
      if (tools.omitted.length > 0) outgoing.setHeader(OMITTED_TOOLS, tools.omitted.join(', '));
      const head = (id: string): ResponseHead => ({
        id: `${ID_PREFIX}${id}`,
        created_at: Math.floor(timeOf(id) / 1_000),
        model: body.model ?? 'default',
        asked: requestFields(body),
        names: tools.names,
        async cited(text) {
          if (sessionId === undefined) return [];
          try {
            return await deps.gateway.knowledge.citedIn(`http:${sessionId}`, text);
          } catch (error) {
            deps.log.warn({ err: toGatewayError(error), response: id }, 'citations_not_read');
            return [];
          }
        },
        async keep(response) {
          if (body.store === false) return false;
          return await keepResponse(c, deps, body.user, {
            id: String(response['id']),
            previousId: sessionId === undefined ? (previousId ?? undefined) : undefined,
            session: sessionId === undefined ? undefined : `http:${sessionId}`,
            input: own,
            body: response,
          });
        },
      });
      return await answerCall(c, deps, {
        sessionId,
        user: body.user,
        model: body.model ?? 'default',
        stream: body.stream === true,
        options,
        context: () => inputContext(input, instructions),
        input: () => inputForSession(input),
        instructions: () => inputInstructions(input, instructions),
        streamed: (id, stream, refuse) => streamedResponse(stream, head(id), refuse),
        whole: (id, refuse) => wholeResponse(outgoing, head(id), refuse),
        fieldNames: FIELD_NAMES,
      });
    },
  }),
  route('GET', '/v1/responses/:id', 'chat', {
    summary: 'A stored response',
    description:
      'Of this token, for as long as it is kept; one of another token looks as if it did not exist.',
    answer: responseJson,
    async handle(c, deps) {
      if (c.req.query('stream') === 'true')
        throw unsupported('stream', 'a stored response is read as a whole');
      return c.json((await storedResponse(c, deps)).body);
    },
  }),
  route('DELETE', '/v1/responses/:id', 'chat', {
    summary: 'Delete a stored response',
    description: 'Responses that continue it can no longer be continued by id.',
    answer: z.object({ id: z.string(), object: z.literal('response'), deleted: z.literal(true) }),
    async handle(c, deps) {
      const id = c.req.param('id') ?? '';
      if (!(await deps.gateway.responses.deleteResponse(c.get('caller').tokenId, id))) throw noResponse(id);
      return c.json({ id, object: 'response', deleted: true });
    },
  }),
  route('GET', '/v1/responses/:id/input_items', 'chat', {
    summary: 'The items of its request',
    description: 'The newest first, in pages.',
    query: {
      limit: '1 to 100; 20 by default',
      order: '`asc`: the oldest first',
      after: 'the id of the last item of the page before',
    },
    answer: z.object({
      object: z.literal('list'),
      data: z.array(z.looseObject({ id: z.string(), type: z.string() })),
      first_id: z.string().nullable(),
      last_id: z.string().nullable(),
      has_more: z.boolean(),
    }),
    async handle(c, deps) {
      const { id, input = [] } = await storedResponse(c, deps);
      const items = input.map((item, index) => withId(item, id, index));
      if (c.req.query('order') !== 'asc') items.reverse();
      const limit = Number(c.req.query('limit') ?? ITEMS_PAGE);
      if (!Number.isInteger(limit) || limit < 1 || limit > MAX_ITEMS_PAGE)
        throw badQuery('limit', `1 to ${MAX_ITEMS_PAGE}`);
      const lastItemId = c.req.query('after');
      const from = lastItemId === undefined ? 0 : items.findIndex((item) => item['id'] === lastItemId) + 1;
      if (lastItemId !== undefined && from === 0) throw badQuery('after', 'the id of an item');
      const data = items.slice(from, from + limit);
      return c.json({
        object: 'list',
        data,
        first_id: data[0]?.['id'] ?? null,
        last_id: data.at(-1)?.['id'] ?? null,
        has_more: items.length > from + limit,
      });
    },
  }),
];

/** In a session, a response continues its newest one. Throws `HttpError` 400. */
async function checkPrevious(
  c: HttpContext,
  deps: HandlerDeps,
  sessionId: string,
  previous: string | null | undefined,
): Promise<void> {
  if (previous == null) return;
  const key: SessionKey = `http:${sessionId}`;
  const [newest] = (await deps.gateway.messages(c.get('caller'), key, { limit: 1 })) ?? [];
  const turnId = newest?.turnId;
  if (turnId !== undefined && turnIdOf(previous) === turnId) return;
  throw unsupported('previous_response_id', 'it is not the newest response of this session');
}

/** A turn that was continued after its caller's tools has several responses: `resp_<turn>`, `resp_<turn>.1`, … */
function turnIdOf(responseId: string): string {
  return responseId.slice(ID_PREFIX.length).replace(/\.\d{1,9}$/, '');
}

function requestFields(body: ResponseBody): ResponseHead['asked'] {
  const { instructions, tools, tool_choice, temperature, top_p, max_output_tokens, text, reasoning } = body;
  return {
    instructions: instructions ?? null,
    max_output_tokens: max_output_tokens ?? null,
    metadata: body.metadata ?? {},
    parallel_tool_calls: body.parallel_tool_calls ?? true,
    previous_response_id: body.previous_response_id ?? null,
    reasoning: reasoning ?? { effort: null, summary: null },
    store: body.store !== false,
    temperature: temperature ?? null,
    text: text ?? { format: { type: 'text' } },
    tool_choice: tool_choice ?? 'auto',
    tools: tools ?? [],
    top_p: top_p ?? null,
    truncation: 'disabled',
  };
}

/** The conversation of a request without a session. Throws `HttpError` 400 or 404 for an id not stored, `StoreError`. */
async function wholeInput(
  { gateway }: HandlerDeps,
  { tokenId }: Caller,
  input: Input,
  previousId: string | null | undefined,
): Promise<{ before: ResponseItem[]; own: ResponseItem[] }> {
  const items = itemsOf(input);
  const earlierItems = previousId == null ? [] : await chainOf(gateway.responses, tokenId, previousId);
  const references = items.flatMap((item, index) =>
    isReference(item) ? [{ id: String(item['id']), index }] : [],
  );
  const places = references.map(({ id, index }) => placeOf(id, index));
  const storedItems = places.length === 0 ? [] : await gateway.responses.responseItems(tokenId, places);
  const originals = new Map(references.map(({ index }, nth) => [index, storedItems[nth]]));
  const earlierIds = new Set(earlierItems.map(({ id }) => id));
  const newItems = items.flatMap((item, index) => {
    if (!isReference(item)) return [item];
    const { id } = item;
    const original = originals.get(index);
    if (original === undefined) throw noItem(String(id), index);
    // The conversation that is continued may contain it already.
    return earlierIds.has(id) ? [] : [original];
  });
  const count = earlierItems.length + newItems.length;
  if (count <= MAX_MESSAGES) return { before: earlierItems, own: newItems };
  throw invalid(
    'input',
    `with what it continues, it has ${count} items: at most ${MAX_MESSAGES} are accepted`,
  );
}

/** The items of an input: a text is a message of the user. */
function itemsOf(input: Input): readonly ResponseItem[] {
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
async function keepResponse(
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

async function storedResponse(c: HttpContext, { gateway }: HandlerDeps): Promise<StoredResponse> {
  const id = c.req.param('id') ?? '';
  const response = await gateway.responses.response(c.get('caller').tokenId, id);
  if (response === undefined) throw noResponse(id);
  return response;
}

function noResponse(id: string): HttpError {
  const text = `There is no response "${id.slice(0, 80)}" that this token has stored.`;
  return new HttpError(404, 'response_not_found', text, { param: 'id' });
}

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
