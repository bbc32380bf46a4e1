/** The methods of the Web API that the fake Slack knows, each with its scopes, its tier, and what it refuses. */
import { z } from 'zod';
import { checkBlocks } from './blocks.ts';
import { describeFile, describePerson, shown } from './described.ts';
import type { Tier } from './limits.ts';
import type { Views } from './views.ts';
import { type FakeChat, type FakeFile, type FakeMessage, Refusal, type Workspace } from './workspace.ts';

export interface MethodCall {
  workspace: Workspace;
  views: Views;
  /** Arguments, with JSON ones parsed. */
  args: Record<string, unknown>;
  /** Addresses of the fake itself. */
  root: string;
  socketUrl: () => string;
}

export interface Method {
  token: 'bot' | 'app';
  /** One of them is enough. */
  scopes: (chat: FakeChat | undefined) => string[];
  tier: Tier | 'post';
  effect: (call: MethodCall) => object;
}

const bot = (scope: string, tier: Method['tier'], effect: Method['effect']): Method => ({
  token: 'bot',
  scopes: () => (scope === '' ? [] : [scope]),
  tier,
  effect,
});

const reading = (effect: Method['effect']): Method => ({
  token: 'bot',
  scopes: (chat) => [`${scopeOf(chat)}:history`],
  tier: 3,
  effect,
});

const Metadata = z.strictObject({
  event_type: z.string().regex(/^[\w.-]{1,255}$/),
  event_payload: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])),
});

const Status = z.strictObject({ channel_id: z.string(), thread_ts: z.string(), status: z.string().max(50) });

/** Longest text of `chat.postMessage`, in characters, and of `chat.update`, in bytes. */
const MAX_POST = 40_000;
const MAX_UPDATE_BYTES = 4_000;

