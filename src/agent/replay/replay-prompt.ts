/** What the calls of a replay read: the prompt of its turn as it was, or that of another profile as it is today. */
import { namedTools, PLAN_TOOL, type Profile, toolsOf } from '../../protocol/agent/profile.ts';
import type { ModelCapabilities } from '../../protocol/agent/provider.ts';
import type { TurnRecord } from '../../protocol/agent/replays.ts';
import { STEP_ITERATIONS } from '../../protocol/store/records.ts';
import { textRef, type TextRef } from '../../protocol/texts/say.ts';
import type { AgentShared } from '../deps.ts';
import { withModePrompt } from '../plans/step-prompt.ts';
import { NO_PART, promptPart } from '../prompt/bootstrap-files.ts';
import { createEnvironmentNote } from '../prompt/environment-note.ts';
import { type Group, toGroups } from '../prompt/history.ts';
import { type PreparedProfile, schemaTokens } from '../prompt/prepared-profile.ts';
import { MEMORY_HEADING, promptStart, type PromptStart, SKILLS_HEADING } from '../prompt/system-prompt.ts';
import { selectTools } from '../prompt/tool-selection.ts';
import { FIND_TOOL, USE_TOOL } from '../tools/tool-pair.ts';
import { TurnRows } from '../turn/turn-rows.ts';

/** What a replay starts from. */
export interface ReplaySetting {
  profile: Profile;
  history: readonly Group[];
  /** The question, with the plan that was made for it; answers and results are added. */
  rows: TurnRows;
  /** When and where the turn took place, as its model was told. */
  environmentNote: string;
  /** Names of the tools that are offered. */
  tools: ReadonlySet<string>;
  /** The start of a prompt whose tools take at most `toolLimit` tokens; 0 offers none. */
  start(can: ModelCapabilities, toolLimit: number): PromptStart;
  missing: TextRef[];
}

/**
 * Builds it from what is stored; `other` replaces the profile, whose prompt and tools are then those of today, with the
 * memories of the turn. Never throws a `GatewayError` for what is gone: `missing` says it.
 */
export async function replaySetting(
  shared: AgentShared,
  record: TurnRecord,
  other: Profile | undefined,
): Promise<ReplaySetting> {
  const missing: TextRef[] = [];
  const profile = other ?? profileOf(shared, record, missing);
  const rows = rowsOf(record, missing);
  missing.push(...(await goneFiles(shared, record)));
  const prepared = preparedOf(shared, record, profile, other !== undefined, missing);
  const system = other === undefined ? storedSystem(record) : undefined;
  if (other === undefined && system === undefined)
    missing.push(
      textRef(record.prompt === null ? 'replay.prompt_gone' : 'replay.prompt_cut', { profile: profile.id }),
    );
  const bootstrap = await shared.prompts.bootstrapPrompt();
  const memory = memoriesOf(record);
  const promptContext = { ...bootstrap, memory, untrusted: false };
  return {
    profile,
    rows,
    history: toGroups(record.history, { thinking: false }),
    environmentNote: noteOf(shared, record),
    tools: new Set(prepared.schemas.map(({ name }) => name)),
    missing,
    start(can, toolLimit) {
      if (system !== undefined) {
        const offers = can.tools && toolLimit > 0;
        return { system, tools: selectTools(offers ? prepared : { ...prepared, schemas: [] }, toolLimit) };
      }
      const start = promptStart({ prepared, promptContext }, can, toolLimit);
      return rows.plan === undefined ? start : { ...start, system: withModePrompt(start.system, 'planner') };
    },
  };
}

/** The profile of the turn, whose limits and options apply; that of today, or the usual one where it is gone. */
function profileOf({ models }: AgentShared, { profileId }: TurnRecord, missing: TextRef[]): Profile {
  const profile = models.profile(profileId ?? undefined);
  if (profileId !== null && profile.id !== profileId)
    missing.push(textRef('replay.profile_gone', { profile: profileId, instead: profile.id }));
  return profile;
}

