/** What the gateway itself sends around the words of others: folded thoughts, requests, questions and cards, in both languages. */
import { decidedFor, personQuestionFor, questionFor } from '../../src/agent/turn/approval-question.ts';
import type { DeliveryContext } from '../../src/delivery/context.ts';
import { foldThinking } from '../../src/delivery/final/deliver.ts';
import { AgentCards } from '../../src/delivery/live/agent-card.ts';
import type { ApprovalRecord } from '../../src/protocol/agent/approvals.ts';
import type { AgentCard } from '../../src/protocol/delivery.ts';
import type { DeliveryPayload } from '../../src/protocol/message.ts';
import { inEnglish, type Say, sayFrom } from '../../src/protocol/texts/say.ts';
import GERMAN from '../../src/settings/languages/de.json' with { type: 'json' };

const ADDRESS = 'telegram:-1001' as const;
const MINUTE_MS = 60_000;

/** The Markdown of each of these messages around each of the texts. */
export async function gatewayTexts(texts: readonly string[]): Promise<string[]> {
  const all: string[] = [];
  for (const say of [inEnglish, sayFrom('de', GERMAN)])
    for (const text of texts) all.push(...(await around(text, say)));
  return all;
}

async function around(text: string, say: Say): Promise<string[]> {
  const record = recordOf(text);
  const { question: _question, ...call } = record;
  const deliveries = [
    questionFor('a1', call, MINUTE_MS, say, text),
    decidedFor({ ...call, state: 'denied', reason: text }, say, () => 'Discord'),
    decidedFor({ ...call, state: 'approved', changed: { text } }, say, () => undefined),
    ...personQuestionFor('a1', record, MINUTE_MS, say),
    ...(await cardsOf(text, say)),
  ];
  const contents = deliveries.map((delivery) => delivery?.message.content ?? '');
  const thought = text.trim() === '' ? [] : [`${foldThinking(text, say)}${text}`, foldThinking(text, say)];
  const table = `| ${text.replaceAll(/[|\n]/g, ' ')} | b |\n|--|--|\n| 1 | ${text.replaceAll(/[|\n]/g, ' ')} |`;
  return [...contents, ...thought, `${foldThinking('a thought', say)}${table}`];
}

function recordOf(text: string): ApprovalRecord {
  const [createdAt, expiresAt] = [new Date(0), new Date(MINUTE_MS)];
  const asker = { label: text, address: ADDRESS, userId: 'telegram:1', asker: text, text };
  return {
    id: 'a1',
    session: ADDRESS,
    turnId: 't1',
    toolCallId: 'c1',
    callKey: 'k1',
    tool: 'exec',
    args: { text },
    digest: '0',
    warning: text,
    userId: 'telegram:2',
    address: ADDRESS,
    state: 'pending',
    decidedBy: 'telegram:3',
    decidedName: text,
    question: asker,
    createdAt,
    expiresAt,
    expired: false,
    surfaces: [],
  };
}

/** The card of a subagent at its start, and at each end. */
async function cardsOf(task: string, say: Say): Promise<DeliveryPayload[]> {
  const deliveries: DeliveryPayload[] = [];
  const context = {
    channels: new Map([['telegram', { edit: () => undefined }]]),
    say: () => say,
    bus: { runHeads: () => undefined, claimingNode: () => undefined },
    ledger: {
      enqueue: async (_address: string, one: DeliveryPayload) => void deliveries.push(one),
      wasQueued: async () => true,
    },
  } as unknown as DeliveryContext;
  const card: AgentCard = { agentId: 'g1', address: ADDRESS, profileId: task, task };
  const cards = new AgentCards(context);
  for (const end of ['finished', 'ended', 'stopped'] as const) {
    await cards.announce(card);
    await cards.end(card, end, end);
  }
  return deliveries;
}
