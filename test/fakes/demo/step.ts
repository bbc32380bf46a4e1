/** The demo persona's answers about single steps: running one, correcting a failed one, explaining the next one. */
import { FILE_NAME, notedIn, notesOn, paced, topicOf, WRITE_NOTES } from './demo-text.ts';
import type { ChatBody } from '../ollama/request.ts';
import type { Reply } from '../ollama/reply.ts';

const CALL_ASKED = /^This step is one call of the tool (\S+): (.*)$/m;
const WORK_ASKED = /^Do this step now, and none of the others: .*$/m;
const GOAL = /^Goal: (.*)$/m;
const RESULTS = 'What earlier steps gave back';

/** A step of the plan: either a single call, or what the persona does itself. */
export function stepReply(body: ChatBody, task: string): Reply | undefined {
  const [, tool, description = ''] = CALL_ASKED.exec(task) ?? [];
  if (tool === 'list_dir') {
    const thinking = 'What is there already need not be made.';
    return paced(body, { thinking, toolCalls: [{ name: tool, args: { path: '.' } }] });
  }
  if (tool === 'read_file') {
    const thinking = 'The notes should say what is needed.';
    return paced(body, { thinking, toolCalls: [{ name: tool, args: { path: fileIn(description) } }] });
  }
  if (!WORK_ASKED.test(task)) return undefined;
  const things = notedIn(task);
  const topic = topicOf(goalIn(task));
  if (things.length === 0)
    return paced(body, { text: `There are no notes, so the ${topic} begins from nothing.` });
  return paced(body, { text: `The ${topic} needs ${things.length} answers: ${things.join('; ')}.` });
}

/** Inserts a step that writes the missing notes; skips every other failed step, and one that still fails. */
export function correction(failure: string): Reply {
  const corrected = failure.includes('(write_file');
  if (corrected || !/^Command: read_file\b/m.test(failure)) {
    return decision({ action: 'skip', reason: 'It still fails, and the plan can do without it.' });
  }
  const file = fileIn(failure.slice(failure.indexOf('Failed: ')));
  const write = {
    description: `${WRITE_NOTES} ${file}`,
    tool: 'write_file',
    args: { path: file, content: notesOn(topicOf(goalIn(failure))) },
  };
  const reason = `${file} is not there yet, so first notes are written before they are read.`;
  return decision({ action: 'insert_steps', reason, newSteps: [write] });
}

function decision(decided: object): Reply {
  return { text: JSON.stringify(decided, null, 1) };
}

/** The summary of old steps. */
export function summary(steps: string): Reply {
  return { text: `Known so far: ${notedIn(steps).join('; ') || 'nothing that is noted'}.` };
}

/** Teacher mode's explanation before a step runs. */
export function explanation(question: string): Reply {
  const [asked = '', found = ''] = question.split(RESULTS);
  const file = FILE_NAME.exec(asked.slice(asked.indexOf('The step, number')))?.[0];
  if (asked.includes('(list_dir)')) {
    return {
      text: 'First a look at the folder of this chat: what is there already need not be made. Run lets it happen.',
    };
  }
  if (file === undefined) return { text: 'Last, what was found is put into one sentence.' };
  if (found.includes(file)) return { text: `Now ${file} is read: the folder has it.` };
  return {
    text: `Now ${file} would be read, but the folder did not have it. Run lets the step fail, and in this mode that ends the plan; Skip goes on without it. In the mode agentic the step would be corrected.`,
  };
}

function goalIn(question: string): string {
  return GOAL.exec(question)?.[1] ?? '';
}

function fileIn(text: string): string {
  return FILE_NAME.exec(text)?.[0] ?? 'notes.md';
}