/** The question and what was joined to it. A plan that the model itself asked for is not there: it may ask again. */
function rowsOf({ journal }: TurnRecord, missing: TextRef[]): TurnRows {
  const followUps = journal.filter(({ entry }) => entry.kind === 'user' && entry.laneSeq !== undefined);
  const wasAskedFor = journal.some(
    ({ entry }) => entry.kind === 'tool_result' && entry.toolName === PLAN_TOOL && !entry.isError,
  );
  const rows = new TurnRows(
    '',
    journal.filter(
      (row) =>
        (row.entry.kind === 'user' && !followUps.includes(row)) ||
        (row.entry.kind === 'plan' && !wasAskedFor),
    ),
  );
  rows.joined(followUps);
  if (followUps.length > 0) missing.push(textRef('replay.joined', { count: followUps.length }));
  if (journal.some(({ iteration }) => iteration >= STEP_ITERATIONS))
    missing.push(textRef('replay.plan_steps'));
  return rows;
}

/** Pictures that the turn showed its model, and that are no longer kept. */
async function goneFiles(
  { media }: AgentShared,
  { history, journal }: TurnRecord,
): Promise<readonly TextRef[]> {
  const pictures = [...history, ...journal].flatMap(({ entry }) =>
    'pictures' in entry ? (entry.pictures ?? []) : [],
  );
  let count = 0;
  // One after another: each is held in memory while it is read.
  for (const picture of new Set(pictures)) if ((await media.pictures(picture)) === undefined) count += 1;
  return count === 0 ? [] : [textRef('replay.files_gone', { count })];
}

/** The tools that are offered: of the turn as they were, of another profile as they are. */
function preparedOf(
  shared: AgentShared,
  { prompt, tools }: TurnRecord,
  profile: Profile,
  isOther: boolean,
  missing: TextRef[],
): PreparedProfile {
  const prepared = shared.prompts.prepare(profile);
  const existing = new Set(shared.tools().map(({ name }) => name));
  const wereOffered = prompt?.tools.map(({ name }) => name);
  const absent = (wereOffered ?? []).filter((name) => !existing.has(name) && !PAIR.has(name));
  const definitions = tools ?? [];
  if (isOther) {
    // Tools of MCP servers that this process is not connected to.
    const enabled = new Set(namedTools(toolsOf(profile), [...existing, ...absent]));
    const more = definitions.filter(({ name }) => enabled.has(name) && absent.includes(name));
    return withSchemas(prepared, [...prepared.schemas, ...more]);
  }
  if (tools !== null || wereOffered?.length === 0) {
    if (absent.length > 0) missing.push(textRef('replay.tools_absent', { tools: absent.join(', ') }));
    // None of them may be called, so none is there: the list is offered whole.
    return { ...withSchemas(prepared, definitions), tools: new Map() };
  }
  if (prompt !== null)
    missing.push(
      absent.length === 0
        ? textRef('replay.tools_gone')
        : textRef('replay.tools_gone_some', { tools: absent.join(', ') }),
    );
  return withSchemas(
    prepared,
    prepared.schemas.filter(({ name }) => wereOffered?.includes(name) ?? true),
  );
}

/** The pair that stands for tools without room is no tool of its own. */
const PAIR: ReadonlySet<string> = new Set([FIND_TOOL, USE_TOOL]);

function withSchemas(prepared: PreparedProfile, schemas: PreparedProfile['schemas']): PreparedProfile {
  return { ...prepared, schemas, toolTokens: schemaTokens(schemas) };
}

/** The system prompt as it was; undefined where it is not stored whole. */
function storedSystem({ prompt }: TurnRecord) {
  if (prompt === null) return undefined;
  const [first] = prompt.messages;
  if (first?.role !== 'system') return NO_PART;
  return first.cut === true ? undefined : promptPart(first.content);
}

/** The section of the system prompt with what was remembered of the person. */
function memoriesOf({ prompt }: TurnRecord) {
  const [first] = prompt?.messages ?? [];
  const system = first?.role === 'system' ? first.content : '';
  const from = system.lastIndexOf(MEMORY_HEADING);
  if (from === -1) return NO_PART;
  const to = system.indexOf(`\n\n${SKILLS_HEADING}`, from);
  return promptPart(system.slice(from, to === -1 ? undefined : to));
}

/** The first part of the note of the gateway, as it was; else only when the turn took place. */
function noteOf({ environmentNote, settings }: AgentShared, record: TurnRecord): string {
  const last = record.prompt?.messages.slice(1).at(-1);
  if (last?.role === 'system') return last.content.split('\n\n', 1)[0] ?? '';
  const at = { ...environmentNote, epochNow: () => Date.parse(record.acceptedAt) };
  return createEnvironmentNote(
    at,
    settings.current().timeZone,
  )({
    parentTurnId: record.turnId,
    address: record.session,
    userId: 'system',
    place: 'private',
    surfaces: [],
  });
}
