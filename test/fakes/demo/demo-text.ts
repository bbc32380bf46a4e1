/** The demo persona's pace and fixed texts, and what it recognizes in a user's message. */
import type { ChatBody } from '../ollama/request.ts';
import type { Reply } from '../ollama/reply.ts';

const DEMO_TOKENS_PER_SECOND = 25;

/** Below every answer. */
export const SIGNED =
  '*This is the demo: no model is running. Start Ollama and set `MODEL` for real answers.*';

/** Beginning of the step that a correction inserts. */
export const WRITE_NOTES = 'Write first notes into';

/** A file name in a text. */
export const FILE_NAME = /[\w/-]+\.[a-z]{1,8}\b/i;

/** What is to be planned: the first longer word after "plan" that names it. */
const TOPIC = /\bplan(?:s|ned|ning)?\s+(?:(?:for|of|an?|the|my|our|me|us)\s+)*([a-z]{4,20})\b/i;

/** A reply at the pace of a small model; with thinking only if the request asks for it. */
export function paced(body: Pick<ChatBody, 'think'>, { thinking, ...reply }: Reply): Reply {
  const thinks = body.think === true || typeof body.think === 'string';
  return {
    ...reply,
    ...(thinks && thinking !== undefined && { thinking }),
    perSecond: DEMO_TOKENS_PER_SECOND,
  };
}

/** What a plan with this goal is about, in one short word. */
export function topicOf(goal: string): string {
  return TOPIC.exec(goal)?.[1]?.toLowerCase() ?? 'day';
}

/** The notes that the persona writes about something: one thing per line. */
export function notesOn(topic: string): string {
  return `# Notes: ${topic}\n- when it begins\n- who comes along\n- what everybody brings\n`;
}

/** The things that notes name, wherever they are in a text. */
export function notedIn(text: string): string[] {
  return [...text.matchAll(/^- (.+)$/gm)].map(([, thing = '']) => thing);
}
