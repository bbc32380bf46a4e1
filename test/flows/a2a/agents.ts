/** Other agents that use the bot by the Agent2Agent protocol, by the client of the protocol's own SDK. */
import { type Message, Role, type SendMessageRequest, type StreamResponse, type Task } from '@a2a-js/sdk';
import {
  type Client,
  ClientFactory,
  DefaultAgentCardResolver,
  JsonRpcTransportFactory,
} from '@a2a-js/sdk/client';
import { newId } from '../../../src/lib/ids.ts';
import { OWNER } from '../setup.ts';

/** Reads the card of the gateway at this address, and connects to what it names. */
export async function connectAgent(url: string, token = OWNER): Promise<Client> {
  const fetchImpl: typeof fetch = (address, init) =>
    fetch(address, {
      ...init,
      headers: { ...Object.fromEntries(new Headers(init?.headers)), authorization: `Bearer ${token}` },
    });
  const factory = new ClientFactory({
    transports: [new JsonRpcTransportFactory({ fetchImpl })],
    cardResolver: new DefaultAgentCardResolver(),
  });
  return await factory.createFromUrl(url);
}

/** A message with this text; `over` says of which context or task. */
export function say(text: string, over: Partial<Message> = {}): SendMessageRequest {
  const parts: Message['parts'] = [
    { content: { $case: 'text', value: text }, metadata: undefined, filename: '', mediaType: 'text/plain' },
  ];
  const base = {
    messageId: newId(),
    contextId: '',
    taskId: '',
    metadata: undefined,
    extensions: [],
    referenceTaskIds: [],
  };
  const message = { ...base, role: Role.ROLE_USER, parts, ...over };
  return { tenant: '', message, configuration: undefined, metadata: undefined };
}

/** The text of a task's answer. */
export function answerOf({ artifacts }: Task): string {
  return artifacts.flatMap(({ parts }) => parts.flatMap(textOf)).join('');
}

function textOf({ content }: Message['parts'][number]): string[] {
  return content?.$case === 'text' ? [content.value] : [];
}

/** What a stream has shown so far: the artifacts with their text, and the states. */
export class Shown {
  readonly texts = new Map<string, string>();
  readonly states: number[] = [];
  task: Task | undefined;

  add({ payload }: StreamResponse): void {
    if (payload?.$case === 'task') {
      this.task = payload.value;
      this.states.push(payload.value.status?.state ?? 0);
    }
    if (payload?.$case === 'statusUpdate') this.states.push(payload.value.status?.state ?? 0);
    if (payload?.$case !== 'artifactUpdate' || payload.value.artifact === undefined) return;
    const { artifactId, parts } = payload.value.artifact;
    const before = payload.value.append ? (this.texts.get(artifactId) ?? '') : '';
    this.texts.set(artifactId, before + parts.flatMap(textOf).join(''));
  }

  get text(): string {
    return [...this.texts.values()].join('');
  }

  /** Takes all that a stream brings. */
  async read(stream: AsyncIterable<StreamResponse>): Promise<void> {
    for await (const piece of stream) this.add(piece);
  }
}
