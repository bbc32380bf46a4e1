/** The persona of `npm run demo`: it answers without a model and says so, thinks on request, reads files on request, and plans. */
import { withoutMarks } from '../../../src/protocol/sessions/marked-text.ts';
import { plannedTurnReply } from './planned-turn.ts';
import { planReply } from './plan.ts';
import { FILE_NAME, paced, SIGNED } from './demo-text.ts';
import { lastNote, lastUserText, messagesWithoutNotes } from '../model/spoken-text.ts';
import type { ChatBody } from '../ollama/request.ts';
import type { FakeToolCall, Reply } from '../ollama/reply.ts';

const ABOUT_FILES = /\b(files?|folders?|director(y|ies)|workspace|read|list)\b/i;
const MAX_QUOTED = 600;
/** A title has at most this many words. */
const TITLE_WORDS = 6;

/** Chooses the demo's answer to a request. */
export function demoAnswer(request: ChatBody): Reply {
  const body = { ...request, messages: messagesWithoutNotes(request.messages) };
  return (
    planReply(body, lastNote(request)) ??
    plannedTurnReply(body) ??
    paced(body, { thinking: WEIGHED, ...plainAnswer(body) })
  );
}

/** Names a conversation by how it began. */
export function demoTitle({ messages }: ChatBody): Reply {
  const [first = ''] = messages.flatMap(({ role, content }) => (role === 'user' ? [content.trim()] : []));
  const words = first.split(/\s+/).slice(0, TITLE_WORDS).join(' ');
  return { text: words.charAt(0).toUpperCase() + words.slice(1) };
}

const WEIGHED =
  'This is where a real model would weigh the question. The demo only looks for a few words in it. ';

function plainAnswer(body: ChatBody): Reply {
  const said = lastUserText(body);
  const last = body.messages.at(-1);
  if (last?.role === 'tool') {
    return { text: `Here is what \`${last.tool_name}\` found:\n\n${quoted(last.content)}\n\n${SIGNED}` };
  }
  const call = fileCall(said, body);
  if (call !== undefined) return { text: 'Let me look. ', toolCalls: [call] };
  return { text: greeting(said) };
}

function greeting(said: string): string {
  const heard = said.trim() === '' ? 'nothing yet' : `"${said.slice(0, MAX_QUOTED).trim()}"`;
  return [
    `Hello! You said: ${heard}`,
    'This answer **grows as it is made**, the way a real one would. A few things to try:',
    THINGS_TO_TRY,
    '```js\nconst demo = true; // code blocks survive, too\n```',
    SIGNED,
  ].join('\n\n');
}

const THINGS_TO_TRY = [
  '- write "plan a picnic" and watch a plan run, fail and repair itself',
  '- choose *Teacher* above this chat and write "plan a party": each step is explained and waits for you to run it',
  '- ask "which files are there?" and watch a tool run',
  '- send a second message while this one is growing',
  '- press Stop',
].join('\n');

/** The tool call a question about files leads to, if the request offers the tool. */
function fileCall(said: string, body: ChatBody): FakeToolCall | undefined {
  const offers = (name: string): boolean => body.tools?.some((tool) => tool.function.name === name) ?? false;
  const file = FILE_NAME.exec(said)?.[0];
  if (file !== undefined && offers('read_file')) return { name: 'read_file', args: { path: file } };
  if (ABOUT_FILES.test(said) && offers('list_dir')) return { name: 'list_dir', args: { path: '.' } };
  return undefined;
}

/** Without the gateway's marks around a text of others, which a model reads but does not repeat. */
function quoted(text: string): string {
  return `\`\`\`\n${withoutMarks(text).slice(0, MAX_QUOTED).replaceAll('```', "'''").trimEnd()}\n\`\`\``;
}
