/** Editors that speak the Agent Client Protocol with `parley acp`, by the client of the protocol's own SDK. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { Readable, Writable } from 'node:stream';
import {
  client,
  type ClientContext,
  ndJsonStream,
  type RequestPermissionRequest,
  type RequestPermissionResponse,
  type SessionNotification,
  type SessionUpdate,
  type StopReason,
} from '@agentclientprotocol/sdk';
import { onTestFinished } from 'vitest';
import { ROOT } from '../../architecture/imports.ts';

type Decide = (asked: RequestPermissionRequest) => Promise<RequestPermissionResponse>;

type TextKind = 'agent_message_chunk' | 'agent_thought_chunk' | 'user_message_chunk';

export interface Editor {
  agent: ClientContext;
  /** What it was shown of a session. */
  updates: (session: string) => SessionUpdate[];
  /** The text of these updates of a session; of an answer, of its last message. */
  text: (session: string, kind?: TextKind) => string;
  /** What it was asked to permit. */
  asked: RequestPermissionRequest[];
  begin: () => Promise<string>;
  load: (session: string) => Promise<void>;
  prompt: (session: string, text: string) => Promise<StopReason>;
  /** Ends the bridge at once. */
  kill: () => Promise<void>;
}

export const select = (optionId: string): RequestPermissionResponse => ({
  outcome: { outcome: 'selected', optionId },
});
/** The command line, from its sources. */
const COMMAND = `const { main } = await import('./src/cli.ts'); await main(process.argv.slice(1));`;
/** A person who never answers. */
const never: Decide = () => new Promise(() => undefined);

/** Starts the bridge with these variables, and introduces an editor to it; both end with the test. */
export async function openEditor(
  environment: Record<string, string>,
  decide: Decide = never,
): Promise<Editor> {
  const command = ['--input-type=module', '--eval', COMMAND, '--', 'acp', '--url', environment['URL'] ?? ''];
  const child = spawn(process.execPath, command, {
    cwd: ROOT,
    env: { PATH: process.env['PATH'] ?? '', ...environment },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  onTestFinished(async () => await kill(child));
  const seen: SessionNotification[] = [];
  const asked: RequestPermissionRequest[] = [];
  const stream = ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout) as ReadableStream);
  const { agent } = client({ name: 'editor' })
    .onNotification('session/update', ({ params }) => void seen.push(params))
    .onRequest('session/request_permission', async ({ params }) => {
      asked.push(params);
      return await decide(params);
    })
    .connect(stream);
  await agent.request('initialize', { protocolVersion: 1, clientCapabilities: {} });
  const updates: Editor['updates'] = (session) =>
    seen.flatMap(({ sessionId, update }) => (sessionId === session ? [update] : []));
  return {
    agent,
    asked,
    updates,
    text: (session, kind = 'agent_message_chunk') => textOf(updates(session), kind),
    begin: async () => (await agent.request('session/new', { cwd: ROOT, mcpServers: [] })).sessionId,
    load: async (sessionId) =>
      void (await agent.request('session/load', { sessionId, cwd: ROOT, mcpServers: [] })),
    prompt: async (sessionId, text) =>
      (await agent.request('session/prompt', { sessionId, prompt: [{ type: 'text', text }] })).stopReason,
    kill: async () => await kill(child),
  };
}

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGKILL');
  await once(child, 'close');
}

function textOf(updates: readonly SessionUpdate[], kind: SessionUpdate['sessionUpdate']): string {
  const chunks = updates.flatMap((update) =>
    update.sessionUpdate === kind && 'content' in update && 'messageId' in update ? [update] : [],
  );
  const last = chunks.at(-1)?.messageId;
  return chunks
    .filter(({ messageId }) => messageId === last)
    .map(({ content }) =>
      content !== null && typeof content === 'object' && 'text' in content ? content.text : '',
    )
    .join('');
}
