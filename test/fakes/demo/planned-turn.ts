/** The demo persona's replies in a turn that has a plan: the closing text, and in planner mode every step before it. */
import { FILE_NAME, notedIn, notesOn, paced, SIGNED, topicOf, WRITE_NOTES } from './demo-text.ts';
import { lastUserText } from '../model/spoken-text.ts';
import type { ChatBody, ChatBodyMessage } from '../ollama/request.ts';
import type { FakeToolCall, Reply } from '../ollama/reply.ts';

const CARRIED_OUT = 'carry_out_plan';
const CANCELLED = /^The plan was cancelled\. Why:\n\[.*\]\n([^]*?)\n\[\w+: end\]$/m;
const CORRECTED = new RegExp(`^\\d+\\. ${WRITE_NOTES} .*: done$`, 'm');

/** The persona's reply in a turn whose plan is ready; undefined in any other turn. */
export function plannedTurnReply(body: ChatBody): Reply | undefined {
  const asked = body.messages.findLastIndex(({ role }) => role === 'user');
  const since = body.messages.slice(asked + 1);
  const [made] = since;
  if (made?.role !== 'assistant' || !made.content.startsWith('My plan.')) return undefined;
  const topic = topicOf(lastUserText(body));
  const last = since.at(-1);
  if (last?.tool_name === CARRIED_OUT) return paced(body, carriedOut(topic, last.content));
  return paced(body, follow(topic, FILE_NAME.exec(made.content)?.[0] ?? 'notes.md', since));
}

/** The closing text after the executor ran the steps. */
function carriedOut(topic: string, report: string): Reply {
  const why = CANCELLED.exec(report)?.[1];
  if (why !== undefined) {
    const advice =
      'With the mode **agentic** a failed step is corrected: choose it above this chat, or write `/mode agentic`.';
    return { text: [`The plan ended early. ${why}`, advice, SIGNED].join('\n\n') };
  }
  const corrected = 'One step failed, and the plan **repaired itself**: a step was inserted before it.';
  return { text: closingText(topic, report, CORRECTED.test(report) ? corrected : '') };
}

/**
 * Planner mode: the persona ticks its own list, and determines its progress from the calls it has made since the
 * question.
 */
function follow(topic: string, file: string, since: readonly ChatBodyMessage[]): Reply {
  const called = since.flatMap(({ tool_calls = [] }) => tool_calls.map((call) => call.function.name));
  const read = since.findLast(({ tool_name }) => tool_name === 'read_file')?.content;
  const look = { name: 'read_file', args: { path: file } };
  if (!called.includes('list_dir')) {
    return { text: 'First a look around. ', toolCalls: [{ name: 'list_dir', args: { path: '.' } }, tick(1)] };
  }
  if (read === undefined) return { toolCalls: [look] };
  if (/^read_file failed/m.test(read) && !called.includes('write_file')) {
    const write = { name: 'write_file', args: { path: file, content: notesOn(topic) } };
    return { text: 'There are no notes yet, so I write some. ', toolCalls: [write, look] };
  }
  // The first step was ticked off with the first look.
  if (called.filter((name) => name === 'todo').length === 1) return { toolCalls: [tick(2), tick(3)] };
  return { text: closingText(topic, read, '') };
}

function tick(index: number): FakeToolCall {
  return { name: 'todo', args: { action: 'update', index, status: 'done' } };
}

function closingText(topic: string, found: string, remark: string): string {
  const things = [...new Set(notedIn(found))].map((thing) => `- ${thing}`);
  const rest = things.length === 0 ? 'There were no notes to read.' : 'Still to be settled:';
  const parts = [`**The plan for the ${topic} is done.** ${rest}`, things.join('\n'), remark, SIGNED];
  return parts.filter((part) => part !== '').join('\n\n');
}
