/** Questions between people, requests that reach owners later, and cards of background subagents, under kill -9. */
import { setTimeout as pause } from 'node:timers/promises';
import { Chatters, shownIn, OWNERS, WORKER } from '../crash/asks/chats.ts';
import { type ChatEvidence, judgeAsks } from '../crash/asks/judge.ts';
import { runCampaign } from '../crash/campaign.ts';
import type { Verdict } from '../crash/judge/checker.ts';
import { type Failure, killAt, type Stage } from '../crash/failure.ts';
import { ageRequests, answersRead, openWork } from '../crash/rows.ts';
import { readQuestion } from '../crash/script.ts';
import { type Campaign, repeated, RESUME_MS, runOptions, scaled } from './campaign.ts';
import { approver } from './work.ts';

const SESSIONS = 6;
/** How often requests are made as old as those that reach further owners, in milliseconds. */
const AGE_EVERY_MS = 1_000;
/** Longest wait for the private chats after the last message of a session, in milliseconds. */
const SETTLE_MS = 120_000;

/** Has requests wait so long, as their rows say, that owners are asked in their private chats, too. */
function ageing({ scenario }: Stage): () => Promise<void> {
  const closing = new AbortController();
  const working = (async () => {
    while (!closing.signal.aborted) {
      await pause(AGE_EVERY_MS);
      // The database of a home ends with its gateway, which the scenario kills; the next round ages what this one could not.
      await scenario.read(ageRequests).catch(() => undefined);
    }
  })();
  return async () => {
    closing.abort();
    await working;
  };
}

/** A kill while another subagent begins, and when it was. */
function killing(people: () => Chatters | undefined, deaths: number[]): Failure[] {
  return (['any', 'busy', 'any'] as const).map((moment) => {
    const failure = killAt(moment);
    return {
      ...failure,
      async strike(stage, at) {
        people()?.askForCard();
        const result = await failure.strike(stage, at);
        deaths.push(result.diedAt ?? result.since);
        return result;
      },
    };
  });
}

/** Judges the private chats, once nothing moves there any more. */
async function audit(
  { scenario, people }: Stage,
  chatters: Chatters,
  deaths: readonly number[],
): Promise<Partial<Verdict>> {
  const end = performance.now() + SETTLE_MS;
  while ((await scenario.read(openWork)) > 0 && performance.now() < end) await pause(500);
  const evidence = (chat: string): ChatEvidence => ({
    chat,
    shown: shownIn(scenario.telegram, chat),
  });
  const wanted = people.accepted.filter(({ text }) => readQuestion(text)?.rounds.flat().includes('ask'));
  return judgeAsks({
    wanted: wanted.map(({ id }) => id),
    answered: chatters.answered,
    friends: chatters.friends.map(evidence),
    owners: OWNERS.map(evidence),
    worker: evidence(WORKER),
    cards: chatters.cards,
    results: await scenario.read(answersRead),
    deaths,
  });
}

export const asks: Campaign = {
  name: 'asks',
  about:
    '100 times kill -9 while people are asked for others and answer by a reply, their next message or a refusal, requests reach owners later, and subagents work in the background',
  databases: ['postgres', 'embedded'],
  bars: { resumeMs: RESUME_MS },
  async run(setup) {
    const count = scaled(100, setup.share, 3);
    const deaths: number[] = [];
    let chatters: Chatters | undefined;
    return await runCampaign({
      ...runOptions(setup),
      environment: { EFFECTS_RISK: 'dangerous' },
      config: {
        access: { telegram: { dm: 'open' }, owners: { telegram: OWNERS } },
        tools: { enabled: ['ask', 'spawn_agent'] },
        limits: { messagesPerMinute: 6_000, messagesAtOnce: 1_000 },
      },
      tools: [[['ask']], [['unsafe']], [['ask'], ['unsafe']]],
      messages: count * SESSIONS * 2,
      sessions: { http: SESSIONS },
      privateChats: true,
      failures: repeated(
        killing(() => chatters, deaths),
        count,
      ),
      async prepare(stage) {
        const names = stage.scenario.places.map(({ name }) => name);
        const own = new Chatters(stage.scenario, names);
        chatters = own;
        own.begin();
        const closing = [approver(stage, (id) => id.charCodeAt(0) % 2 === 0).close, ageing(stage)];
        return async () => {
          await Promise.all([own.close(), ...closing.map((close) => close())]);
        };
      },
      audit: async (stage) => (chatters === undefined ? {} : await audit(stage, chatters, deaths)),
    });
  },
};