export const METHODS: Readonly<Record<string, Method>> = {
  'auth.test': bot('', 4, ({ workspace: { bot: self, teamId } }) => ({
    team: 'Fake',
    team_id: teamId,
    user: self.name,
    user_id: self.userId,
    bot_id: self.botId,
  })),
  'assistant.threads.setStatus': bot('chat:write', 4, ({ workspace, args }) => {
    const { channel_id: id, thread_ts: thread, status } = Status.parse(args);
    const chat = workspace.open(id);
    if (!chat.messages.some(({ ts }) => ts === thread)) throw new Refusal('invalid_thread_ts');
    if (status === '') chat.statuses.delete(thread);
    else chat.statuses.set(thread, status);
    return {};
  }),
  'apps.connections.open': {
    token: 'app',
    scopes: () => ['connections:write'],
    tier: 1,
    effect: ({ socketUrl }) => ({ url: socketUrl() }),
  },
  'chat.postMessage': bot('chat:write', 'post', ({ workspace, args }) => {
    const chat = workspace.open(args['channel']);
    const content = contentOf(args, MAX_POST, (text) => text.length);
    const metadata = args['metadata'] === undefined ? undefined : Metadata.parse(args['metadata']);
    const { userId, botId } = workspace.bot;
    // A message of the app removes its status.
    if (typeof args['thread_ts'] === 'string') chat.statuses.delete(args['thread_ts']);
    const message = workspace.add(chat, {
      ...content,
      user: userId,
      botId,
      ...(metadata !== undefined && { metadata }),
      ...(typeof args['thread_ts'] === 'string' && { threadTs: args['thread_ts'] }),
    });
    return { channel: chat.id, ts: message.ts, message: shown(message) };
  }),
  'chat.update': bot('chat:write', 3, ({ workspace, args }) => {
    const chat = workspace.open(args['channel']);
    const message = ownMessage(workspace, chat, args['ts']);
    const content = checkUpdate(args);
    Object.assign(message, content, { edits: message.edits + 1, editedAt: workspace.newTs() });
    return { channel: chat.id, ts: message.ts, text: message.text };
  }),
  'chat.delete': bot('chat:write', 3, ({ workspace, args }) => {
    const chat = workspace.open(args['channel']);
    const message = ownMessage(workspace, chat, args['ts']);
    chat.messages.splice(chat.messages.indexOf(message), 1);
    return { channel: chat.id, ts: message.ts };
  }),
  'chat.postEphemeral': bot('chat:write', 4, ({ workspace, args }) => {
    const chat = workspace.open(args['channel']);
    const user = String(args['user']);
    if (!workspace.people.has(user)) throw new Refusal('user_not_in_channel');
    const { text } = contentOf(args, MAX_POST, (posted) => posted.length);
    const threadTs = args['thread_ts'];
    workspace.ephemerals.push({
      chat: chat.id,
      user,
      text,
      ...(typeof threadTs === 'string' && { threadTs }),
    });
    return { message_ts: workspace.newTs() };
  }),
  'views.open': bot('', 4, ({ views, args }) => views.show(args)),
  'reactions.add': bot('reactions:write', 3, ({ workspace, args }) => {
    const { message, name } = reactedTo(workspace, args);
    if (message.reactions.includes(name)) throw new Refusal('already_reacted');
    message.reactions.push(name);
    return {};
  }),
  'reactions.remove': bot('reactions:write', 2, ({ workspace, args }) => {
    const { message, name } = reactedTo(workspace, args);
    if (!message.reactions.includes(name)) throw new Refusal('no_reaction');
    message.reactions = message.reactions.filter((other) => other !== name);
    return {};
  }),
  'conversations.history': reading(({ workspace, args }) => {
    const all = workspace.open(args['channel']).messages;
    const roots = all.filter(({ threadTs, ts }) => threadTs === undefined || threadTs === ts);
    return page(roots.toReversed(), args);
  }),
  'conversations.replies': reading(({ workspace, args }) => {
    const all = workspace.open(args['channel']).messages;
    const root = String(args['ts']);
    if (!all.some(({ ts }) => ts === root)) throw new Refusal('thread_not_found');
    return page(
      all.filter(({ threadTs, ts }) => threadTs === root || ts === root),
      args,
    );
  }),
  'conversations.info': {
    token: 'bot',
    scopes: (chat) => [`${scopeOf(chat)}:read`],
    tier: 3,
    effect: ({ workspace, args }) => {
      const chat = workspace.chat(String(args['channel']));
      if (chat.isPrivate === true && !chat.hasBot) throw new Refusal('channel_not_found');
      const { id, creator, kind, name = `channel-${id.toLowerCase()}` } = chat;
      // Only direct messages have no name.
      const about = { id, is_mpim: kind === 'mpim', ...(kind !== 'im' && { name }) };
      return { channel: { ...about, ...(creator !== undefined && { creator }) } };
    },
  },
  'users.info': bot('users:read', 4, ({ workspace, args }) => {
    const person = workspace.people.get(String(args['user']));
    if (person === undefined) throw new Refusal('user_not_found');
    return { user: describePerson(workspace, person, String(args['include_locale']) === 'true') };
  }),
  'files.getUploadURLExternal': bot('files:write', 4, ({ workspace, args, root }) => {
    const length = Number(args['length']);
    const filename = args['filename'];
    if (typeof filename !== 'string' || filename === '' || !(length > 0))
      throw new Refusal('invalid_arguments');
    const file = workspace.file(filename, Buffer.alloc(0));
    return { upload_url: `${root}/upload/v1/${file.id}?length=${length}`, file_id: file.id };
  }),
  'files.completeUploadExternal': bot('files:write', 4, ({ workspace, args }) => {
    const chat = workspace.open(args['channel_id']);
    const given = z
      .array(z.strictObject({ id: z.string(), title: z.string().optional() }))
      .parse(args['files']);
    const files = given.map(({ id }) => fileOf(workspace, id));
    if (files.some(({ bytes, shownIn }) => bytes.length === 0 || shownIn.size > 0))
      throw new Refusal('invalid_arguments');
    const blocks = args['blocks'] === undefined ? undefined : checkBlocks(args['blocks']);
    const { userId, botId } = workspace.bot;
    const { thread_ts: threadTs } = args;
    workspace.add(chat, {
      user: userId,
      botId,
      text: '',
      files,
      ...(blocks !== undefined && { blocks }),
      ...(typeof threadTs === 'string' && { threadTs }),
    });
    for (const file of files) file.shownIn.add(chat.id);
    return { files: given };
  }),
  'files.info': bot('files:read', 4, ({ workspace, args, root }) => ({
    file: describeFile(fileOf(workspace, String(args['file'])), root),
  })),
  'files.delete': bot('files:write', 3, ({ workspace, args }) => {
    const file = fileOf(workspace, String(args['file']));
    workspace.files.delete(file.id);
    for (const chat of workspace.chats.values())
      chat.messages = chat.messages.filter(({ files }) => !files.includes(file));
    return {};
  }),
};

