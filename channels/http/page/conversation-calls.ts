/** Calls by which people act on a conversation: fork it, ask again, choose an answer, change what waits. */
import type { WireQueue, WireFork, WireChoices, WireSessionModel, WireTrace } from '../wire.ts';
import { randomId } from './dom.ts';
import { pathOf, type Requests } from './requests.ts';

function waitingPath(key: string, turnId: string) {
  return `${pathOf(key)}/queue/${encodeURIComponent(turnId)}`;
}

/** The calls of one token; every method throws `ApiError`. */
export class ConversationCalls {
  #requests;

  constructor(requests: Requests) {
    this.#requests = requests;
  }

  /** A new session that begins as this one was at a message, or before the question of that message. */
  fork(key: string, from: { seq: number; before?: boolean }): Promise<WireFork> {
    return this.#requests.json('POST', `${pathOf(key)}/fork`, from, {
      'idempotency-key': randomId(),
    });
  }

  /** Asks the last question again, in other words if `content` is given. */
  again(key: string, content?: string): Promise<{ turnId: string; note?: string }> {
    const body = content === undefined ? {} : { content };
    return this.#requests.json('POST', `${pathOf(key)}/retry`, body, { 'idempotency-key': randomId() });
  }

  /** Lets the model read the answer of this turn instead of the others to its question. */
  choose(key: string, turnId: string) {
    return this.#requests.json('POST', `${pathOf(key)}/turns/${encodeURIComponent(turnId)}/choose`);
  }

  /** What can be chosen for a chat with this profile. */
  choices(profile: string): Promise<WireChoices> {
    return this.#requests.json('GET', `/v1/choices?profile=${encodeURIComponent(profile)}`);
  }

  /** Who answers the next message of a chat. */
  model(key: string): Promise<WireSessionModel> {
    return this.#requests.json('GET', `${pathOf(key)}/model`);
  }

  /** What became of a turn; with `prompt`, also what the model was sent. */
  trace(turnId: string, { prompt = false }: { prompt?: boolean } = {}): Promise<WireTrace> {
    const query = prompt ? '?include=prompt' : '';
    return this.#requests.json('GET', `/v1/turns/${encodeURIComponent(turnId)}/trace${query}`);
  }

  /** What waits behind the running answer. */
  queue(key: string): Promise<WireQueue> {
    return this.#requests.json('GET', `${pathOf(key)}/queue`);
  }

  editWaiting(key: string, turnId: string, content: string): Promise<WireQueue> {
    return this.#requests.json('PATCH', waitingPath(key, turnId), { content });
  }

  dropWaiting(key: string, turnId: string): Promise<WireQueue> {
    return this.#requests.json('DELETE', waitingPath(key, turnId));
  }

  /** Ends the running answer, and answers this message next. */
  sendNow(key: string, turnId: string): Promise<WireQueue> {
    return this.#requests.json('POST', `${waitingPath(key, turnId)}/send-now`);
  }

  /** The files of the session, newest first. */
  files(
    key: string,
  ): Promise<{ files: { file: string; name: string; bytes: number; changedAt: string }[]; more: boolean }> {
    return this.#requests.json('GET', `${pathOf(key)}/files`);
  }

  /** All messages of the session as one file. */
  async export(key: string, format: 'md' | 'json') {
    const response = await this.#requests.send('GET', `${pathOf(key)}/export?format=${format}`);
    return response.blob();
  }
}
