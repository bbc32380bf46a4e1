/**
 * The demo persona's answers to the gateway's planning prompts: plan, step, correction, explanation, summary. Each
 * depends only on the prompt in the request, never on earlier requests: parallel chats do not mix.
 */
import { CORRECTION_PROMPT } from '../../../src/agent/plans/correction.ts';
import { EXPLAIN_PROMPT, SUMMARY_PROMPT } from '../../../src/agent/plans/step-prompt.ts';
import { ANALYSIS, planInstruction, reviewInstruction } from '../../../src/agent/plans/draft-plan.ts';
import { correction, explanation, stepReply, summary } from './step.ts';
import { paced, topicOf } from './demo-text.ts';
import { lastUserText } from '../model/spoken-text.ts';
import type { ChatBody } from '../ollama/request.ts';
import type { Reply } from '../ollama/reply.ts';

const ABOUT_PLANS = /\bplan(s|ned|ning)?\b/i;
const REVIEW_ASKED = firstLine(reviewInstruction(''));
const PLAN_ASKED = firstLine(planInstruction({ analysis: '', tools: [], agents: [] }));

/** The persona's reply to one of the gateway's prompts about a plan, which may be in its note; undefined for everything else. */
export function planReply(body: ChatBody, note: string): Reply | undefined {
  // The date and the place come first, in a separate paragraph.
  const instruction = note.replace(/^It is [^\n]+\n\n/, '');
  const said = lastUserText(body);
  // A turn without a plan waits for this answer: it arrives without the usual pace.
  if (instruction === ANALYSIS)
    return ABOUT_PLANS.test(said) ? paced(body, analysis(said)) : { text: 'DIRECT' };
  if (instruction.startsWith(REVIEW_ASKED)) return paced(body, review(said));
  if (instruction.startsWith(PLAN_ASKED)) return paced(body, plan(said));
  switch (body.messages[0]?.content) {
    case CORRECTION_PROMPT:
      return paced(body, correction(said));
    case EXPLAIN_PROMPT:
      return paced(body, explanation(said));
    case SUMMARY_PROMPT:
      return paced(body, summary(said));
    default:
      return stepReply(body, said);
  }
}

function analysis(goal: string): Reply {
  const topic = topicOf(goal);
  return {
    text: `Wanted: a plan for the ${topic}. Known: nothing yet.\nThere may be notes in ${topic}.md; that is only hoped.\nREFLECT: yes`,
  };
}

function review(goal: string): Reply {
  return {
    text: `Critic: ${topicOf(goal)}.md may not be there.\nPlan Adjustments: look at the folder first, and only then read.`,
  };
}

function plan(goal: string): Reply {
  const topic = topicOf(goal);
  return {
    text: [
      `Milestones\n- Know what is there\n- Know what the ${topic} needs\nSteps`,
      '1. [TOOL: list_dir] Look at what is in the folder',
      `2. [TOOL: read_file] Read the notes in ${topic}.md`,
      `3. [SELF] Say what the ${topic} needs`,
    ].join('\n'),
  };
}

function firstLine(text: string): string {
  return text.split('\n', 1)[0] ?? '';
}