const Reacting = z.strictObject({ channel: z.string(), timestamp: z.string(), name: z.string() });
/** Names of emoji that this workspace has. */
const EMOJI = ['hourglass_flowing_sand', 'eyes', 'white_check_mark', 'x', 'thumbsup'];

function reactedTo(workspace: Workspace, args: MethodCall['args']): { message: FakeMessage; name: string } {
  const { channel, timestamp, name } = Reacting.parse(args);
  const message = workspace.open(channel).messages.find(({ ts }) => ts === timestamp);
  if (message === undefined) throw new Refusal('message_not_found');
  if (!EMOJI.includes(name)) throw new Refusal('invalid_name');
  return { message, name };
}

/** What the names of scopes call the kind of a chat. */
function scopeOf(chat: FakeChat | undefined): string {
  if (chat?.kind !== 'channel') return chat?.kind ?? 'im';
  return chat.isPrivate === true ? 'groups' : 'channels';
}

/** What `chat.update` accepts: text and blocks. Throws `Refusal`. */
export function checkUpdate(args: Record<string, unknown>): { text: string; blocks: unknown[] } {
  return contentOf(args, MAX_UPDATE_BYTES, (text) => Buffer.byteLength(text));
}

function contentOf(
  args: Record<string, unknown>,
  max: number,
  lengthOf: (text: string) => number,
): { text: string; blocks: unknown[] } {
  const blocks = checkBlocks(args['blocks'] ?? []);
  const text = typeof args['text'] === 'string' ? args['text'] : '';
  if (text === '' && blocks.length === 0) throw new Refusal('no_text');
  if (lengthOf(text) > max) throw new Refusal('msg_too_long');
  // A bare `<` would begin a mention or a Slack command.
  if (/[<>]/.test(text)) throw new Refusal('invalid_arguments', { why: 'the text is not escaped' });
  return { text, blocks };
}

function ownMessage({ bot: self }: Workspace, chat: FakeChat, ts: unknown): FakeMessage {
  const message = chat.messages.find((one) => one.ts === ts);
  if (message === undefined) throw new Refusal('message_not_found');
  if (message.user !== self.userId) throw new Refusal('cant_update_message');
  return message;
}

function fileOf(workspace: Workspace, id: string): FakeFile {
  const file = workspace.files.get(id);
  if (file === undefined) throw new Refusal('file_not_found');
  return file;
}

function page(messages: readonly FakeMessage[], args: Record<string, unknown>): object {
  const limit = Number(args['limit'] ?? 100);
  if (!(limit >= 1 && limit <= 999)) throw new Refusal('invalid_limit');
  const oldest = Number(args['oldest'] ?? 0);
  const from = Number(args['cursor'] ?? 0);
  const latest = Number(args['latest'] ?? Number.POSITIVE_INFINITY);
  const range = messages.filter(({ ts }) => Number(ts) > oldest && Number(ts) < latest);
  const some = range.slice(from, from + limit);
  const isMore = from + limit < range.length;
  return {
    messages: some.map((message) => shown(message, '', args['include_all_metadata'] === true)),
    has_more: isMore,
    response_metadata: { next_cursor: isMore ? String(from + limit) : '' },
  };
}
