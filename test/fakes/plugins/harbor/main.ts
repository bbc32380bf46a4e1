/** A channel that polls its server: what a plug-in can do, in one module. */
import { readFile } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import type { PluginChannel, PluginChannelHost, PluginFailure, PluginMessage } from '@parley/sdk';

interface Update {
  seq: number;
  id: string;
  chat: string;
  user: string;
  text: string;
  sentAt: number;
  by?: 'self' | 'bot';
  file?: { url: string; name: string; bytes: number };
}

const CODES: Readonly<Record<number, PluginFailure['code']>> = {
  401: 'unauthorized',
  403: 'blocked',
  404: 'message_gone',
  413: 'rejected',
  429: 'rate_limited',
};

export function channel(host: PluginChannelHost): PluginChannel {
  const { HARBOR_KEY: key, HARBOR_URL: url } = host.settings;
  let polling: { stop: AbortController; over: Promise<void> } | undefined;

  async function call(
    method: string,
    path: string,
    init: Omit<RequestInit, 'headers'> & { headers?: Record<string, string> } = {},
  ): Promise<Response> {
    const headers = { ...init.headers, authorization: `Bearer ${key}` };
    const answer = await fetch(url + path, { ...init, method, headers }).catch((error: unknown) => {
      const reason = causeOf(error);
      const isUnsent = ['ECONNREFUSED', 'ENOTFOUND'].includes(reason);
      throw failure(isUnsent ? 'unavailable' : 'outcome_unknown', `The harbor did not answer (${reason}).`);
    });
    if (answer.ok) return answer;
    const waitMs = Number(answer.headers.get('retry-after') ?? 0) * 1_000;
    throw failure(CODES[answer.status] ?? 'unavailable', `The harbor answered ${answer.status}.`, waitMs);
  }

  async function json<T>(method: string, path: string, value?: unknown, signal?: AbortSignal): Promise<T> {
    const body = value === undefined ? null : JSON.stringify(value);
    return (await (await call(method, path, { body, signal: signal ?? null })).json()) as T;
  }

  async function poll(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const after = Number((await host.store.get('offset')) ?? 0);
      try {
        const updates = await json<Update[]>('GET', `/updates?after=${after}`, undefined, signal);
        host.health('up');
        for (const update of updates) {
          if (update.by !== 'self') await host.receive(toMessage(update));
          // Only what the gateway has stored is not asked for again.
          await host.store.set('offset', String(update.seq));
        }
      } catch (error) {
        if (signal.aborted) return;
        host.health('degraded', error instanceof Error ? error.message : String(error));
        await pause(50);
      }
    }
  }

  async function stop(): Promise<void> {
    polling?.stop.abort();
    await polling?.over;
    polling = undefined;
  }

  return {
    identify: () => json('GET', '/me'),
    async start() {
      await stop();
      const stopping = new AbortController();
      polling = { stop: stopping, over: poll(stopping.signal) };
    },
    stop,
    send: ({ chatId, body, plain, nonce, buttons }) =>
      json('POST', '/messages', {
        chat: chatId,
        text: plain ? body.plain : body.text,
        nonce,
        plain,
        buttons,
      }),
    edit: (sent, { chatId, body, plain }) =>
      json('PUT', `/messages/${sent.id}`, { chat: chatId, text: plain ? body.plain : body.text, plain }),
    async delete(sent) {
      await unlessGone(call('DELETE', `/messages/${sent.id}`), undefined);
    },
    async sendFile({ chatId, name, mimeType, path, caption, nonce }) {
      const about = JSON.stringify({ chat: chatId, name, nonce, caption: caption?.plain ?? '' });
      const headers = { 'content-type': mimeType, 'x-file': encodeURIComponent(about) };
      const answer = await call('POST', '/files', { body: await readFile(path), headers });
      return (await answer.json()) as { id: string };
    },
    async download({ url: path }, signal) {
      const answer = await unlessGone(call('GET', path, { signal }), undefined);
      if (answer?.body) return answer.body;
      throw failure('rejected', 'The harbor no longer has this file.');
    },
    async typing({ chatId }) {
      await call('POST', `/typing/${chatId}`);
    },
    async react({ chatId, messageId }, state) {
      await json('POST', '/reactions', { chat: chatId, message: messageId, state });
    },
    isAdmin: async ({ chatId }, senderId) =>
      (await json<string[]>('GET', `/admins/${chatId}`)).includes(senderId),
  };
}

function toMessage({ id, chat, user, text, sentAt, file, by }: Update): PluginMessage {
  const place = chat.startsWith('u') ? 'private' : 'group';
  return {
    id,
    chatId: chat,
    senderId: user,
    // Its clients keep texts with a slash to themselves.
    content: text.replace(/^!/, '/'),
    timestamp: sentAt,
    place,
    mentioned: place === 'private',
    messageId: id,
    ...(by === 'bot' && { fromBot: true }),
    ...(file && { media: [{ kind: 'file', ...file }] }),
  };
}

async function unlessGone<T, Other>(work: Promise<T>, other: Other): Promise<T | Other> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'message_gone') return other;
    throw error;
  }
}

function causeOf(error: unknown): string {
  const cause: unknown = error instanceof Error ? error.cause : undefined;
  return cause instanceof Error && 'code' in cause ? String(cause.code) : 'unknown';
}

function failure(code: PluginFailure['code'], message: string, retryAfterMs = 0): PluginFailure {
  return Object.assign(new Error(message), { code, ...(retryAfterMs > 0 && { retryAfterMs }) });
}
