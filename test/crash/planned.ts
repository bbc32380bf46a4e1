/** What the scripted model writes about plans: three steps with effects for a question that requests them, else none. */
import { CORRECTION_PROMPT } from '../../src/agent/plans/correction.ts';
import { SUMMARY_PROMPT } from '../../src/agent/plans/step-prompt.ts';
import { ANALYSIS, planInstruction } from '../../src/agent/plans/draft-plan.ts';
import type { ChatBody, Reply } from '../fakes/ollama/ollama.ts';
import { lastNote, lastUserText } from '../fakes/model/spoken-text.ts';

/** The word for a plan among the tools of a question. */
export const PLANNED = 'plan';
/** The effects of the steps of a plan, in order. The last one happens within a step of several calls. */
export const PLAN_EFFECTS = ['unsafe', 'idempotent', 'unsafe'];

const [PLAN_ASKED = ''] = planInstruction({ analysis: '', tools: [], agents: [] }).split('\n', 1);
/** There is no way to know whether an interrupted call took effect, so the step is left out. */
const LEAVE_OUT = JSON.stringify({ action: 'skip', reason: 'it may have been done' });

/** The model's answer to a prompt about the plan of the question `id`; undefined for any other request. */
export function plannedReply(body: ChatBody, id: string, isPlanned: boolean): Reply | undefined {
  const { messages } = body;
  const [system] = messages;
  const prompt = lastNote(body);
  if (system?.content === SUMMARY_PROMPT) return { text: `Steps of ${id} were run.` };
  if (system?.content === CORRECTION_PROMPT) return { text: LEAVE_OUT };
  if (prompt.includes(ANALYSIS)) return { text: isPlanned ? 'Three steps.\nREFLECT: no' : 'DIRECT' };
  if (!isPlanned) return undefined;
  if (prompt.includes(PLAN_ASKED)) return { text: planOf(id) };
  const task = lastUserText(body);
  const [, tool] = /one call of the tool (\w+)/.exec(task) ?? [];
  if (tool !== undefined) return { toolCalls: [{ name: tool, args: { word: id } }] };
  if (!task.includes('Do this step now')) return undefined;
  if (messages.at(-1)?.role === 'tool') return { text: `The third step of ${id} is done.` };
  return { toolCalls: [{ name: `${PLAN_EFFECTS[2]}_probe`, args: { word: id } }] };
}

function planOf(id: string): string {
  return [
    'Steps',
    `1. [TOOL: ${PLAN_EFFECTS[0]}_probe] First of ${id}`,
    `2. [TOOL: ${PLAN_EFFECTS[1]}_probe] Second of ${id}`,
    `3. [SELF] Third of ${id}`,
  ].join('\n');
}
