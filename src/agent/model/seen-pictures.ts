/** Pictures in a prompt: the newest are sent to models that see; other models read that there were some. */
import { type Pictures, unseenPictures } from '../../protocol/media.ts';
import type { ChatChunk, ChatMessage, ChatProvider, ChatRequest } from '../../protocol/agent/provider.ts';

/** Pictures of one call. */
export const MAX_PICTURES = 6;
/** Older pictures are left out in steps of this many, so that the prompt keeps its bytes, and the server its cache, in between. */
const STEP = 3;

/** The provider, with the pictures that messages refer to. A prompt without pictures passes untouched. */
export function withPictures(provider: ChatProvider, pictures: Pictures): ChatProvider {
  return {
    name: provider.name,
    models: (signal, like) => provider.models(signal, like),
    capabilities: (model, signal) => provider.capabilities(model, signal),
    streamChat: (request, signal) =>
      request.messages.some(refersToPictures)
        ? streamWithPictures(provider, pictures, request, signal)
        : provider.streamChat(request, signal),
    close: () => provider.close(),
  };
}

function refersToPictures(message: ChatMessage): boolean {
  return message.role === 'user' && message.pictures !== undefined && message.pictures.length > 0;
}

async function* streamWithPictures(
  provider: ChatProvider,
  pictures: Pictures,
  request: ChatRequest,
  signal: AbortSignal,
): AsyncGenerator<ChatChunk> {
  const { vision } = await provider.capabilities(request.model, signal);
  const messages = vision ? await load(request.messages, pictures) : request.messages.map(withoutPictures);
  yield* provider.streamChat({ ...request, messages }, signal);
}

function withoutPictures(message: ChatMessage): ChatMessage {
  if (message.role !== 'user' || message.pictures === undefined) return message;
  return { role: 'user', content: `${message.content}\n${unseenPictures(message.pictures.length)}` };
}

async function load(messages: readonly ChatMessage[], pictures: Pictures): Promise<ChatMessage[]> {
  const total = messages.reduce(
    (sum, message) => sum + (message.role === 'user' ? (message.pictures?.length ?? 0) : 0),
    0,
  );
  let skip = total <= MAX_PICTURES ? 0 : Math.ceil((total - MAX_PICTURES) / STEP) * STEP;
  const loaded: ChatMessage[] = [];
  for (const message of messages) {
    if (message.role !== 'user' || message.pictures === undefined) {
      loaded.push(message);
      continue;
    }
    const refs = message.pictures.slice(skip);
    skip = Math.max(0, skip - message.pictures.length);
    const pictureData = await Promise.all(refs.map(pictures));
    const images = pictureData.flatMap((picture) => picture ?? []);
    const { content } = message;
    loaded.push(images.length === 0 ? { role: 'user', content } : { role: 'user', content, images });
  }
  return loaded;
}
