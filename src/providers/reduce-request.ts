/** A request without the parts that its server refuses, and how its messages are written for it. */
import { hash } from 'node:crypto';
import { type Picture, unreadablePictures, unseenPictures } from '../protocol/media.ts';
import { mcpServerOf, type Omission } from '../protocol/agent/omissions.ts';
import type { ChatMessage, ChatRequest, ToolSchema } from '../protocol/agent/provider.ts';
import type { TtlCache } from '../lib/ttl-cache.ts';
import type { Shape } from './shape.ts';

/** Pictures that the server could not read, by their digest. */
type Unreadable = TtlCache<true>;

/** The request without these parts; the same object when nothing changes. Never throws. */
export function reduceRequest(request: ChatRequest, omitted: ReadonlySet<Omission>): ChatRequest {
  if (omitted.size === 0) return request;
  const { tools: allTools = [], toolChoice, parallelToolCalls, ...rest } = request;
  const tools = offeredTools(allTools, omitted);
  const isOffered = typeof toolChoice !== 'object' || tools.some(({ name }) => name === toolChoice.name);
  return {
    ...rest,
    ...(omitted.has('tool_schemas') && { reducedSchemas: true }),
    ...(omitted.has('echoes') && { echo: false }),
    messages: messagesWithout(request.messages, omitted),
    ...(tools.length > 0 && { tools, toolChoice: isOffered ? toolChoice : undefined, parallelToolCalls }),
  };
}

/** How messages are written without these parts. A model without tools reads what tools did as text. */
export function shapeFor(omitted: ReadonlySet<Omission>, hasTools: boolean): Shape {
  const asText = !hasTools || omitted.has('tools') || omitted.has('tool_exchanges');
  return {
    system: omitted.has('system_role') ? 'fold' : 'lead',
    exchanges: asText ? 'text' : omitted.has('parallel_calls') ? 'single' : 'native',
  };
}

/** Lists that were filtered before: their identity is the key of other caches. */
const filtered = new WeakMap<readonly ToolSchema[], Map<string, readonly ToolSchema[]>>();

function offeredTools(tools: readonly ToolSchema[], omitted: ReadonlySet<Omission>): readonly ToolSchema[] {
  if (omitted.has('tools')) return [];
  const servers = [...omitted].flatMap((part) => mcpServerOf(part) ?? []).toSorted();
  return servers.length === 0 ? tools : withoutServers(tools, servers);
}

function withoutServers(tools: readonly ToolSchema[], servers: readonly string[]): readonly ToolSchema[] {
  const lists = filtered.get(tools) ?? new Map<string, readonly ToolSchema[]>();
  filtered.set(tools, lists);
  const key = servers.join(' ');
  const list =
    lists.get(key) ?? tools.filter(({ server }) => server === undefined || !servers.includes(server));
  lists.set(key, list);
  return list;
}

function messagesWithout(
  messages: readonly ChatMessage[],
  omitted: ReadonlySet<Omission>,
): readonly ChatMessage[] {
  if (omitted.has('pictures')) return messages.map((message) => withoutImages(message, unreadablePictures));
  if (!omitted.has('newest_pictures')) return messages;
  const newest = messages.findLastIndex(hasImages);
  return messages.map((message, index) =>
    index === newest ? withoutImages(message, unreadablePictures) : message,
  );
}

function hasImages(message: ChatMessage): boolean {
  return message.role === 'user' && message.images !== undefined && message.images.length > 0;
}

/** The request for a model that sees no pictures: it reads that there were some. */
export function withoutPictures(request: ChatRequest): ChatRequest {
  if (!request.messages.some(hasImages)) return request;
  return { ...request, messages: request.messages.map((each) => withoutImages(each, unseenPictures)) };
}

/** The request without pictures that the server could not read before; the model reads that there were some. */
export function withoutUnreadable(request: ChatRequest, unreadable: Unreadable): ChatRequest {
  if (unreadable.size === 0 || !request.messages.some(hasImages)) return request;
  const messages = request.messages.map((message): ChatMessage => {
    if (message.role !== 'user' || message.images === undefined) return message;
    const readable = message.images.filter((image) => unreadable.get(digestOf(image)) === undefined);
    const count = message.images.length - readable.length;
    if (count === 0) return message;
    const { images: _, ...rest } = message;
    const content = `${message.content}\n${unreadablePictures(count)}`;
    return { ...rest, content, ...(readable.length > 0 && { images: readable }) };
  });
  return { ...request, messages };
}

/** Remembers the pictures that a request was accepted only without. */
export function noteUnreadable(
  messages: readonly ChatMessage[],
  omitted: ReadonlySet<Omission>,
  unreadable: Unreadable,
): void {
  const withImages = messages.filter(hasImages).slice(omitted.has('pictures') ? 0 : -1);
  for (const message of withImages) {
    const images = message.role === 'user' ? (message.images ?? []) : [];
    for (const image of images) unreadable.set(digestOf(image), true);
  }
}

function digestOf({ base64 }: Picture): string {
  return hash('sha256', base64, 'base64');
}

function withoutImages(message: ChatMessage, describe: (count: number) => string): ChatMessage {
  if (message.role !== 'user' || message.images === undefined) return message;
  const { images, ...rest } = message;
  return { ...rest, content: `${message.content}\n${describe(images.length)}` };
}
