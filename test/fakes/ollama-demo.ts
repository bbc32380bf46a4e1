/** The persona of `npm run demo`: it answers without any model, says so, thinks when asked and looks at files when asked about them. */
import { lastUserText } from './ollama-request.ts';
import type { ChatBody } from './ollama-request.ts';
import type { FakeToolCall, Reply } from './ollama-reply.ts';

const DEMO_TOKENS_PER_SECOND = 25;
const ABOUT_FILES = /\b(files?|folders?|director(y|ies)|workspace|read|list)\b/i;
const FILE_NAME = /[\w/-]+\.[a-z]{1,8}\b/i;
const MAX_QUOTED = 600;

/** Chooses the demo's answer to a request. */
export function demoAnswer(body: ChatBody): Reply {
  const said = lastUserText(body);
  const thinking =
    body.think === true || typeof body.think === 'string'
      ? 'This is where a real model would weigh the question. The demo only looks for a few words in it. '
      : '';
  // The gateway may end its list with a note of its own, on the budget of steps for one.
  const last = body.messages.findLast((message) => message.role !== 'system');
  if (last?.role === 'tool') {
    return paced(
      thinking,
      `Here is what \`${last.tool_name}\` found:\n\n${quoted(last.content)}\n\n${SIGNED}`,
    );
  }
  const call = fileCall(said, body);
  if (call !== undefined) return { ...paced(thinking, 'Let me look. '), toolCalls: [call] };
  return paced(thinking, greeting(said));
}

const SIGNED = '*This is the demo: no model is running. Start Ollama and set `MODEL` for real answers.*';

function greeting(said: string): string {
  const heard = said.trim() === '' ? 'nothing yet' : `"${said.slice(0, MAX_QUOTED).trim()}"`;
  return [
    `Hello! You said: ${heard}`,
    'This answer **grows as it is made**, the way a real one would. A few things to try:',
    '- ask "which files are there?" and watch a tool run\n- send a second message while this one is growing\n- press Stop',
    '```js\nconst demo = true; // code blocks survive, too\n```',
    SIGNED,
  ].join('\n\n');
}

/** The tool call a question about files leads to, if the request offers the tool. */
function fileCall(said: string, body: ChatBody): FakeToolCall | undefined {
  const offers = (name: string): boolean => body.tools?.some((tool) => tool.function.name === name) ?? false;
  const file = FILE_NAME.exec(said)?.[0];
  if (file !== undefined && offers('read_file')) return { name: 'read_file', args: { path: file } };
  if (ABOUT_FILES.test(said) && offers('list_dir')) return { name: 'list_dir', args: { path: '.' } };
  return undefined;
}

function quoted(text: string): string {
  return `\`\`\`\n${text.slice(0, MAX_QUOTED).replaceAll('```', "'''").trimEnd()}\n\`\`\``;
}

function paced(thinking: string, text: string): Reply {
  return { ...(thinking !== '' && { thinking }), text, perSecond: DEMO_TOKENS_PER_SECOND };
}
